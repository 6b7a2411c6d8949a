"""Vectors that an encoder gave, by content hash, in the file of the label store.

A vector is no text, but tells roughly what one was about: a store is to be guarded as the runs are.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float32

from likewise.backends.label_store import LabelStore, content_key, rows_of

__all__ = ["VectorTable"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
    key BLOB PRIMARY KEY,
    vector BLOB NOT NULL,
    created REAL NOT NULL
) WITHOUT ROWID
"""
_EXISTS = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'vectors'"
_SELECT = "SELECT key, vector FROM vectors WHERE key IN ({})"
_INSERT = "INSERT INTO vectors VALUES (?, ?, ?) ON CONFLICT (key) DO NOTHING"
_NUMBER = np.dtype("<f4")

Vector = Float32[np.ndarray, " dimensions"]


class VectorTable:
    """A cache of vectors to the last bit; the first of a text stays. The table is made when the first one comes."""

    def __init__(self, store: LabelStore) -> None:
        """Take the store whose file holds the table."""
        self._store = store

    def get_many(self, encoder_id: str, texts: Sequence[str]) -> dict[str, Vector]:
        """The vectors that are known of these texts.

        Raises:
            BackendError: The file cannot be read.
        """
        keys = {content_key(encoder_id, text): text for text in texts}
        found: dict[str, Vector] = {}
        with self._store.beside(write=False) as connection:
            if connection.execute(_EXISTS).fetchone() is None:
                return {}
            for key, vector in rows_of(connection, _SELECT, keys):
                found[keys[key]] = np.frombuffer(vector, dtype=_NUMBER).astype(np.float32)
        return found

    def put_many(self, encoder_id: str, vectors: Mapping[str, Vector]) -> None:
        """Store vectors of texts, all of them or (on an error) none.

        Raises:
            ValueError: A number of a vector is not finite.
            BackendError: The file cannot be written.
        """
        if not all(np.isfinite(vector).all() for vector in vectors.values()):
            raise ValueError("the label store keeps finite numbers")
        now = time.time()
        rows = [
            (content_key(encoder_id, text), vector.astype(_NUMBER).tobytes(), now) for text, vector in vectors.items()
        ]
        if rows:
            with self._store.beside(write=True) as connection:
                connection.execute(_SCHEMA)
                connection.executemany(_INSERT, rows)
