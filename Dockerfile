# syntax=docker/dockerfile:1
ARG PYTHON=3.12.13-slim-bookworm

FROM python:${PYTHON} AS build
WORKDIR /src
COPY pyproject.toml hatch_build.py README.md LICENSE NOTICE ./
COPY demo/ demo/
COPY export/ export/
COPY ingest/ ingest/
COPY mappings/ mappings/
# Its links to the four folders above are copied as links.
COPY slice_os/ slice_os/
RUN pip wheel --no-cache-dir --wheel-dir /wheels ".[documents,report,serve,tables,tracing]"

FROM python:${PYTHON}
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --find-links /wheels \
    "slice-os[documents,report,serve,tables,tracing]"
# Create the folder before a volume is mounted on it, so that the user owns the volume.
RUN useradd --create-home --uid 10001 slice \
    && install --directory --owner slice --group slice /work
USER 10001:10001
WORKDIR /work
EXPOSE 8000
ENTRYPOINT ["slice-os"]
CMD ["--help"]
