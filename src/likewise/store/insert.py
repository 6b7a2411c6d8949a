"""Writes verdicts, many in one transaction; one that is there already stays as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table, insert
from sqlalchemy.dialects import postgresql, sqlite

from likewise.store.engine import Database
from likewise.store.models import ClashRow, RunRow, VerdictRow
from likewise.store.records import VerdictRows

__all__ = ["add_unless_there", "insert_rows", "insert_unless_there"]

_CHUNK = 100  # rows a statement: SQLite takes 32,766 values in one, PostgreSQL 65,535


def insert_rows(database: Database, rows: Sequence[VerdictRows]) -> int:
    """Write verdicts with all that belongs to them, durably, or none of them.

    Args:
        database: Where.
        rows: Verdicts; several with one id count as the first of them.

    Returns:
        How many were new.

    Raises:
        StoreUnavailableError: The database cannot be written; nothing is.
    """
    by_id: dict[str, VerdictRows] = {}
    for each in rows:
        by_id.setdefault(each.verdict["id"], each)
    ordered = [by_id[name] for name in sorted(by_id)]  # one order over all processes: no two wait for each other
    with database.writing() as connection:
        new = _insert_verdicts(connection, [each.verdict for each in ordered])
        added = [each for each in ordered if each.verdict["id"] in new]
        for table, children in (
            (RunRow, [run for each in added for run in each.runs]),
            (ClashRow, [clash for each in added for clash in each.clashes]),
        ):
            for start in range(0, len(children), _CHUNK):
                connection.execute(insert(table), children[start : start + _CHUNK])
    return len(new)


def _insert_verdicts(connection: Connection, values: Sequence[dict[str, Any]]) -> set[str]:
    """Insert those that are not there; their ids."""
    table: Any = VerdictRow.__table__
    new: set[str] = set()
    for start in range(0, len(values), _CHUNK):
        statement = insert_unless_there(connection, table).returning(table.c.id)
        new.update(connection.execute(statement, values[start : start + _CHUNK]).scalars())
    return new


def insert_unless_there(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """An insert that leaves a row with the same key as it is: both databases can, in words of their own."""
    if connection.dialect.name == "postgresql":
        return postgresql.insert(table).on_conflict_do_nothing()
    return sqlite.insert(table).on_conflict_do_nothing()


def add_unless_there(connection: Connection, table: Table, values: Mapping[str, Any]) -> bool:
    """Insert one row; whether it was not there yet."""
    key = next(iter(table.primary_key))
    # By what is returned: drivers do not agree on the number of rows of such an insert.
    statement = insert_unless_there(connection, table).values(**values).returning(key)
    return connection.execute(statement).first() is not None
