import hashlib

import pytest

from likewise.core.rollout import Action, Observation, StopReason, Turn
from likewise.formats.assemble import FINISHED, Ending, assemble, broken, cut, read_chat, task_of
from likewise.formats.fields import FieldError
from likewise.formats.messages import Conversation

SPOKEN = Conversation((Turn((), Action("Yes.")),), (), ("first",))
SILENT = Conversation((Turn((), Action(" \n")),), (), ())
HEARD = Conversation((), (Observation("user", "Hi."),), ())
NOTHING = Conversation((), (), ())


def made(talk, ending=FINISHED, **more):
    return assemble("t", "r", talk, ending, path="p", **more)


def test_a_run_keeps_what_it_is_given_and_each_note_once():
    ending = Ending(StopReason.CUT, None, ("first", "second"))
    rollout = made(SPOKEN, ending, reward=0.5, success=True, meta={"a": 1})
    assert (rollout.stop, rollout.reward, rollout.success) == (StopReason.CUT, 0.5, True)
    assert rollout.notes == ("first", "second")
    assert rollout.meta == {"a": 1}


@pytest.mark.parametrize(
    ("talk", "problem"),
    [
        (NOTHING, "no messages"),
        (HEARD, "no action of the agent"),
        (SILENT, "no text and no tool call of the agent is recorded"),
    ],
)
def test_a_run_in_which_nobody_acted_is_invalid_and_not_an_empty_answer(talk, problem):
    rollout = made(talk, reward=0.0, success=False)
    assert (rollout.stop, rollout.problem) == (StopReason.INVALID, problem)
    assert (rollout.reward, rollout.success, rollout.meta) == (None, None, {"logged_reward": 0.0})


def test_an_error_of_the_harness_is_quoted_by_its_first_line_and_takes_the_reward_with_it():
    rollout = made(SPOKEN, broken("\n429 Too many\nat x"), reward=1, success=True)
    assert (rollout.problem, rollout.reward, rollout.success) == ("infra_error: 429 Too many", None, None)
    assert broken({"code": 1}).problem == "infra_error: an object"
    assert broken("").problem == "infra_error: without a message"


def test_a_reward_that_is_no_number_is_missing():
    assert made(SPOKEN, reward="high").notes == ("first", "reward that is not a number")
    assert cut("because").notes == ("because",)


def test_a_task_named_by_a_short_text_is_that_text_on_one_line():
    assert task_of("  What is\n2 + 2? ") == "What is 2 + 2?"


def test_a_task_named_by_a_long_text_keeps_both_ends_and_a_hash_of_the_whole():
    text = "a" * 39 + " " + "b" * 100 + " " + "c" * 39
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    assert task_of(text) == f"{'a' * 39} ... {'c' * 39} #{digest}"
    assert task_of(text.replace(" ", "\n  ")) == task_of(text)
    assert task_of(text.replace("b", "d")) != task_of(text)


def test_a_lone_surrogate_in_a_long_text_can_be_hashed():
    assert "#" in task_of("\ud800" * 200)


def test_errors_of_made_messages_point_to_what_they_were_made_of():
    chat = [({"role": "user", "content": "Hi."}, "/steps/0"), ({"role": "wizard", "content": ""}, "/steps/7")]
    with pytest.raises(FieldError) as caught:
        read_chat(chat)
    assert caught.value.pointer == "/steps/7"
    assert "wizard" in caught.value.problem
