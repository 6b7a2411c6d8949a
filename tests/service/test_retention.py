from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import anyio
import pytest

from likewise.service.retention import SETTING, delete_what_is_old, kept_days
from likewise.store.store import Store
from verdicts_factory import record_of


@pytest.fixture
def store(tmp_path):
    with Store.open(f"sqlite:///{tmp_path / 'history.sqlite'}") as opened:
        yield opened


def serving(store, days=None):
    """What the task needs of a service."""
    return SimpleNamespace(store=store, settings=SimpleNamespace(retention_days=days))


def test_what_the_service_was_started_with_comes_before_what_was_set_on_the_page(store):
    assert kept_days(serving(store)) is None
    store.settings.set(SETTING, 30, actor="joe")
    assert kept_days(serving(store)) == 30
    assert kept_days(serving(store, 90)) == 90
    store.settings.set(SETTING, "soon", actor="joe")
    assert kept_days(serving(store)) is None


def run_for_a_moment(service, until):
    async def main():
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(delete_what_is_old, service, 0.02)
                while not until():
                    await anyio.sleep(0.02)
                tasks.cancel_scope.cancel()

    anyio.run(main)


def test_old_verdicts_and_ended_sessions_go_and_others_stay(store):
    hours = (datetime.now(UTC) - record_of().created) / timedelta(hours=1)
    store.write([record_of(id="old", hours=hours - 49), record_of(id="young", hours=hours - 1)])
    store.users.put("joe", "hash", "viewer", actor="test")
    store.users.enter("ended", "joe", datetime.now(UTC), instead_of=None, address="")
    run_for_a_moment(serving(store, 2), lambda: len(store.verdicts.page().items) == 1)
    assert store.verdicts.page().items[0].id == "young"
    assert store.trends.agents()[0].verdicts == 2  # trends count on
    assert store.users.sweep(datetime.now(UTC), datetime.now(UTC)) == 0  # nothing left to sweep


def test_without_a_retention_everything_stays(store):
    store.write([record_of()])
    store.users.put("joe", "hash", "viewer", actor="test")
    store.users.enter("ended", "joe", datetime.now(UTC), instead_of=None, address="")
    seen_after = datetime(2000, 1, 1, tzinfo=UTC)
    long_ago = datetime(2001, 1, 1, tzinfo=UTC)
    run_for_a_moment(serving(store), lambda: store.users.session("ended", seen_after, long_ago) is None)
    assert len(store.verdicts.page().items) == 1


def test_a_history_that_is_away_is_tried_again(store, caplog):
    caplog.set_level(logging.WARNING)
    with store.database.writing() as connection:
        connection.exec_driver_sql("ALTER TABLE sessions RENAME TO away")
    run_for_a_moment(serving(store, 1), lambda: caplog.text.count("could not be deleted") >= 2)
