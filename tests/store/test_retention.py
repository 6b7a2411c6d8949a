from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from sqlalchemy import func, select

from likewise.store.models import ClashRow, DailyRow, RunRow, VerdictRow
from verdicts_factory import NO, NOON, YES, record_of


def counts(store):
    with store.database.reading() as connection:
        tables = VerdictRow, RunRow, ClashRow, DailyRow
        return [connection.execute(select(func.count()).select_from(table)).scalar() for table in tables]


def numbers(store):
    """All trends, rounded: sums in another order differ in the last digit."""
    return [
        (p.day, p.verdicts, p.failed, p.refused, p.judged, p.contradictory, p.measured, round(p.reliability.value, 9),
         round(p.reliability.low, 9), round(p.divergence.value, 9), p.first, p.last)
        for agent in store.trends.agents()
        for p in store.trends.series(agent.agent)
    ]  # fmt: skip


def ten_days(store):
    store.write(
        [
            record_of(
                *((YES, NO, YES) if day % 3 else (YES, YES)), hours=24 * day + hour, version=str(day // 5), agent=agent
            )
            for day in range(10)
            for hour in (0, 5)
            for agent in ("bot", "other")
        ]
    )


def test_old_verdicts_go_with_all_that_belongs_to_them_and_trends_stay(store):
    ten_days(store)
    before = numbers(store)
    assert store.retention.delete_older_than(3, now=NOON + timedelta(days=9, hours=6), batch=7) == 28
    assert numbers(store) == before
    verdicts, runs, clashes, daily = counts(store)
    assert verdicts == 12
    assert runs == sum(each.runs for each in store.verdicts.page().items)
    assert clashes < runs
    assert daily == 14  # seven days of two agents


def test_a_day_that_goes_in_two_parts_is_one_day(store):
    ten_days(store)
    before = numbers(store)
    store.retention.delete_older_than(0, now=NOON + timedelta(hours=1))
    store.retention.delete_older_than(0, now=NOON + timedelta(hours=6))
    assert counts(store)[3] == 2
    assert numbers(store) == before
    store.retention.delete_older_than(0, now=NOON + timedelta(days=20))
    assert counts(store)[:3] == [0, 0, 0]
    assert numbers(store) == before


def test_versions_keep_their_names_and_their_order(store):
    ten_days(store)
    store.retention.delete_older_than(0, now=NOON + timedelta(days=20))
    assert [point.version for point in store.trends.series("bot", "version")] == ["0", "1"]
    assert store.trends.series("bot", version="1")[0].verdicts == 2
    assert store.trends.agents()[0].versions == ("1", "0")


def test_what_is_young_enough_stays(store):
    store.write([record_of()])
    assert store.retention.delete_older_than(1, now=NOON + timedelta(hours=23)) == 0
    assert counts(store)[0] == 1


def test_a_late_verdict_of_a_day_that_has_gone_is_counted_once(store):
    store.write([record_of(YES, YES, id="a")])
    store.retention.delete_older_than(0, now=NOON + timedelta(days=1))
    store.write([record_of(YES, YES, id="b", hours=1)])
    assert store.trends.series("bot")[0].verdicts == 2
    store.retention.delete_older_than(0, now=NOON + timedelta(days=1))
    assert store.trends.series("bot")[0].verdicts == 2


def test_replicas_that_delete_at_once_count_nothing_twice(store):
    ten_days(store)
    before, deleted = numbers(store), []

    def work():
        deleted.append(store.retention.delete_older_than(0, now=NOON + timedelta(days=20), batch=3))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(deleted) == 40
    assert numbers(store) == before


def test_jobs_that_have_ended_go_too_and_others_stay(store):
    ended, waiting = store.jobs.add("report", {}), store.jobs.add("report", {})
    store.jobs.cancel(ended.id)
    store.retention.delete_older_than(0)
    assert store.jobs.get(ended.id) is None
    assert store.jobs.get(waiting.id) is not None


def test_a_negative_age_is_none(store):
    with pytest.raises(ValueError, match="at least 0 days"):
        store.retention.delete_older_than(-1)
