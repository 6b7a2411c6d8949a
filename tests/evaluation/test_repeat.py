"""Running a callable agent several times."""

import asyncio
from itertools import count

import pytest

from likewise.core.errors import GroupError
from likewise.core.rollout import Rollout
from likewise.evaluation.repeat import rollout_of, run_repeatedly


def test_text_is_one_turn_after_the_question():
    rollouts = run_repeatedly(lambda query: query.upper(), "hi", 3, task_id="t")
    assert [rollout.run_id for rollout in rollouts] == ["1", "2", "3"]
    assert rollouts[0].actions[0].text == "HI"
    assert rollouts[0].turns[0].observations[0].text == "hi"


def test_messages_are_turns_with_their_tool_calls():
    call = {"id": "1", "type": "function", "function": {"name": "refund", "arguments": '{"order": 12}'}}
    messages = [
        {"role": "user", "content": "Refund 12"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "done"},
        {"role": "assistant", "content": "Refunded."},
    ]
    for output in (messages, {"messages": messages}):
        rollout = rollout_of(output, "q", "t", "1")
        assert rollout.actions[0].tool_calls[0].name == "refund"
        assert rollout.answer == "Refunded."


def test_a_rollout_is_taken_under_the_names_of_this_test():
    rollout = rollout_of(Rollout("other", "x", ()), "q", "t", "2")
    assert (rollout.task_id, rollout.run_id) == ("t", "2")


def test_a_run_that_raises_is_kept_as_invalid_never_as_an_empty_answer():
    number = count()

    def agent(query):
        if next(number) == 1:
            raise TimeoutError("no answer in 30 s")
        return "fine"

    rollouts = run_repeatedly(agent, "q", 3, task_id="t")
    assert [rollout.valid for rollout in rollouts] == [True, False, True]
    assert rollouts[1].problem == "TimeoutError: no answer in 30 s"


def test_all_runs_failing_is_an_error_that_names_each_cause_once():
    def agent(query):
        raise ValueError("bad key")

    with pytest.raises(GroupError, match=r"all 4 runs failed: ValueError: bad key$"):
        run_repeatedly(agent, "q", 4, task_id="t")


def test_coroutines_are_awaited_outside_and_inside_a_running_loop():
    async def agent(query):
        await asyncio.sleep(0)
        return "later"

    assert run_repeatedly(agent, "q", 2, task_id="t")[1].answer == "later"

    async def outer():
        return run_repeatedly(agent, "q", 2, task_id="t")

    assert asyncio.run(outer())[0].answer == "later"

    async def failing(query):
        raise ValueError("no")

    async def outer_failing():
        run_repeatedly(failing, "q", 2, task_id="t")

    with pytest.raises(GroupError, match="ValueError: no"):
        asyncio.run(outer_failing())


def test_outcomes_are_what_the_user_says():
    rollouts = run_repeatedly(lambda query: "yes", "q", 2, task_id="t", passes=lambda output: output == "yes")
    assert [rollout.success for rollout in rollouts] == [True, True]
    assert run_repeatedly(lambda query: "yes", "q", 2, task_id="t")[0].success is None


@pytest.mark.parametrize("output", [None, 7, b"x", {"text": "x"}, [{"role": "robot"}], ["x"]])
def test_what_is_no_run_is_a_type_error_not_a_run(output):
    with pytest.raises(TypeError, match="the agent gave"):
        run_repeatedly(lambda query: output, "q", 2, task_id="t")


def test_one_run_is_refused():
    with pytest.raises(ValueError, match="at least two, got k = 1"):
        run_repeatedly(lambda query: "x", "q", 1, task_id="t")
