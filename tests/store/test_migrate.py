from __future__ import annotations

import threading

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect, text

from likewise.core.errors import StoreUnavailableError
from likewise.store.engine import Database, parse_url
from likewise.store.migrate import check, current, downgrade, latest, upgrade
from likewise.store.models import Base
from likewise.store.store import Store


@pytest.fixture
def database(empty_url):
    opened = Database(parse_url(empty_url))
    yield opened
    opened.close()


def tables(database):
    with database.reading() as connection:
        return set(inspect(connection).get_table_names()) - {"alembic_version"}


def test_an_empty_database_is_brought_up_and_back_down_and_up_again(database):
    upgrade(database)
    assert current(database) == latest()
    assert tables(database) == set(Base.metadata.tables)
    downgrade(database)
    assert current(database) is None
    assert tables(database) == set()
    upgrade(database)
    assert current(database) == latest()


def test_the_migrations_make_exactly_the_tables_of_the_models(database):
    upgrade(database)
    with database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []


def test_the_comparison_of_migrations_and_models_can_fail(database):
    upgrade(database)
    with database.writing() as connection:
        connection.execute(text("ALTER TABLE verdicts DROP COLUMN signature"))
    with database.reading() as connection:
        (found,) = compare_metadata(MigrationContext.configure(connection), Base.metadata)
    assert found[0] == "add_column"


def test_a_second_upgrade_does_nothing(database):
    upgrade(database)
    upgrade(database)
    check(database)


def test_several_processes_may_upgrade_at_once(empty_url):
    problems = []

    def work():
        try:
            Store.open(empty_url).close()
        except Exception as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    with Store.open(empty_url, upgrade=False) as store:
        store.ping()


def test_a_database_without_a_layout_is_refused_where_nothing_may_be_changed(database, backend):
    if backend == "sqlite":
        upgrade(database)
        downgrade(database)
    with pytest.raises(StoreUnavailableError, match=r"it is empty.*; run: likewise db upgrade"):
        check(database)


def test_a_database_of_a_later_version_is_refused(database):
    upgrade(database)
    with database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    for step in (check, upgrade):
        with pytest.raises(
            StoreUnavailableError, match=r"'9999' is newer than this version of likewise.*update likewise"
        ):
            step(database)


def test_a_failed_migration_leaves_nothing_behind(database):
    if database.sqlite:
        upgrade(database)
        downgrade(database)
    with database.writing() as connection:
        connection.execute(text("CREATE TABLE sessions (in_the_way INTEGER)"))
    with pytest.raises(Exception, match="already exists"):
        upgrade(database)
    assert tables(database) == {"sessions"}
    assert current(database) is None
