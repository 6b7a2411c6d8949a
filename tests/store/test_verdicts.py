from __future__ import annotations

import json
from datetime import timedelta

import pytest

from likewise.core.group import RolloutGroup
from likewise.reliability.runs import Failure, FailureKind, RunRecord
from likewise.store.records import Origin, VerdictRecord
from likewise.store.verdicts import VerdictFilter
from verdicts_factory import NO, NOON, YES, record_of, verdict_of

LOST = RunRecord(2, failure=Failure(FailureKind.EMPTY, "the answer is empty"))


def ids(page):
    return [each.id for each in page.items]


@pytest.fixture
def five(store):
    """a, b, c, d, e, an hour apart; c and d at the same moment."""
    store.write(
        [
            record_of(YES, YES, id="a", hours=0, version="1", task="t1", route="/v1/analyze", caller="k1"),
            record_of(NO, NO, id="b", hours=1, version="1", task="t2", model="m"),
            record_of(YES, NO, id="c", hours=2, version="2", task="t1"),
            record_of(YES, YES, id="d", hours=2, version="2", task="t1", query="What of 100%_sure?"),
            record_of(YES, YES, id="e", hours=3, agent="other", task="t1"),
        ]
    )
    return store


def test_the_newest_come_first_and_pages_follow_each_other_without_gap_or_overlap(five):
    first = five.verdicts.page(limit=2)
    second = five.verdicts.page(after=first.next, limit=2)
    third = five.verdicts.page(after=second.next, limit=2)
    assert [ids(first), ids(second), ids(third)] == [["e", "d"], ["c", "b"], ["a"]]
    assert third.next is None
    assert five.verdicts.page(limit=5).next is None


def test_what_is_added_meanwhile_shifts_no_page(five):
    first = five.verdicts.page(limit=2)
    five.write([record_of(id="new", hours=9)])
    assert ids(five.verdicts.page(after=first.next, limit=2)) == ["c", "b"]


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ({"agent": "bot"}, "dcba"),
        ({"agent": "bot", "version": "2"}, "dc"),
        ({"model": "m"}, "b"),
        ({"task": "t1"}, "edca"),
        ({"route": "/v1/analyze"}, "a"),
        ({"caller": "k1"}, "a"),
        ({"decision": "refuse"}, "c"),
        ({"label": "CRITICAL"}, "c"),
        ({"contradictory": True}, "c"),
        ({"contradictory": False}, "edba"),
        ({"since": NOON + timedelta(hours=1), "until": NOON + timedelta(hours=2)}, "b"),
        ({"text": "NOT safe"}, "b"),
        ({"text": "100%_s"}, "d"),
        ({"text": "%"}, "d"),
        ({"text": "nowhere"}, ""),
        ({"text": ""}, "edcba"),
    ],
)
def test_a_filter_keeps_what_it_says(five, filter, expected):
    assert "".join(ids(five.verdicts.page(VerdictFilter(**filter)))) == expected
    assert "".join(each.summary.id for each in five.verdicts.walk(VerdictFilter(**filter), batch=2)) == expected[::-1]


def test_one_verdict_comes_back_in_full(store):
    verdict = verdict_of(YES, NO, failed=[LOST])
    origin = Origin("bot", "v1", "m", "t", "/v1/analyze", "k1")
    store.write([VerdictRecord.of(verdict, origin, id="x", created=NOON, signature="sig")])
    found = store.verdicts.get("x")
    assert found.body == json.loads(json.dumps(verdict.as_json()))
    assert found.summary.created == NOON
    assert (found.summary.runs, found.summary.runs_failed, found.summary.runs_agreed) == (3, 1, verdict.runs_agreed)
    assert found.summary.reliability.value == verdict.reliability
    assert [each.valid for each in found.rollouts] == [True, True, False]
    assert found.signature == "sig"
    head = {"id": "x", "agent": "bot", "version": "v1", "model": "m", "task_id": "t", "route": "/v1/analyze"}
    assert found.as_json() == {**head, "created": NOON.isoformat(), "signature": "sig", **found.body}


def test_a_verdict_that_is_not_there_is_none(store):
    assert store.verdicts.get("nothing") is None


def test_the_runs_of_a_task_are_a_group_oldest_first(five):
    group = five.verdicts.group("bot", "t1")
    assert [each.run_id for each in group.rollouts] == ["a#0", "a#1", "c#0", "c#1", "d#0", "d#1"]
    assert [each.run_id for each in five.verdicts.group("bot", "t1", "2").rollouts] == ["c#0", "c#1", "d#0", "d#1"]
    assert [each.run_id for each in five.verdicts.group("bot", "t1", limit=3).rollouts] == ["c#1", "d#0", "d#1"]
    assert five.verdicts.group("bot", "nothing") == RolloutGroup("nothing", ())


def test_a_query_without_answer_is_listed_with_its_reason(store):
    store.write([VerdictRecord.of_failure("Is it?", "no key", [LOST], Origin("bot"), id="f")])
    (found,) = store.verdicts.page(VerdictFilter(decision="failed")).items
    assert found.reliability.reason == "no run gave an answer"
    assert found.answer is None
    assert store.verdicts.get("f").body["reasons"] == ["no key"]


def test_a_cursor_that_is_none_and_a_limit_that_cannot_be_are_refused(store):
    with pytest.raises(ValueError, match="not a cursor"):
        store.verdicts.page(after="nonsense")
    with pytest.raises(ValueError, match="1 to 500"):
        store.verdicts.page(limit=0)
