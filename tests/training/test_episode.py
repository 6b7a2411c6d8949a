from __future__ import annotations

import json

import pytest

from likewise.core.rollout import Action, Observation, StopReason, ToolCall, Turn
from likewise.formats.messages import read_messages
from likewise.formats.native import read, write_rollouts
from likewise.training.environments.bookings import Bookings
from likewise.training.episode import Episode, chat_messages

FOUND = Action("", (ToolCall("find_booking", {"guest": "Ann"}),))
MOVED = Action("", (ToolCall("move_booking", {"booking_id": "B1", "day": "Fri"}),))
TOLD = Action("B1 is now on Fri.")


def episode(*actions, task="ann_moves"):
    made = Episode(Bookings(), task, "7")
    for action in actions:
        made.act(action)
    return made


def test_a_whole_run_becomes_a_successful_rollout_with_its_curve():
    done = episode(FOUND, MOVED, TOLD)
    rollout = done.rollout(meta={"agent": "me"})
    assert done.done
    assert rollout.meta["progress"] == [0.0, 1 / 3, 2 / 3, 1.0]
    assert (rollout.success, rollout.reward, rollout.stop) == (True, 1.0, StopReason.FINISHED)
    assert (rollout.task_id, rollout.run_id, rollout.meta["agent"]) == ("ann_moves", "7", "me")
    assert rollout.meta["tool_hints"]["find_booking"] == {"readOnlyHint": True}
    assert rollout.actions == (FOUND, MOVED, TOLD)
    assert rollout.last_observations[-1].text == "Thank you, goodbye."


def test_a_run_that_changed_what_nobody_asked_for_is_no_success():
    spoilt = Action("", (ToolCall("create_booking", {"guest": "Ann", "day": "Tue"}),))
    rollout = episode(spoilt, FOUND, MOVED, TOLD).rollout()
    assert rollout.reward == 1.0
    assert rollout.success is False


def test_a_run_at_its_turn_limit_is_cut():
    looping = episode(*[FOUND] * Bookings.turn_limit)
    assert looping.stop is StopReason.CUT
    assert looping.rollout().stop is StopReason.CUT
    with pytest.raises(ValueError, match="is over"):
        looping.act(FOUND)


def test_a_run_still_going_on_is_cut_where_it_is_written_down():
    assert episode(FOUND).rollout().stop is StopReason.CUT


def test_a_run_that_failed_around_the_agent_is_invalid_and_has_no_outcome():
    rollout = episode(FOUND).rollout(problem="the endpoint failed")
    assert (rollout.stop, rollout.reward, rollout.success) == (StopReason.INVALID, None, None)


def test_a_rollout_comes_back_from_a_file_as_it_was(tmp_path):
    rollout = episode(FOUND, MOVED, TOLD).rollout()
    write_rollouts(tmp_path / "runs.jsonl", [rollout])
    (back,) = read(tmp_path / "runs.jsonl", "").rollouts
    assert (back.turns, back.meta, back.success) == (rollout.turns, rollout.meta, rollout.success)


def test_messages_are_read_back_as_the_turns_they_were_made_of():
    done = episode(FOUND, MOVED, TOLD)
    for objects in (False, True):
        found = read_messages(chat_messages(done.turns, done.observations, objects=objects), "")
        assert found.turns == tuple(done.turns)
        assert found.last_observations == done.observations


def test_results_answer_the_calls_that_were_made_and_arguments_are_json():
    messages = chat_messages(episode(FOUND, MOVED).turns)
    call = messages[2]["tool_calls"][0]
    assert messages[3]["tool_call_id"] == call["id"] == "call-0-0"
    assert json.loads(call["function"]["arguments"]) == {"guest": "Ann"}


def test_arguments_that_were_no_object_stay_the_text_they_were():
    turn = Turn((Observation("user", "hi"),), Action("", (ToolCall("f", "{broken"),)))
    (_, message) = chat_messages([turn])
    assert message["tool_calls"][0]["function"]["arguments"] == "{broken"
