"""Which keys have come by, for streams of any length: what does not fit into a few megabytes lies on disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from types import TracebackType

from likewise.core.errors import BackendError

__all__ = ["SeenKeys"]

CACHE_KIB = 65_536
"""Memory for the keys looked at last; SQLite writes the others to a file of its own, gone when it is closed."""


class SeenKeys:
    """A set of keys that only grows.

    The file has no name that another process could open, and nothing of it is left however the process ends.
    """

    def __init__(self) -> None:
        """Open an empty set."""
        self._connection = sqlite3.connect("", isolation_level=None)  # "": a private file, deleted on close
        self._connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        self._connection.execute("PRAGMA journal_mode = OFF")
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.execute("CREATE TABLE seen (key BLOB PRIMARY KEY) WITHOUT ROWID")

    def __enter__(self) -> SeenKeys:
        """The set itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Forget everything."""
        self._connection.close()

    def add(self, keys: Sequence[bytes]) -> list[bool]:
        """Add keys.

        Args:
            keys: Digests; a key may come twice.

        Returns:
            For each key whether it is new: not among those added before, nor earlier in `keys`.

        Raises:
            BackendError: The disk is full.
        """
        insert = "INSERT INTO seen VALUES (?) ON CONFLICT DO NOTHING"
        try:
            self._connection.execute("BEGIN")
            new = [self._connection.execute(insert, (key,)).rowcount == 1 for key in keys]
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise BackendError(
                f"the list of pairs seen so far cannot be kept ({error}); free the disk of temporary files, or set "
                "SQLITE_TMPDIR to a folder on another"
            ) from error
        return new
