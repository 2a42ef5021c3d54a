"""Build hook: refuses a checkout that would build into a broken package, and ships the SBOM."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SBOM = "sbom.cdx.json"


class ReleaseHook(BuildHookInterface[Any]):
    """Abort if the links into ``slice_os`` are text files; add the SBOM that a release has."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Check the links before anything is built; see CONTRIBUTING.md."""
        package = Path(self.root, "slice_os")
        problem = runpy.run_path(str(package / "checkout.py"))["broken_links"](package)
        if problem:
            self.app.abort(f"slice-os cannot be built: {problem}")
        if Path(self.root, SBOM).is_file() and self.target_name == "wheel":
            build_data["sbom_files"].append(SBOM)
