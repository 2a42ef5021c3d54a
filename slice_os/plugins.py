"""Parts that installed packages add: readers, stores, verifiers and commands.

A package names them as entry points of the group ``slice_os.readers``, ``slice_os.stores``,
``slice_os.verifiers`` or ``slice_os.commands``.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from slice_os.errors import PluginError, kind_of

Part = TypeVar("Part")


@dataclass(frozen=True)
class Plugin:
    """A part of an installed package, imported by `load` alone."""

    entry: EntryPoint

    @property
    def name(self) -> str:
        """The name in the group."""
        return self.entry.name

    @property
    def package(self) -> str:
        """Name and version of the package, as in ``toy-plugin 1.0``."""
        package = self.entry.dist
        return f"{package.name} {package.version}" if package else "an unknown package"

    @property
    def summary(self) -> str:
        """The package's description of itself."""
        package = self.entry.dist
        return str(package.metadata.json.get("summary", "")) if package else ""

    def load(self, kind: type[Part]) -> Part:
        """Import the part.

        Raises a `PluginError` if that fails, or if the part is of another type.
        """
        told = f"{self.entry.group}: {self.name!r} of {self.package}"
        try:
            part = self.entry.load()
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise PluginError(
                f"{told} does not load: {reason}; update or uninstall the package"
            ) from error
        if not isinstance(part, kind):
            raise PluginError(f"{told} is {kind_of(part)}, not a {kind.__name__}")
        return part


def plugins(group: str) -> list[Plugin]:
    """The parts of a group, such as ``slice_os.commands``, of all installed packages."""
    return [Plugin(entry) for entry in entry_points(group=group)]
