"""Judgements already made, by content hash, in one SQLite file.

The texts that were judged are never written, only hashes of them. What a judge that has words answered is kept as it
came: a chat model may quote the texts in it.
"""

from __future__ import annotations

import hashlib
import math
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import platformdirs

from likewise.core.errors import BackendError
from likewise.core.labels import Judgement, Relation

__all__ = ["SCHEMA_VERSION", "KeptAnswer", "LabelStore", "content_key", "default_path", "rows_of"]

SCHEMA_VERSION = 2
"""Layout of the file: 1 had judgements only. Earlier files are brought up to date, a later one is refused."""

_BUSY_SECONDS = 30.0
_CHUNK = 900  # SQLite builds of before 2020 allow 999 variables in a statement
_SCHEMA = """
CREATE TABLE judgements (
    key BLOB PRIMARY KEY,
    relation INTEGER NOT NULL CHECK (relation BETWEEN 0 AND 2),
    f0 REAL NOT NULL, f1 REAL NOT NULL, f2 REAL NOT NULL,
    b0 REAL NOT NULL, b1 REAL NOT NULL, b2 REAL NOT NULL,
    rule TEXT NOT NULL,
    created REAL NOT NULL
) WITHOUT ROWID
"""
_ANSWERS = """
CREATE TABLE answers (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL,
    answer TEXT NOT NULL,
    problem TEXT NOT NULL,
    created REAL NOT NULL
)
"""
_ANSWERS_INDEX = "CREATE INDEX answers_by_key ON answers (key)"
_TABLES = {1: {"judgements"}, 2: {"judgements", "answers"}}
_INSERT = "INSERT INTO judgements VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING"
_INSERT_ANSWER = "INSERT INTO answers (key, answer, problem, created) VALUES (?, ?, ?, ?)"
_SELECT_ANSWERS = "SELECT answer, problem, created FROM answers WHERE key = ? ORDER BY id"
_SELECT = "SELECT key, relation, f0, f1, f2, b0, b1, b2, rule FROM judgements WHERE key IN ({})"

Pair = tuple[str, str]


def default_path() -> Path:
    """The file that LIKEWISE_LABEL_STORE names, else `labels.sqlite` in the user's cache folder."""
    named = os.environ.get("LIKEWISE_LABEL_STORE")
    return Path(named).expanduser() if named else Path(platformdirs.user_cache_dir("likewise")) / "labels.sqlite"


def content_key(*parts: str) -> bytes:
    """What a row of the file is kept under: a hash of all that it depends on, in order; the texts are not kept."""
    digest = hashlib.blake2b(digest_size=24)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)  # the length keeps ("ab", "c") from ("a", "bc")
    return digest.digest()


def rows_of(connection: sqlite3.Connection, select: str, keys: Iterable[bytes]) -> Iterator[tuple[Any, ...]]:
    """The rows of any number of keys, each key asked for once, as many in one statement as SQLite takes.

    Args:
        connection: The file.
        select: A statement with `{}` where the list of its keys stands.
        keys: Keys in any order, repeats allowed.
    """
    wanted = list(dict.fromkeys(keys))
    for start in range(0, len(wanted), _CHUNK):
        chunk = wanted[start : start + _CHUNK]
        yield from connection.execute(select.format(",".join("?" * len(chunk))), chunk)


def _key(judge_id: str, pair: Pair) -> bytes:
    return content_key(judge_id, *sorted(pair))


def _oriented(pair: Pair, judgement: Judgement) -> Judgement:
    """The judgement as of the sorted pair; its own inverse."""
    return judgement if pair[0] <= pair[1] else judgement.flipped


def _row(judge_id: str, pair: Pair, judgement: Judgement, now: float) -> tuple[object, ...]:
    if not isinstance(judgement, Judgement):
        raise TypeError(f"the label store keeps judgements, never failures; got {type(judgement).__name__}")
    stored = _oriented(pair, judgement)
    numbers = tuple(float(p) for p in (*stored.forward, *stored.backward))
    if not all(math.isfinite(p) for p in numbers):
        raise ValueError(f"the label store keeps finite probabilities; got {numbers}")
    return (_key(judge_id, pair), int(Relation(stored.relation)), *numbers, stored.rule, now)


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """What a judge answered in its own words.

    Attributes:
        answer: The text as it came; characters that are no Unicode text are replaced.
        problem: Why it was not understood; "" where it was.
        created: When, in seconds since 1970.
    """

    answer: str
    problem: str
    created: float


