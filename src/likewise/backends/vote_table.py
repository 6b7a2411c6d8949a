"""Votes of a chat model on sub-goals, by content hash, in the file of the label store.

Neither record nor sub-goal is written, only a hash of both; a vote is the number of a turn. A vote that could not be
read is none and is not kept: it is asked for again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from likewise.backends.label_store import LabelStore, content_key, rows_of

__all__ = ["VoteTable", "vote_key"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS votes (
    key BLOB NOT NULL,
    number INTEGER NOT NULL,
    turn INTEGER,
    created REAL NOT NULL,
    PRIMARY KEY (key, number)
) WITHOUT ROWID
"""
_EXISTS = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'votes'"
_SELECT = "SELECT key, turn FROM votes WHERE key IN ({}) ORDER BY key, number"
_INSERT = "INSERT INTO votes VALUES (?, ?, ?, ?) ON CONFLICT (key, number) DO NOTHING"

Vote = int | None


def vote_key(judge_id: str, note: str, record: str) -> bytes:
    """What a vote is kept under: who was asked, and all that the question holds."""
    return content_key(judge_id, note, record)


class VoteTable:
    """Votes in the order in which they came; the first under a number stays. The table is made with the first vote."""

    def __init__(self, store: LabelStore) -> None:
        """Take the store whose file holds the table."""
        self._store = store

    def get_many(self, keys: Sequence[bytes]) -> Mapping[bytes, tuple[Vote, ...]]:
        """The votes that are known under these keys; a turn, or None for never.

        Raises:
            BackendError: The file cannot be read.
        """
        found: dict[bytes, tuple[Vote, ...]] = {}
        with self._store.beside(write=False) as connection:
            if connection.execute(_EXISTS).fetchone() is None:
                return {}
            for key, turn in rows_of(connection, _SELECT, keys):
                found[key] = (*found.get(key, ()), turn)
        return found

    def put(self, key: bytes, number: int, vote: Vote) -> None:
        """Keep one vote, for good once this returns.

        Args:
            key: By `vote_key`.
            number: How many votes there were before it.
            vote: The turn, or None for never.

        Raises:
            TypeError: It is no vote.
            BackendError: The file cannot be written.
        """
        if vote is not None and type(vote) is not int:
            raise TypeError(f"the label store keeps votes, never failures; got {type(vote).__name__}")
        with self._store.beside(write=True) as connection:
            connection.execute(_SCHEMA)
            connection.execute(_INSERT, (key, number, vote, time.time()))
