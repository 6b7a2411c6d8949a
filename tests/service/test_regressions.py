"""Recorded changes: each once, over all processes, and none taken back when old verdicts go."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from likewise.evaluation.change import Change
from likewise.service.regressions import (
    agent_trends,
    aligned_start,
    record_shifts,
    recorded_trends,
    shift_of,
    window_start,
)
from likewise.store.store import Store
from service_history import TODAY, lives, write

NOW = TODAY + timedelta(hours=10)


@pytest.fixture
def store(tmp_path):
    with Store.open(f"sqlite:///{tmp_path / 'history.sqlite'}") as opened:
        yield opened


def test_a_regression_is_recorded_and_confirmed_once(regressed):
    first = record_shifts(regressed, "support", agent_trends(regressed, "support"), NOW)
    assert {alert.metric for alert in first} == {"reliability", "contradiction_rate", "divergence"}
    assert record_shifts(regressed, "support", agent_trends(regressed, "support"), NOW) == []
    assert len(regressed.alerts.list()) == 3
    assert {alert.state for alert in regressed.alerts.list()} == {"confirmed"}


def test_of_two_processes_that_look_at_the_same_time_one_confirms(regressed):
    ours, theirs = agent_trends(regressed, "support"), agent_trends(regressed, "support")
    assert len(record_shifts(regressed, "support", ours, NOW)) == 3
    assert record_shifts(regressed, "support", theirs, NOW) == []


def test_what_is_recorded_is_read_back_as_it_was_found(regressed):
    trends = agent_trends(regressed, "support")
    record_shifts(regressed, "support", trends, NOW)
    for alert in regressed.alerts.list():
        assert shift_of(alert) == trends[alert.metric].latest


def test_a_recorded_change_outlives_the_verdicts_that_showed_it(store):
    write(store, lives(turn=6))
    record_shifts(store, "support", agent_trends(store, "support"), NOW)
    store.retention.delete_older_than(3, now=NOW)
    kept = agent_trends(store, "support", 3, NOW)
    assert [shift.change for shift in kept["reliability"].shifts] == [Change.WORSE]
    assert record_shifts(store, "support", kept, NOW) == []


def test_a_recovery_closes_the_regression_and_tells_nobody(store):
    generator = np.random.default_rng(1)
    write(store, lives(generator, days=24, turn=5, bad=0.4, per_day=25))
    record_shifts(store, "support", agent_trends(store, "support"), NOW)
    write(store, lives(generator, good=1.0, days=-1, turn=-20, until=-6, per_day=25))
    found = record_shifts(store, "support", agent_trends(store, "support"), NOW + timedelta(days=6))
    assert found == []
    states = {(alert.metric, str(alert.state)) for alert in store.alerts.list()}
    assert ("reliability", "closed") in states
    assert ("reliability.better", "closed") in states
    assert store.alerts.due("mail") == [] or all(a.metric != "reliability" for a in store.alerts.due("mail"))


def test_a_regression_of_long_ago_is_recorded_and_no_news(store):
    write(store, lives(days=24, turn=12))
    assert record_shifts(store, "support", agent_trends(store, "support"), NOW) == []
    assert {str(alert.state) for alert in store.alerts.list()} == {"closed"}
    assert store.alerts.due("webhook") == []


def test_an_agent_that_stays_as_it_is_has_no_alert(store):
    write(store, lives(good=0.9, bad=0.9))
    assert record_shifts(store, "support", agent_trends(store, "support"), NOW) == []
    assert store.alerts.list() == []


def test_an_alert_of_something_else_is_no_change(store):
    alert = store.alerts.open("support", "1", "reliability", NOW.date(), {"note": "by hand"})
    assert shift_of(alert) is None
    assert agent_trends(store, "support")["reliability"].shifts == ()


def test_the_window_of_the_test_moves_in_steps_and_lies_within_what_is_kept():
    starts = [window_start(NOW + timedelta(days=day), 90) for day in range(90)]
    assert len(set(starts)) <= 6
    for day, start in enumerate(starts):
        age = NOW + timedelta(days=day) - start
        assert timedelta(days=90 - 22) <= age <= timedelta(days=90)
    assert window_start(NOW, None) is None
    assert window_start(datetime(2026, 1, 1, tzinfo=UTC), 1) <= datetime(2026, 1, 1, tzinfo=UTC)


def test_where_there_are_too_many_verdicts_the_start_stays_for_an_eighth_of_their_time_at_least():
    span = timedelta(days=40)
    moments = [NOW + timedelta(hours=6 * i) for i in range(400)]
    starts = [aligned_start(moment - span, moment) for moment in moments]
    for moment, start in zip(moments, starts, strict=True):
        assert timedelta(days=30) <= moment - start <= span
    assert len(set(starts)) <= 400 * 6 / 24 / 5 + 2


def test_what_is_recorded_is_told_without_a_look_at_the_verdicts(regressed):
    record_shifts(regressed, "support", agent_trends(regressed, "support"), NOW)
    found = recorded_trends(regressed, "support")
    assert [shift.change for shift in found["reliability"].shifts] == [Change.WORSE]
    assert found["reliability"].readings == 0
    assert recorded_trends(regressed, "another")["reliability"].shifts == ()


def test_only_the_newest_verdicts_are_tested_where_there_are_too_many(regressed, monkeypatch):
    monkeypatch.setattr("likewise.service.regressions.MOST_READINGS", 60)
    trends = agent_trends(regressed, "support")
    assert 30 <= trends["reliability"].readings <= 60
    assert trends["reliability"].shifts == ()  # all of them are of version 2
