from __future__ import annotations

import dataclasses
import pickle

import pytest

from likewise.core.rollout import Action, Observation, Rollout, StopReason, ToolCall, Turn

INVARIANT = "a rollout has a problem exactly where its stop reason is INVALID"


def test_an_invalid_rollout_needs_a_problem():
    with pytest.raises(ValueError, match=INVARIANT):
        Rollout("t", "1", (), stop=StopReason.INVALID)


@pytest.mark.parametrize("stop", [StopReason.FINISHED, StopReason.CUT])
def test_a_rollout_with_a_problem_is_invalid(stop):
    with pytest.raises(ValueError, match=INVARIANT):
        Rollout("t", "1", (), stop=stop, problem="the harness failed")


@pytest.mark.parametrize(
    ("stop", "problem", "valid"),
    [(StopReason.FINISHED, None, True), (StopReason.CUT, None, True), (StopReason.INVALID, "infrastructure", False)],
)
def test_a_run_cut_by_a_limit_is_valid_and_a_broken_harness_is_not(stop, problem, valid):
    assert Rollout("t", "1", (), stop=stop, problem=problem).valid is valid


def test_an_action_is_empty_where_nothing_was_said_and_nothing_called():
    assert Action().is_empty
    assert Action(" \n").is_empty
    assert not Action("x").is_empty
    assert not Action(tool_calls=(ToolCall("get", {}),)).is_empty


def test_the_answer_is_the_last_thing_said():
    look = Action(tool_calls=(ToolCall("get", {}),))
    turns = tuple(Turn((), action) for action in (Action("first"), Action("last"), look))
    assert Rollout("t", "1", turns).answer == "last"
    assert Rollout("t", "1", (Turn((), look),)).answer is None
    assert Rollout("t", "1", ()).answer is None


def test_a_run_that_ends_in_an_empty_completion_gave_no_answer_whatever_it_said_before():
    look = Action("I will look.", (ToolCall("get", {}),))
    assert Rollout("t", "1", (Turn((), look), Turn((), Action("  ")))).answer is None
    assert Rollout("t", "1", (Turn((), Action("")), Turn((), Action("Done.")))).answer == "Done."


def test_actions_come_one_a_turn():
    turns = (Turn((Observation("user", "hi"),), Action("a")), Turn((), Action("b")))
    assert Rollout("t", "1", turns).actions == (Action("a"), Action("b"))


def test_a_rollout_cannot_be_changed():
    rollout = Rollout("t", "1", ())
    with pytest.raises(dataclasses.FrozenInstanceError):
        rollout.reward = 1.0


def test_a_rollout_with_facts_travels_between_processes():
    rollout = Rollout("t", "1", (Turn((), Action("a")),), meta={"seed": 1})
    assert pickle.loads(pickle.dumps(rollout)) == rollout


def test_a_rollout_without_facts_travels_between_processes():
    rollout = Rollout("t", "1", (Turn((), Action("a")),))
    assert pickle.loads(pickle.dumps(rollout)) == rollout


@pytest.mark.parametrize("text", ["\u200b", "\x00", "\ufeff \u2060", "\ud83d", "\u202e\t"])
def test_characters_that_nobody_sees_say_nothing(text):
    assert Action(text).is_empty
    assert Rollout("t", "1", (Turn((), Action("seen")), Turn((), Action(text)))).answer is None
