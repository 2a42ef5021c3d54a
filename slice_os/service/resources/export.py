"""Hits as a file to download."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from slice_os.hits.files import write_hits
from slice_os.hits.hit import Hit
from slice_os.service.resources.bodies import Body
from slice_os.service.services import Shared
from slice_os.service.settings import MOST_HITS

router = APIRouter(tags=["search"])

_MEDIA_TYPES = {
    "jsonl": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "parquet": "application/vnd.apache.parquet",
    "html": "text/html; charset=utf-8",
}
FileFormat = Literal["jsonl", "csv", "xlsx", "parquet", "html"]


class ExportRequest(Body):
    """Hits to write into a file, each as an answer had it."""

    hits: Annotated[list[dict[str, Any]], Field(max_length=MOST_HITS)]


@router.post(
    "/export",
    response_class=Response,
    responses={200: {"content": {kind: {} for kind in _MEDIA_TYPES.values()}}},
)
async def export(
    services: Shared,
    body: ExportRequest,
    wanted: Annotated[FileFormat, Query(alias="format")] = "xlsx",
) -> Response:
    """The hits of a request as a file, as `slice_os.write_hits` writes it."""
    content = await services.pool.run(lambda: _file(body, wanted))
    headers = {"Content-Disposition": f'attachment; filename="hits.{wanted}"'}
    return Response(content, media_type=_MEDIA_TYPES[wanted], headers=headers)


def _file(body: ExportRequest, wanted: FileFormat) -> bytes:
    with TemporaryDirectory(prefix="slice-os-") as folder:
        path = Path(folder, f"hits.{wanted}")
        write_hits((Hit.from_dict(hit) for hit in body.hits), path)
        return path.read_bytes()
