"""Opens SQLite or PostgreSQL in the way the history needs: durable, patient, and with errors in plain words."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs
from sqlalchemy import Connection, Engine, create_engine, event, exc
from sqlalchemy.engine import URL, make_url
from sqlalchemy.pool import ConnectionPoolEntry

from likewise.core.errors import ConfigError, MissingExtraError, StoreUnavailableError

__all__ = ["Database", "default_url", "make_file", "parse_url"]

BUSY_SECONDS = 15
"""How long a write waits for another process's write before the history counts as unavailable."""
CONNECT_SECONDS = 5
STATEMENT_MILLISECONDS = 60_000
_WRITES = "likewise_writes"


def default_url() -> str:
    """What LIKEWISE_DATABASE_URL names, else `history.sqlite` in the user's data folder."""
    named = os.environ.get("LIKEWISE_DATABASE_URL")
    if named:
        return named
    return URL.create(
        "sqlite", database=str(Path(platformdirs.user_data_dir("likewise")) / "history.sqlite")
    ).render_as_string()


def parse_url(text: str) -> URL:
    """A database's address.

    Raises:
        ConfigError: It is none, or of a database that is not supported. The text itself is not repeated: it may hold a
            password.
    """
    try:
        url = make_url(text)
    except exc.ArgumentError:
        raise ConfigError(
            "",
            "the database's address cannot be read",
            key="database_url",
            expected="sqlite:///path or postgresql://...",
        ) from None
    backend = "postgresql" if url.drivername == "postgres" else url.get_backend_name()
    if backend == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    if backend == "sqlite":
        if not url.database or url.database == ":memory:" or url.query:
            raise ConfigError(
                "", "a history is a file, without options", key="database_url", expected="sqlite:///path of a file"
            )
        return url.set(drivername="sqlite")
    raise ConfigError("", f"no database of the kind {backend!r}", key="database_url", expected="sqlite or postgresql")


class Database:
    """One engine, its transactions, and its errors. Safe to use from several threads."""

    def __init__(self, url: URL) -> None:
        """Set up; nothing is connected before the first use.

        Raises:
            MissingExtraError: PostgreSQL's driver is not installed.
        """
        self.url, self.where = url, url.render_as_string(hide_password=True)
        self.sqlite = url.get_backend_name() == "sqlite"
        self.engine = _sqlite_engine(url) if self.sqlite else _postgres_engine(url)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one moment and changes nothing.

        Raises:
            StoreUnavailableError: The database cannot be read.
        """
        with self.errors(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is durable when the block is left, and undone where the block raises.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        with (
            self.errors(),
            self.engine.connect().execution_options(**{_WRITES: True}) as connection,
            connection.begin(),
        ):
            yield connection

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn what a database or its driver says into `StoreUnavailableError`; a fault of ours stays what it is."""
        try:
            yield
        except (exc.IntegrityError, exc.DataError):
            raise
        except exc.TimeoutError as problem:
            raise StoreUnavailableError(self.where, "all connections are in use") from problem
        except exc.DBAPIError as problem:
            if not _passing(problem):
                raise
            raise StoreUnavailableError(self.where, _words(problem), self._advice(problem)) from problem
        except (OSError, sqlite3.Error) as problem:
            raise StoreUnavailableError(self.where, str(problem), self._advice(problem)) from problem

    def _advice(self, problem: BaseException) -> str:
        words = str(problem)
        if "no such table" in words or "no such column" in words or "UndefinedTable" in words:
            return "run: likewise db upgrade"
        if "full" in words or "I/O error" in words:
            return "free the disk"
        if "readonly" in words or "unable to open" in words:
            return "make the file and its folder writable"
        if "malformed" in words or "not a database" in words:
            return "the file is damaged or of another kind; restore a copy or name another file"
        return "" if self.sqlite else "see that the server runs and takes connections"

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _passing(problem: exc.DBAPIError) -> bool:
    """Whether the database's state is at fault, and not our statement."""
    if problem.connection_invalidated or isinstance(problem, exc.OperationalError | exc.InterfaceError):
        return True
    if isinstance(problem, exc.InternalError):  # a read-only server (class 25), or one that shuts down
        return True
    state = getattr(problem.orig, "sqlstate", None) or ""
    return isinstance(problem.orig, sqlite3.DatabaseError) or state.startswith(
        ("08", "53", "57", "58", "42P01", "42703")
    )


def _words(problem: exc.DBAPIError) -> str:
    """What the driver says, in one line and without our statement and its values."""
    name = type(problem.orig).__name__
    words = " ".join(str(problem.orig).split())[:300]
    return words if name in ("OperationalError", "InterfaceError") else f"{name}: {words}"


def make_file(url: URL) -> None:
    """Make the file of an SQLite history where it is absent, for its owner's eyes: agents' texts are private.

    Raises:
        StoreUnavailableError: The folder cannot be written.
    """
    path = _path(url)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as problem:
        raise StoreUnavailableError(str(path), str(problem), "make the folder writable, or name another") from problem


def _path(url: URL) -> Path:
    return Path(str(url.database)).absolute()


def _sqlite_engine(url: URL) -> Engine:
    path = _path(url)

    def connect() -> sqlite3.Connection:
        # mode=rw: a file that has gone is an error, not an empty history
        connection = sqlite3.connect(
            f"{path.as_uri()}?mode=rw", uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            _prepare_sqlite(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    # hide_parameters: what was to be written is in no message and in no log
    engine = create_engine(url, creator=connect, hide_parameters=True, pool_size=8, max_overflow=24, pool_timeout=10)

    def remember(connection: sqlite3.Connection, record: ConnectionPoolEntry) -> None:
        del connection
        record.info["file"] = _identity(path)

    def check(connection: sqlite3.Connection, record: ConnectionPoolEntry, proxy: object) -> None:
        """A file that was moved or deleted still takes writes, which nobody would ever read."""
        del connection, proxy
        if record.info.get("file") != _identity(path):
            raise exc.InvalidatePoolError

    event.listen(engine, "connect", remember)
    event.listen(engine, "checkout", check)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _prepare_sqlite(connection: sqlite3.Connection) -> None:
    """Write-ahead log, and every commit reaches the disk before it returns."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            break
        except sqlite3.OperationalError as problem:  # here SQLite does not wait for its busy time-out, so this does
            if "locked" not in str(problem) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten, and not only forgotten
    connection.execute("PRAGMA journal_size_limit = 67108864")


def _begin_sqlite(connection: Connection) -> None:
    """A write takes its lock at the start: one that begins by reading could be refused later, however long it waits."""
    writes = connection.get_execution_options().get(_WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _postgres_engine(url: URL) -> Engine:
    try:
        import psycopg  # noqa: F401 - the one place that finds out
    except ImportError as problem:
        raise MissingExtraError("a history in PostgreSQL", "postgres") from problem
    options = f"-c timezone=UTC -c statement_timeout={STATEMENT_MILLISECONDS} -c lock_timeout={BUSY_SECONDS * 1000}"
    return create_engine(
        url,
        hide_parameters=True,
        pool_pre_ping=True,
        pool_size=5,
        max_overflow=10,  # three replicas leave half of the 100 connections that a server allows by itself
        pool_timeout=10,
        pool_recycle=1800,
        connect_args={"connect_timeout": CONNECT_SECONDS, "options": options, "application_name": "likewise"},
    )
