"""Each test of the store runs on SQLite, and under the marker `service` on PostgreSQL, each time on a new database."""

from __future__ import annotations

import os
import shutil
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from likewise.store.engine import Database, parse_url
from likewise.store.migrate import upgrade
from likewise.store.store import Store


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory):
    """A file of this version's layout, to be copied."""
    path = tmp_path_factory.mktemp("template") / "template.sqlite"
    database = Database(parse_url(f"sqlite:///{path}"))
    upgrade(database)
    database.close()
    return path


@pytest.fixture(scope="session")
def server():
    """Address of the PostgreSQL that make test-service has started."""
    address = os.environ.get("LIKEWISE_TEST_POSTGRES")
    if not address:
        pytest.fail("LIKEWISE_TEST_POSTGRES names no PostgreSQL; run: make test-service")
    return parse_url(address)


@pytest.fixture(scope="session")
def administer(server):
    """Run a statement on the server, outside of any transaction."""
    engine = create_engine(server, isolation_level="AUTOCOMMIT", poolclass=NullPool)  # a test may restart it

    def _administer(statement):
        with engine.connect() as connection:
            connection.execute(text(statement))

    yield _administer
    engine.dispose()


@pytest.fixture(scope="session")
def postgres_template(server, administer):
    """Name of a database of this version's layout, to be copied."""
    name = f"template_{uuid4().hex}"
    administer(f'CREATE DATABASE "{name}"')
    database = Database(server.set(database=name))
    upgrade(database)
    database.close()
    yield name
    administer(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.service)])
def backend(request):
    """Which database the test runs on."""
    return request.param


@pytest.fixture
def empty_url(backend, request, tmp_path):
    """Address of a database without any table."""
    if backend == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.sqlite'}"
        return
    yield from _postgres(request, "template0")


@pytest.fixture
def url(backend, request, tmp_path):
    """Address of a database of this version's layout."""
    if backend == "sqlite":
        path = tmp_path / "history.sqlite"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        yield f"sqlite:///{path}"
        return
    yield from _postgres(request, request.getfixturevalue("postgres_template"))


def _postgres(request, template):
    server, administer = request.getfixturevalue("server"), request.getfixturevalue("administer")
    name = f"test_{uuid4().hex}"
    administer(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    yield server.set(database=name).render_as_string(hide_password=False)
    administer(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


@pytest.fixture
def store(url):
    """An open history without verdicts."""
    with Store.open(url, upgrade=False) as opened:
        yield opened


@pytest.fixture
def all_text(store):
    """Everything that the database holds, as one text."""

    def _all_text():
        from likewise.store.models import Base

        with store.database.reading() as connection:
            return "\n".join(
                repr(tuple(row)) for table in Base.metadata.sorted_tables for row in connection.execute(table.select())
            )

    return _all_text
