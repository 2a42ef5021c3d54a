"""The web page and its files."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

WEB = Path(__file__).with_name("web")
# Browsers keep the files, but ask each time whether they have changed.
_ASK = {"Cache-Control": "no-cache"}


class _Assets(StaticFiles):
    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers.update(_ASK)
        return response


def serve_page(app: FastAPI) -> None:
    """Let an app answer ``/`` with the page, and ``/assets/...`` with its files."""

    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(WEB / "index.html", headers=_ASK)

    app.mount("/assets", _Assets(directory=WEB / "assets"), name="assets")
