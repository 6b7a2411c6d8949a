"""Any JSON or table, read by a mapping file of the user's: `--map FILE`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from likewise.formats.field_map import FieldMap
from likewise.formats.field_runs import read_runs
from likewise.formats.map_file import read_map
from likewise.formats.rollout_set import Parsed
from likewise.formats.rows import SUFFIXES, read_records

__all__ = ["NAME", "Mapped", "mapped_by"]

NAME = "mapped"


@dataclass(frozen=True, slots=True)
class Mapped:
    """A format made of a mapping; it reads every file, so it is only ever asked for by name."""

    fields: FieldMap

    NAME = NAME
    DESCRIPTION = "any JSON or table, by a mapping file (--map)"
    SUFFIXES = SUFFIXES

    def sniff(self, head: str, path: Path) -> str | None:
        """No file says by itself that a mapping fits it."""
        del head, path
        return "only read where --map is given"

    def read(self, path: Path, label: str) -> Parsed:
        """Read a file of records; run ids are `label#run`.

        Raises:
            RolloutFormatError: The file cannot be read.
        """
        return read_runs(read_records(path), self.fields, path, label)


def mapped_by(path: str | Path) -> Mapped:
    """The format that a mapping file makes.

    Raises:
        ConfigError: The mapping file cannot be used.
    """
    return Mapped(read_map(path))
