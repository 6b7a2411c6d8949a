from __future__ import annotations

from likewise.store.models import Base


def test_every_column_that_ends_up_in_a_row_by_name_is_listed_last_where_it_is_long():
    """SQLite reads a row up to the last column asked for: what is long comes last, so that lists never read it."""
    assert list(Base.metadata.tables["verdicts"].columns)[-1].name == "body"


def test_every_constraint_has_a_name_so_that_a_migration_can_take_it_away():
    named = [c.name for table in Base.metadata.tables.values() for c in table.constraints]
    assert all(named)
