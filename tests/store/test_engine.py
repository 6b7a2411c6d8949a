from __future__ import annotations

import shutil
import stat
import sys

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from likewise.core.errors import ConfigError, MissingExtraError, StoreUnavailableError
from likewise.store.engine import Database, default_url, make_file, parse_url
from likewise.store.store import Store
from verdicts_factory import record_of


@pytest.fixture
def backend():
    return "sqlite"


@pytest.mark.parametrize(
    ("address", "driver"),
    [
        ("sqlite:///h.sqlite", "sqlite"),
        ("postgresql://u:p@host/db", "postgresql+psycopg"),
        ("postgres://u:p@host/db", "postgresql+psycopg"),
        ("postgresql+psycopg2://u:p@host/db", "postgresql+psycopg"),
    ],
)
def test_addresses_lead_to_the_drivers_that_are_supported(address, driver):
    assert parse_url(address).drivername == driver


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("not an address with secret-pw", "cannot be read"),
        ("mysql://u:secret-pw@host/db", "no database of the kind 'mysql'"),
        ("sqlite://", "a history is a file, without options"),
        ("sqlite:///:memory:", "a history is a file, without options"),
        ("sqlite:///file:x?mode=memory&uri=true", "a history is a file, without options"),
    ],
)
def test_other_addresses_are_refused_without_repeating_a_password(address, problem):
    with pytest.raises(ConfigError, match=problem) as refused:
        parse_url(address)
    assert "secret-pw" not in str(refused.value)


def test_the_default_is_a_file_of_the_users_or_what_the_environment_says(monkeypatch):
    monkeypatch.delenv("LIKEWISE_DATABASE_URL", raising=False)
    assert default_url().startswith("sqlite:///")
    assert default_url().endswith("history.sqlite")
    monkeypatch.setenv("LIKEWISE_DATABASE_URL", "postgresql://elsewhere/db")
    assert default_url() == "postgresql://elsewhere/db"


def test_a_password_is_in_no_name_of_a_database():
    database = Database(parse_url("postgresql://u:secret-pw@host/db"))
    assert "secret-pw" not in database.where
    database.close()


def test_a_file_is_for_its_owners_eyes_and_an_existing_one_stays(tmp_path):
    url = parse_url(f"sqlite:///{tmp_path / 'a' / 'h.sqlite'}")
    make_file(url)
    path = tmp_path / "a" / "h.sqlite"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_bytes(b"something")
    make_file(url)
    assert path.read_bytes() == b"something"


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnavailableError, match="make the folder writable"):
        make_file(parse_url(f"sqlite:///{tmp_path / 'file' / 'h.sqlite'}"))


def test_every_commit_reaches_the_disk_before_it_returns(store):
    with store.database.reading() as connection:
        settings = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "secure_delete")
        }
    assert settings == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1}


def test_what_is_deleted_is_no_longer_in_the_file(store, tmp_path):
    said = "a sentence that nobody should find again"
    store.write([record_of(said, said + "!")])
    job = store.jobs.add("report", {}, payload=said.encode() * 1000)

    def found():
        return any(said.encode() in file.read_bytes() for file in tmp_path.glob("history.sqlite*"))

    assert found()
    store.jobs.cancel(job.id)
    assert store.retention.delete_older_than(0) == 1
    store.close()
    assert not found()


def test_a_file_with_spaces_and_signs_in_its_name_works(tmp_path):
    with Store.open(f"sqlite:///{tmp_path}/a b#c ü.sqlite") as store:
        store.write([record_of()])
        assert len(store.verdicts.page().items) == 1
    assert (tmp_path / "a b#c ü.sqlite").exists()


def test_a_file_that_is_no_database_is_told(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text(
        "no database at all, but long enough to be taken for one, if nobody looks at the first bytes\n" * 20
    )
    with pytest.raises(StoreUnavailableError, match="damaged or of another kind"):
        Store.open(f"sqlite:///{path}")


def test_what_is_wrong_in_a_statement_of_ours_stays_what_it_is(store):
    with pytest.raises(IntegrityError), store.database.writing() as connection:
        connection.execute(
            text("INSERT INTO settings VALUES ('a', '1', '2026-01-01', 'x'), ('a', '1', '2026-01-01', 'x')")
        )


def test_a_block_that_raises_is_undone(store):
    def fail():
        with store.database.writing() as connection:
            connection.execute(text("INSERT INTO settings VALUES ('a', '1', '2026-01-01', 'x')"))
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        fail()
    assert store.settings.all() == {}


def test_a_history_that_has_gone_is_unavailable_and_comes_back(store, tmp_path):
    path = tmp_path / "history.sqlite"
    store.write([record_of(id="before")])
    away = tmp_path / "away"
    away.mkdir()
    with store.database.writing() as connection:  # all of it in the one file
        connection.commit()
    store.close()
    for file in tmp_path.glob("history.sqlite*"):
        shutil.move(file, away / file.name)
    for action in (store.ping, lambda: store.write([record_of(id="lost")])):
        with pytest.raises(StoreUnavailableError, match="make the file and its folder writable"):
            action()
    assert not path.exists()  # no empty history in its place
    for file in away.iterdir():
        shutil.move(file, path.with_name(file.name))
    assert store.write([record_of(id="after")]) == 1
    assert {each.id for each in store.verdicts.page().items} == {"before", "after"}


def test_a_file_that_was_moved_away_from_under_open_connections_takes_no_more_writes(store, tmp_path):
    path = tmp_path / "history.sqlite"
    store.write([record_of(id="before")])
    for file in list(tmp_path.glob("history.sqlite*")):
        file.rename(tmp_path / f"moved-{file.name}")
    with pytest.raises(StoreUnavailableError):
        store.write([record_of(id="lost")])
    for file in list(tmp_path.glob("moved-*")):
        file.rename(tmp_path / file.name.removeprefix("moved-"))
    assert path.exists()
    assert store.write([record_of(id="after")]) == 1


def test_a_missing_driver_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'likewise\[postgres\]'"):
        Database(parse_url("postgresql://host/db"))


def test_a_server_that_does_not_answer_is_unavailable():
    with pytest.raises(StoreUnavailableError, match="see that the server runs"):
        Store.open("postgresql://u:secret-pw@127.0.0.1:1/db")
