from __future__ import annotations

import pytest

from likewise.core.rollout import Action, Observation, StopReason, ToolCall
from likewise.training.completions import groups_of, read_completions
from training.batches import called, conversation, prompt, said, tool, user


def actions(completions, prompts=None, **columns):
    read = read_completions(prompts or [prompt()] * len(completions), completions, columns)
    return [completion.rollout.actions for completion in read]


def test_a_text_is_one_action_and_a_text_prompt_what_the_user_said():
    (completion,) = read_completions(["Cancel it."], ["Which one?"], {})
    assert completion.rollout.actions == (Action("Which one?"),)
    assert completion.rollout.turns[0].observations == (Observation("user", "Cancel it."),)


def test_messages_are_turns_with_what_was_observed_between_them():
    messages = [called("look_up", {"id": 7}), tool("found"), said("Here it is."), user("Thanks.")]
    (completion,) = read_completions([prompt()], [messages], {})
    first, second = completion.rollout.turns
    assert first.action.tool_calls == (ToolCall("look_up", {"id": 7}),)
    assert second.observations == (Observation("tool", "found", "look_up"),)
    assert completion.rollout.last_observations == (Observation("user", "Thanks."),)


def test_a_transcript_is_read_in_place_of_the_completion_where_it_is_given():
    assert actions([[said("a x b")], [said("c")]], transcript=[conversation("a", "b"), None]) == [
        (Action("a"), Action("b")),
        (Action("c"),),
    ]


def test_actions_of_the_prompt_are_history_and_not_scored():
    opening = [user("Hi"), said("How can I help?"), user("Cancel it.")]
    (completion,) = read_completions([opening], ["Which one?"], {})
    assert [turn.action.text for turn in completion.before] == ["How can I help?"]
    assert completion.rollout.actions == (Action("Which one?"),)


@pytest.mark.parametrize(
    "calls",
    [
        [{"function": {"name": "", "arguments": {}}}],
        [{"function": {"arguments": "{}"}}],
        ["cancel(7)"],
        {"name": "cancel"},
        [{"function": 7}],
    ],
)
def test_a_call_that_cannot_be_read_is_an_action_of_text_and_never_left_out(calls):
    message = {"role": "assistant", "content": "Now.", "tool_calls": calls}
    ((action,),) = actions([[message]])
    assert action.tool_calls == ()
    assert action.text.startswith("Now.\n")
    assert "tool_calls" in action.text


def test_arguments_that_do_not_parse_stay_an_action_with_their_raw_text():
    ((action,),) = actions([[called("cancel", '{"id": 7')]])
    assert action.tool_calls == (ToolCall("cancel", '{"id": 7'),)


def test_content_that_no_chat_has_is_still_the_action_of_the_policy():
    ((action,),) = actions([[{"role": "assistant", "content": 7}]])
    assert action.text.startswith("7")


def test_a_limit_cuts_a_run_and_an_end_does_not():
    read = read_completions([prompt()] * 3, ["a", "b", "c"], {"stop": ["cut", "finished", None]})
    assert [each.rollout.stop for each in read] == [StopReason.CUT, StopReason.FINISHED, StopReason.FINISHED]


def test_siblings_have_one_prompt_and_one_task():
    prompts = [prompt(), prompt("Other"), prompt(), prompt()]
    read = read_completions(prompts, ["a"] * 4, {"task_id": ["1", "1", "1", "2"]})
    assert groups_of([each.key for each in read]) == [[0, 2], [1], [3]]


@pytest.mark.parametrize(
    ("prompts", "completions", "columns", "sentence"),
    [
        ([prompt()], ["a", "b"], {}, "2 completion"),
        ([prompt()], ["a"], {"stop": ["cut", "cut"]}, "column 'stop' has 2 entries for 1"),
        ([prompt()], ["a"], {"stop": ["limit"]}, "'finished' or 'cut', got 'limit'"),
        ([prompt()], [7], {}, "completion 0 is neither a text nor a list of messages, but int"),
        ([[{"role": "robot", "content": "x"}]], ["a"], {}, "completion 0 with its prompt: .*unknown role 'robot'"),
    ],
)
def test_what_no_policy_wrote_is_refused_with_its_place(prompts, completions, columns, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_completions(prompts, completions, columns)
