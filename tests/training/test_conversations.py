from __future__ import annotations

from dataclasses import replace

import pytest

from likewise.core.rollout import Action, StopReason, ToolCall
from likewise.training.conversations import as_dataset, conversations, states
from likewise.training.environments.bookings import Bookings
from likewise.training.episode import Episode


def run(*actions, run_id="0"):
    episode = Episode(Bookings(), "ann_moves", run_id)
    for action in actions:
        episode.act(action)
    return episode.rollout()


FOUND = Action("", (ToolCall("find_booking", {"guest": "Ann"}),))
MOVED = Action("", (ToolCall("move_booking", {"booking_id": "B1", "day": "Fri"}),))
GOOD, POOR = run(FOUND, MOVED, Action("B1 is now on Fri.")), run(FOUND, Action("Hm."), run_id="1")


def test_only_successful_runs_are_learned_unless_asked_otherwise():
    assert len(conversations([GOOD, POOR])) == 1
    assert len(conversations([GOOD, POOR], successful=False)) == 2


def test_runs_without_outcome_are_not_taken_for_successful_ones():
    assert conversations([replace(GOOD, success=None)]) == []


def test_invalid_runs_are_never_learned():
    failed = replace(POOR, stop=StopReason.INVALID, problem="down", success=None)
    assert conversations([failed], successful=False) == []
    assert states([failed]) == []


def test_a_conversation_ends_with_what_the_agent_did():
    (row,) = conversations([GOOD])
    assert [each["role"] for each in row["messages"]] == [
        "system", "user", "assistant", "tool", "assistant", "tool", "assistant"
    ]  # fmt: skip


def test_states_are_what_the_agent_acted_from_each_once():
    rows = states([GOOD, POOR])
    assert [len(row["prompt"]) for row in rows] == [2, 4, 6]
    assert all(row["prompt"][-1]["role"] in ("user", "tool") for row in rows)
    assert {row["task_id"] for row in rows} == {"ann_moves"}


def test_a_state_knows_how_far_its_run_had_come_where_the_log_says_so():
    curve = GOOD.meta["progress"]
    assert curve[0] < curve[2]  # the move is a sub-goal
    assert [row["reached"] for row in states([GOOD])] == curve[:3]
    assert [row["reached"] for row in states([replace(GOOD, meta={})])] == [None] * 3


@pytest.mark.torch
def test_a_data_set_gives_messages_back_as_they_were():
    rows = conversations([GOOD])
    assert as_dataset(rows)[0] == rows[0]
    assert as_dataset(states([GOOD]))[2] == states([GOOD])[2]
    assert as_dataset(states([replace(GOOD, meta={})]))[0]["reached"] is None
