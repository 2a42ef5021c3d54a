"""Groups of commands that answer a mistyped one with the nearest."""

from __future__ import annotations

from collections.abc import Iterator

import click

from slice_os.cli.parameters import Command


class CommandGroup(click.Group):
    """A group that answers a mistyped command with the nearest one."""

    command_class = Command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command and its arguments, or a usage error."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            nearest = " or ".join(f"`{path}`" for path in _nearest(ctx, self, name))
            hint = f" Did you mean {nearest}?" if nearest else f" See `{ctx.command_path} --help`."
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the file."""
        return list(self.commands)

    def names(self, ctx: click.Context) -> list[str]:
        """The names that a mistyped one is compared with."""
        return self.list_commands(ctx)


def _nearest(ctx: click.Context, group: CommandGroup, name: str) -> list[str]:
    """The commands that a mistyped one may stand for, as they are typed."""
    from difflib import get_close_matches

    here = {one: [f"{ctx.command_path} {one}"] for one in group.names(ctx)}
    everywhere: dict[str, list[str]] = {}
    root = ctx.find_root()
    for path in command_paths(root.command, (root.command_path,)):
        everywhere.setdefault(path[-1], []).append(" ".join(path))
    if name in everywhere:
        return everywhere[name]
    for paths in (here, everywhere):
        for near in get_close_matches(name, paths, n=1):
            return paths[near]
    return []


def command_paths(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """A command and those below it, as they are typed."""
    yield path
    if isinstance(command, click.Group):
        with click.Context(command) as context:
            for name in command.list_commands(context):
                below = command.get_command(context, name)
                if below is not None:
                    yield from command_paths(below, (*path, name))
