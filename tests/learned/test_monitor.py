from __future__ import annotations

import pytest

from judges import LetterEncoder
from learned.samples import checkpoint, run_of
from likewise.learned.model import RSDModel
from likewise.learned.monitor import Alarm, AlarmPolicy, Monitor, Stopped

RUN = run_of(("abc", "de"), ("fgh", "ij"), ("kk", "l"))


def model(**changes):
    return RSDModel(checkpoint(**changes), LetterEncoder())


def watch(policy, learned=None):
    monitor = Monitor(learned or model(), policy)
    readings = []
    for turn in RUN.turns:
        readings.append(monitor.observe(*turn.observations))
        monitor.act(turn.action)
    return readings


def test_readings_are_the_scores_of_the_run_before_each_action():
    readings = watch(AlarmPolicy(9.0))
    assert [each.turn for each in readings] == [0, 1, 2]
    assert [each.score for each in readings] == model().score_turns(RUN)
    assert {each.alarm for each in readings} == {Alarm.NONE}


def test_a_score_above_the_threshold_is_an_alarm_and_only_after_so_many_in_a_row():
    assert [each.alarm for each in watch(AlarmPolicy(0.0))] == [Alarm.ESCALATE] * 3
    late = watch(AlarmPolicy(0.0, then=Alarm.STOP, in_a_row=3))
    assert [each.alarm for each in late] == [Alarm.NONE, Alarm.NONE, Alarm.STOP]
    assert "is above 0.000" in late[2].reason


def test_reading_twice_in_a_turn_does_not_count_as_two_turns():
    monitor = Monitor(model(), AlarmPolicy(0.0, in_a_row=2))
    monitor.observe("abc")
    assert monitor.read().alarm is Alarm.NONE
    assert monitor.read().alarm is Alarm.NONE
    monitor.act("d")
    assert monitor.observe("e").alarm is Alarm.ESCALATE


def test_strange_states_may_be_an_alarm():
    readings = watch(AlarmPolicy(9.0, unfamiliar=Alarm.STOP), model(familiar=0.0))
    assert readings[0].alarm is Alarm.STOP
    assert "unlike those of the training" in readings[0].reason


def test_check_stops_before_the_turn_or_hands_over():
    monitor = Monitor(model(), AlarmPolicy(0.0))
    monitor.observe("abc")
    with pytest.raises(Stopped, match="turn 0: RSD"):
        monitor.check()
    asked = []
    monitor.check(on_escalate=asked.append)
    assert [each.turn for each in asked] == [0]
    stopping = Monitor(model(), AlarmPolicy(0.0, then=Alarm.STOP))
    stopping.observe("abc")
    with pytest.raises(Stopped):
        stopping.check(on_escalate=asked.append)


def test_the_calibrated_threshold_is_taken_and_without_any_there_is_no_alarm():
    with pytest.raises(ValueError, match="needs a threshold"):
        Monitor(model())
    calibration = {
        "delta": 1.0, "at_most": 0.1, "confidence": 0.95, "tasks": 60, "threshold": 0.25, "reason": None, "limit": 0.1,
        "let_through": 0.5, "margin": None, "knots": [0.0], "corrected": [1.0],
    }  # fmt: skip
    assert Monitor(model(calibration=calibration)).threshold == 0.25


def test_refuses_an_alarm_after_no_turn():
    with pytest.raises(ValueError, match="at least one turn"):
        AlarmPolicy(in_a_row=0)
