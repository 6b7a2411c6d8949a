from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest

from likewise.metrics.resampling import wilson_interval
from likewise.reliability.runs import Failure, FailureKind, RunRecord
from likewise.store.records import Origin, VerdictRecord
from verdicts_factory import NO, NOON, YES, record_of

LOST = RunRecord(0, failure=Failure(FailureKind.EMPTY, "the answer is empty"))
ALIKE, CLASHING, MIXED = (YES, YES), (YES, NO), (YES, NO, YES)  # reliability 1, 0, 1/3


def failed(agent="bot", hours=0.0, version=""):
    return VerdictRecord.of_failure(
        "Is it?", "no", [LOST], Origin(agent, version), created=NOON + timedelta(hours=hours)
    )


@pytest.fixture
def filled(store):
    """bot: version 1 on the 10th (1, 1, 1/3), version 2 on the 11th (0, 1, a failure); other: one on the 12th."""
    store.write(
        [
            record_of(*ALIKE, version="1", hours=0, task="a", id="v1"),
            record_of(*ALIKE, version="1", hours=1, task="a", id="v2"),
            record_of(*MIXED, version="1", hours=2, task="b", id="v3"),
            record_of(*CLASHING, version="2", hours=24, task="a", id="v4"),
            record_of(*ALIKE, version="2", hours=25, task="c", id="v5"),
            failed(hours=26, version="2"),
            record_of(*ALIKE, agent="other", hours=48, task="a"),
        ]
    )
    return store


def test_agents_are_summed_up_the_last_active_first(filled):
    other, bot = filled.trends.agents()
    assert (other.agent, bot.agent) == ("other", "bot")
    assert bot.versions == ("2", "1")
    assert (bot.verdicts, bot.failed, bot.refused) == (6, 1, 2)
    assert (bot.first, bot.last) == (NOON, NOON + timedelta(hours=26))
    values = [1, 1, 1 / 3, 0, 1]
    assert bot.reliability.value == pytest.approx(np.mean(values))
    assert bot.reliability.stderr == pytest.approx(np.std(values, ddof=1) / np.sqrt(5))
    assert bot.reliability.n == 5
    assert (bot.contradiction_rate.low, bot.contradiction_rate.high) == pytest.approx(wilson_interval(2, 5))
    assert bot.divergence.value == pytest.approx(np.mean([0, 0, 2 / 3, 1, 0]))


def test_agents_can_be_counted_from_a_moment_on(filled):
    _, bot = filled.trends.agents(since=NOON + timedelta(hours=24))
    assert (bot.verdicts, bot.versions) == (3, ("2",))
    assert filled.trends.agents(since=NOON + timedelta(days=9)) == []


def test_an_agent_by_day(filled):
    first, second = filled.trends.series("bot")
    assert (first.day, second.day) == (date(2026, 3, 10), date(2026, 3, 11))
    assert (first.verdicts, first.measured, first.judged, first.contradictory, first.failed) == (3, 3, 3, 1, 0)
    assert (second.verdicts, second.measured, second.judged, second.contradictory, second.failed) == (3, 2, 2, 1, 1)
    assert first.reliability.value == pytest.approx(7 / 9)
    assert first.version is None
    assert filled.trends.series("bot", since=NOON + timedelta(hours=24))[0].day == date(2026, 3, 11)
    assert [each.day for each in filled.trends.series("bot", until=NOON + timedelta(hours=24))] == [date(2026, 3, 10)]


def test_an_agent_by_version_in_the_order_in_which_they_came(filled):
    filled.write([record_of(*ALIKE, version="0.9-late", hours=30)])
    points = filled.trends.series("bot", "version")
    assert [point.version for point in points] == ["1", "2", "0.9-late"]
    assert points[1].day is None
    assert filled.trends.series("bot", version="1")[0].verdicts == 3


def test_a_series_is_by_day_or_by_version(store):
    with pytest.raises(ValueError, match="'week'"):
        store.trends.series("bot", "week")


def test_a_day_without_a_measured_verdict_says_so(store):
    store.write([failed()])
    (point,) = store.trends.series("bot")
    assert point.reliability.as_json() == {"value": None, "reason": "no reliability was measured"}
    assert point.contradiction_rate.value is None


def test_tasks_come_the_least_reliable_first_and_in_pages(filled):
    filled.write([failed(hours=27)])
    pages, after = [], None
    while True:
        page = filled.trends.tasks("bot", after=after, limit=2)
        pages.append([(each.task, each.verdicts, each.runs) for each in page.items])
        after = page.next
        if after is None:
            break
    unmeasured = pages[-1][-1]
    assert [entry for page in pages for entry in page][:3] == [("b", 1, 3), ("a", 3, 6), ("c", 1, 2)]
    assert unmeasured[0].startswith("query-")
    assert unmeasured[1:] == (2, 2)
    assert [len(page) for page in pages] == [2, 2]
    (only,) = filled.trends.tasks("bot", "1", limit=1).items
    assert only.task == "b"
    assert only.query == "Is drug X safe?"


def test_observations_are_the_verdicts_oldest_first_and_the_newest_where_there_are_too_many(filled):
    found = filled.trends.observations("bot")
    assert [each.id for each in found][:5] == ["v1", "v2", "v3", "v4", "v5"]
    assert found[2][2:] == ("1", "b", 3, pytest.approx(1 / 3), True, pytest.approx(2 / 3))
    assert found[5].reliability is None
    assert found[5].contradictory is None
    assert found[5].runs == 0
    assert next(iter(filled.trends.observations("bot", limit=2))).id == "v5"
    assert next(iter(filled.trends.observations("bot", since=NOON + timedelta(hours=25)))).id == "v5"


def test_an_empty_history_has_no_agents(store):
    assert store.trends.agents() == []
    assert store.trends.series("bot") == []
    assert store.trends.tasks("bot").items == ()
