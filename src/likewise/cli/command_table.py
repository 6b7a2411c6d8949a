"""A table of commands, of which only the one that is typed is loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import typer
from typer.main import get_command

from likewise.cli.usage import PlainCommand, PlainGroup

__all__ = ["Entry", "TableGroup"]


class Entry(NamedTuple):
    """Where a command stands, and what the list of commands says of it."""

    place: str
    """`module:name` of a function, or of a Typer application with commands of its own."""
    says: str


class TableGroup(PlainGroup):
    """A group whose commands are made of entries when they are asked for."""

    table: ClassVar[Mapping[str, Entry]] = {}

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - whatever this version of Typer gives a group
        """Make the group as Typer does, with the commands of the table."""
        super().__init__(**settings)
        self.commands = _Commands(self.table)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - Typer's own classes differ by version
        """List the commands by their entries; none is loaded."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.says) for name, entry in self.table.items()])


class _Commands(MutableMapping[str, Any]):
    """Commands by name, in the order of the table; each is made once."""

    def __init__(self, table: Mapping[str, Entry]) -> None:
        self._table = table
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - Typer's own class differs by version
        if name not in self._made:
            self._made[name] = _command(name, self._table[name])
        return self._made[name]

    def __setitem__(self, name: str, command: Any) -> None:  # noqa: ANN401 - as above
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


def _command(name: str, entry: Entry) -> Any:  # noqa: ANN401 - as above
    """Load a command, as Typer would have made it at the start."""
    module, _, attribute = entry.place.partition(":")
    found = getattr(import_module(module), attribute)
    around = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    if isinstance(found, typer.Typer):
        for each in found.registered_commands:
            each.cls = PlainCommand
        around.add_typer(found, name=name, short_help=entry.says)
        return get_command(around).commands[name]  # type: ignore[attr-defined]
    around.command(name, short_help=entry.says, cls=PlainCommand)(found)
    return get_command(around)
