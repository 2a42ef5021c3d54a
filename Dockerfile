# syntax=docker/dockerfile:1
# `python scripts/supply.py digests` writes the digest behind the name.
FROM python:3.12.13-slim-bookworm AS base

FROM base AS build
WORKDIR /src
COPY pyproject.toml hatch_build.py requirements.lock README.md LICENSE NOTICE ./
COPY demo/ demo/
COPY export/ export/
COPY ingest/ ingest/
COPY mappings/ mappings/
# Its links to the four folders above are copied as links.
COPY slice_os/ slice_os/
# uv compares every download, also of what builds, with the hashes of requirements.lock.
RUN awk '/^uv==/,!/\\$/' requirements.lock > uv.lock \
    && pip install --no-cache-dir --require-hashes --requirement uv.lock \
    && python -m venv --without-pip /opt/slice-os \
    && uv pip install --no-cache --python /opt/slice-os/bin/python \
    --constraint requirements.lock --build-constraint requirements.lock \
    ".[documents,elasticsearch,report,serve,tables,tracing]"

FROM base
COPY --from=build /opt/slice-os /opt/slice-os
ENV PATH=/opt/slice-os/bin:$PATH
# Create the folder before a volume is mounted on it, so that the user owns the volume.
RUN useradd --create-home --uid 10001 slice \
    && install --directory --owner slice --group slice /work
USER 10001:10001
WORKDIR /work
EXPOSE 8000
ENTRYPOINT ["slice-os"]
CMD ["--help"]