def _storable(text: str) -> str:
    """Lone surrogates cannot be written as UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


class LabelStore:
    """Append-only cache of judgements: one row per judge and unordered pair; the first answer stays.

    Safe for several processes and threads at once. What `put_many` has returned from survives the death of
    the process. Failures cannot be stored: a pair that could not be judged is asked again.
    """

    def __init__(self, path: Path | None) -> None:
        """Open or create the store.

        Args:
            path: The file, made with its folders where absent; None keeps the store in memory.

        Raises:
            BackendError: The file cannot be opened or written, is damaged, or is not a store of this version.
        """
        self._path = path
        self._lock = threading.Lock()
        with self._errors():
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                ":memory:" if path is None else path,
                timeout=_BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
        try:
            with self._errors():
                self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> LabelStore:
        """The store itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self.close()

    def __len__(self) -> int:
        """Number of stored judgements, over all judges."""
        with self._lock, self._errors():
            return int(self._connection.execute("SELECT count(*) FROM judgements").fetchone()[0])

    def close(self) -> None:
        """Close the file. Closing twice does no harm."""
        self._connection.close()

    def get_many(self, judge_id: str, pairs: Sequence[Pair]) -> dict[Pair, Judgement]:
        """Look up pairs.

        Args:
            judge_id: The judge whose answers are wanted.
            pairs: Pairs of texts in any order and number, repeats allowed.

        Returns:
            Judgements of the pairs that are known, oriented as asked.

        Raises:
            BackendError: The file cannot be read.
        """
        keys = {pair: _key(judge_id, pair) for pair in pairs}
        known: dict[bytes, Judgement] = {}
        with self._lock, self._errors():
            for key, relation, f0, f1, f2, b0, b1, b2, rule in rows_of(self._connection, _SELECT, keys.values()):
                known[key] = Judgement(Relation(relation), (f0, f1, f2), (b0, b1, b2), rule)
        return {pair: _oriented(pair, known[key]) for pair, key in keys.items() if key in known}

    def put_many(self, judge_id: str, items: Iterable[tuple[Pair, Judgement]]) -> None:
        """Store judgements, all of them or (on an error) none. A pair already known keeps its first judgement.

        Args:
            judge_id: The judge that gave them.
            items: Pairs of texts, each with its judgement.

        Raises:
            TypeError: Something that is not a judgement was handed in.
            ValueError: A probability is not finite.
            BackendError: The file cannot be written.
        """
        now = time.time()
        rows, answers = [], []
        for pair, judgement in items:
            row = _row(judge_id, pair, judgement, now)
            rows.append(row)
            answers += [(row[0], _storable(answer), "", now) for answer in judgement.answers]
        if not rows:
            return
        with self._lock, self._errors(), self._transaction():
            self._connection.executemany(_INSERT, rows)
            self._connection.executemany(_INSERT_ANSWER, answers)

    def put_answers(self, judge_id: str, pair: Pair, answers: Sequence[str], problem: str = "") -> None:
        """Keep answers that settle nothing: those that were not understood, and readings made to compare.

        They are evidence; `get_many` does not see them.

        Args:
            judge_id: The judge that gave them.
            pair: The texts it was asked about, in either order.
            answers: Its words, one text a reading.
            problem: Why they were not understood; "" where they were.

        Raises:
            BackendError: The file cannot be written.
        """
        now = time.time()
        rows = [(_key(judge_id, pair), _storable(answer), _storable(problem), now) for answer in answers]
        if rows:
            with self._lock, self._errors(), self._transaction():
                self._connection.executemany(_INSERT_ANSWER, rows)

    def answers(self, judge_id: str, pair: Pair) -> list[KeptAnswer]:
        """All that a judge answered in its own words on a pair, in either order of its texts, oldest first.

        Raises:
            BackendError: The file cannot be read.
        """
        with self._lock, self._errors():
            rows = self._connection.execute(_SELECT_ANSWERS, (_key(judge_id, pair),)).fetchall()
        return [KeptAnswer(*row) for row in rows]

    @contextmanager
    def beside(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        """The file, for tables of another kind of answer: locked, in a transaction to write, with errors as here.

        Raises:
            BackendError: The file cannot be read or written.
        """
        with self._lock, self._errors(), self._transaction() if write else nullcontext():
            yield self._connection

    def _prepare(self) -> None:
        """Set up the connection; make a new file's tables, bring those of an earlier version up to date."""
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._check_version()
        self._use_wal()
        if self._version() == SCHEMA_VERSION:
            return
        with self._transaction():
            version = self._version()  # another process may have been first
            if version == 0:
                self._connection.execute(_SCHEMA)
            if version < SCHEMA_VERSION:
                self._connection.execute(_ANSWERS)
                self._connection.execute(_ANSWERS_INDEX)
                self._connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        self._check_version()

    def _use_wal(self) -> None:
        """Turn on the write-ahead log; SQLite does not wait for its busy time-out here, so this does."""
        deadline = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL").fetchone()
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def _version(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def _check_version(self) -> None:
        self._connection.execute("BEGIN")  # version and tables of one moment
        try:
            version = self._version()
            tables = {row[0] for row in self._connection.execute("SELECT name FROM sqlite_master")}
        finally:
            self._connection.execute("ROLLBACK")
        if version > SCHEMA_VERSION:
            raise BackendError(
                f"{self._path}: label store of version {version}, this likewise reads version {SCHEMA_VERSION}; "
                "update likewise or set LIKEWISE_LABEL_STORE to another file"
            )
        if (version == 0 and tables) or not _TABLES.get(version, set()) <= tables:
            raise BackendError(
                f"{self._path}: an SQLite file, but not a label store; set LIKEWISE_LABEL_STORE to another file"
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn what SQLite and the file system say into one sentence that says what to do."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise BackendError(
                f"{self._path}: label store cannot be used ({error}); free the disk or make the file writable, "
                "or set LIKEWISE_LABEL_STORE to another file"
            ) from error
        except sqlite3.DatabaseError as error:
            raise BackendError(
                f"{self._path}: label store is damaged or not a label store ({error}); "
                "move or delete the file, its judgements will then be made again"
            ) from error
        except OSError as error:
            raise BackendError(
                f"{self._path}: label store cannot be opened ({error}); set LIKEWISE_LABEL_STORE to another file"
            ) from error
