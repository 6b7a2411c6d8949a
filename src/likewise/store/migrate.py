"""Brings a database to the layout that this version knows, or back; safe with several processes at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext, RevisionStep
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection, text

from likewise.core.errors import StoreUnavailableError
from likewise.store.engine import Database, make_file
from likewise.store.models import Base

__all__ = ["check", "current", "downgrade", "latest", "upgrade"]

_FOLDER = Path(__file__).parent / "migrations"
_LOCK = 0x6C696B65  # one migration at a time over all processes
_Steps: TypeAlias = Callable[[tuple[str, ...], MigrationContext], list[RevisionStep]]


def _script() -> tuple[Config, ScriptDirectory]:
    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config, ScriptDirectory.from_config(config)


def latest() -> str:
    """The layout that this version knows."""
    return str(_script()[1].get_current_head())


def current(database: Database) -> str | None:
    """The layout of a database; None where it is empty.

    Raises:
        StoreUnavailableError: It cannot be read.
    """
    with database.reading() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def check(database: Database) -> None:
    """Refuse a database of another layout.

    Raises:
        StoreUnavailableError: It says which, and what to do.
    """
    found = current(database)
    if found == latest():
        return
    if found is not None and not _known(found):
        raise StoreUnavailableError(
            database.where, f"its layout {found!r} is newer than this version of likewise", "update likewise"
        )
    state = "it is empty" if found is None else f"its layout is {found!r}, not {latest()!r}"
    raise StoreUnavailableError(database.where, state, "run: likewise db upgrade")


def upgrade(database: Database, target: str = "head") -> None:
    """Bring a database up to a layout; all of it or nothing.

    Args:
        database: Empty, or of an earlier layout. An SQLite file that is absent is made.
        target: A layout's name; "head" is the latest.

    Raises:
        StoreUnavailableError: It cannot be written, or is of a later version of likewise.
    """
    if database.sqlite:
        make_file(database.url)
    found = current(database)
    if found is not None and not _known(found):
        check(database)
    config, script = _script()

    def steps(revision: tuple[str, ...], context: MigrationContext) -> list[RevisionStep]:
        del context
        return list(script._upgrade_revs(target, revision))  # type: ignore[arg-type]  # alembic's own signature differs

    _run(database, config, script, steps, target)


def downgrade(database: Database, target: str = "base") -> None:
    """Bring a database back to an earlier layout; what only the later one holds is lost.

    Args:
        database: Of this version's layout, or an earlier one.
        target: A layout's name, `-1` for one step, or "base" for nothing at all.

    Raises:
        StoreUnavailableError: It cannot be written.
    """
    config, script = _script()

    def steps(revision: tuple[str, ...], context: MigrationContext) -> list[RevisionStep]:
        del context
        return list(script._downgrade_revs(target, revision))  # type: ignore[arg-type]  # alembic's own signature differs

    _run(database, config, script, steps, target)


def _known(revision: str) -> bool:
    try:
        return _script()[1].get_revision(revision) is not None
    except CommandError:
        return False


def _run(database: Database, config: Config, script: ScriptDirectory, steps: _Steps, target: str) -> None:
    with database.writing() as connection:  # SQLite's lock on the file is held from here on
        _prepare(connection)
        with EnvironmentContext(config, script, fn=steps, destination_rev=target) as environment:
            environment.configure(connection=connection, target_metadata=Base.metadata, transactional_ddl=True)
            environment.run_migrations()


def _prepare(connection: Connection) -> None:
    """One migration at a time, however long it takes."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SET LOCAL statement_timeout = 0"))
        connection.execute(text("SET LOCAL lock_timeout = 0"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
