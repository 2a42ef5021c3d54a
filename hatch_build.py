"""Build hook: refuses a checkout that would build without error into a broken package."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LinksHook(BuildHookInterface[Any]):
    """Aborts if the links into ``slice_os`` are text files; see CONTRIBUTING.md."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Check the links before anything is built."""
        package = Path(self.root, "slice_os")
        problem = runpy.run_path(str(package / "checkout.py"))["broken_links"](package)
        if problem:
            self.app.abort(f"slice-os cannot be built: {problem}")
