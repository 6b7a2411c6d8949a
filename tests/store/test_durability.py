"""What was acknowledged is there: with several processes, after a kill, with a full disk, with the server gone."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import func, select

from likewise.core.errors import StoreUnavailableError
from likewise.store.models import ClashRow, RunRow, VerdictRow
from likewise.store.store import Store
from likewise.store.writer import VerdictWriter
from store.postgres import control
from verdicts_factory import record_of

TESTS = Path(__file__).parents[1]


@pytest.fixture
def process(url):
    """Start a process that writes to the database; it is ended with the test."""
    started = []

    def _process(*arguments):
        command = [sys.executable, str(TESTS / "store_process.py"), url, *map(str, arguments)]
        environment = os.environ | {"PYTHONPATH": str(TESTS)}
        started.append(
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        )
        return started[-1]

    yield _process
    for each in started:
        each.kill()
        each.communicate()


def counts(url):
    with Store.open(url, upgrade=False) as store, store.database.reading() as connection:
        return [
            connection.execute(select(func.count()).select_from(t)).scalar() for t in (VerdictRow, RunRow, ClashRow)
        ]


def ids(url):
    with Store.open(url, upgrade=False) as store, store.database.reading() as connection:
        return set(connection.execute(select(VerdictRow.id)).scalars())


def test_two_processes_lose_and_double_nothing_under_two_thousand_puts_at_once(process, url):
    both = [process("put", prefix, 800, 200) for prefix in ("a", "b")]
    for each in both:
        said, complained = each.communicate(timeout=280)
        assert said.strip() == "1000", complained
    assert counts(url) == [1800, 3600, 1800]  # 200 under one name each


def test_after_a_kill_all_that_was_acknowledged_is_there_and_the_database_is_sound(process, url, tmp_path, backend):
    acknowledged = []
    for prefix in ("first", "second"):
        killed = process("forever", prefix)
        for _ in range(150):
            acknowledged.append(killed.stdout.readline().strip())
        killed.send_signal(signal.SIGKILL)
        acknowledged += killed.communicate(timeout=60)[0].splitlines()
        assert killed.returncode == -signal.SIGKILL
    found = ids(url)
    assert len(acknowledged) >= 300
    assert set(acknowledged) <= found
    verdicts, runs, clashes = counts(url)
    assert (runs, clashes) == (2 * verdicts, verdicts)  # whole or not at all
    if backend == "sqlite":
        connection = sqlite3.connect(tmp_path / "history.sqlite")
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.close()


@pytest.mark.parametrize("backend", ["sqlite"])
def test_a_full_disk_is_told_loses_nothing_and_is_recovered_from(process, url, backend):
    filling = process("fill", 1_500_000)
    said, complained = filling.communicate(timeout=200)
    assert filling.returncode == 0, complained
    full, recovered = said.splitlines()
    number, words = full.split(" ", 1)
    assert recovered == "recovered"
    assert "the history is unavailable" in words
    assert words.endswith("free the disk")
    assert int(number) > 20
    assert {f"v{i}" for i in range(int(number))} | {"with room again"} <= ids(url)


@pytest.mark.parametrize("backend", ["sqlite"])
def test_a_database_that_may_grow_no_further_is_full(store, backend):
    with store.database.reading() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        driver = connection.connection.driver_connection
        driver.execute(f"PRAGMA max_page_count = {pages + 4}")
    text = "a" * 60_000
    with pytest.raises(StoreUnavailableError, match=r"full.*free the disk"):
        store.write([record_of(text, text)])
    assert store.verdicts.page().items == ()
    with store.database.reading() as connection:
        connection.connection.driver_connection.execute("PRAGMA max_page_count = 1000000")
    assert store.write([record_of(text, text)]) == 1


@pytest.mark.alone
@pytest.mark.parametrize("backend", [pytest.param("postgres", marks=pytest.mark.service)])
def test_a_server_that_goes_and_comes_back_is_told_of_and_gone_on_with(store, backend):
    async def main():
        async with VerdictWriter(store, retry_for=0.3) as writer:
            await writer.put(record_of(id="before"))
            control("-m", "immediate", "stop")
            try:
                with pytest.raises(StoreUnavailableError, match="see that the server runs"):
                    await writer.put(record_of(id="lost"))
                with pytest.raises(StoreUnavailableError):
                    store.ping()
            finally:
                control("-o", os.environ["LIKEWISE_TEST_POSTGRES_OPTIONS"], "-l", "/dev/null", "start")
            await writer.put(record_of(id="after"))
            store.ping()

    asyncio.run(main())
    assert {each.id for each in store.verdicts.page().items} == {"before", "after"}
