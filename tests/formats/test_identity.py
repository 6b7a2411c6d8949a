"""Copies of generations are noted while runs pass by. Copied files and records: test_registry.py."""

from dataclasses import replace

import pytest

from likewise.core.rollout import Action, Rollout, StopReason, ToolCall, Turn
from likewise.formats.identity import CACHED, Identities


def run(run_id, text="Hello.", task="t", **meta):
    return Rollout(task, run_id, (Turn((), Action(text)),), path="a.json", meta=meta)


@pytest.fixture
def passed():
    """Let runs pass; gives those that stay, what was left out, and the warnings."""

    def _passed(*runs):
        excluded, warnings = [], []
        identities = Identities(excluded.extend, warnings)
        kept = [each for each in map(identities.admit, runs) if each is not None]
        identities.finish()
        return kept, excluded, warnings

    return _passed


def test_runs_with_answers_of_their_own_pass_as_they_are(passed):
    runs = [run("1", response_ids=["a", "b"]), run("2", response_ids=["c"]), run("3")]
    assert passed(*runs) == (runs, [], [])


def test_a_run_that_shares_a_response_id_with_an_earlier_one_is_noted_and_kept(passed):
    kept, excluded, warnings = passed(
        run("1", response_ids=["a", "b"]),
        run("2", response_ids=["x"]),
        run("3", response_ids=["y", "b"], started="1", ended="2"),
        run("4", response_ids=["y"]),
    )
    assert [each.notes for each in kept] == [
        (),
        (),
        ("the same generation as run '1' (same response id)",),
        ("the same generation as run '3' (same response id)",),
    ]
    assert excluded == []
    assert warnings == [
        "2 runs hold a generation of an earlier run (same response id); a copy is not a repeat and makes an agent look "
        "consistent: task 't', runs '1' and '3'"
    ]


def test_a_response_id_may_return_within_a_run_and_in_another_task(passed):
    kept, _, warnings = passed(run("1", response_ids=["a", "a"]), run("1", task="u", response_ids=["a"]))
    assert [each.notes for each in kept] == [(), ()]
    assert warnings == []


def test_the_same_times_and_actions_are_a_copy_and_the_same_times_alone_are_not(passed):
    when = {"started": "2026-01-01T12:00:00.123Z", "ended": "2026-01-01T12:00:09.456Z"}
    kept, _, warnings = passed(run("1", **when), run("2", **when), run("3", "Other.", **when), run("4"))
    assert [each.notes for each in kept] == [(), ("the same generation as run '1' (same times and actions)",), (), ()]
    assert len(warnings) == 1


def test_ten_answers_from_a_cache_are_said_to_be_no_repeats(passed):
    kept, _, warnings = passed(run("0"), *(run(str(i), cached=True) for i in range(1, 10)))
    assert [each.notes for each in kept] == [(), *[(CACHED,)] * 9]
    assert warnings == [
        "9 runs hold answers that came from a cache; a copy is not a repeat and makes an agent look consistent: "
        "task 't', run '1'"
    ]


def test_a_note_that_is_there_already_is_not_written_again(passed):
    first = run("1", response_ids=["a"])
    noted, _, _ = passed(first, run("2", response_ids=["a"]))
    again, _, warnings = passed(*noted)
    assert again == noted
    assert len(warnings) == 1


def test_runs_that_failed_in_the_harness_are_no_copies(passed):
    broken = replace(run("1", response_ids=["a"]), stop=StopReason.INVALID, problem="infra_error: x")
    kept, _, warnings = passed(broken, run("2", response_ids=["a"]))
    assert (kept[1].notes, warnings) == ((), [])


@pytest.mark.parametrize("value", ["a", [1, None, ""], {"a": 1}, None, True])
def test_facts_of_the_wrong_type_say_nothing(passed, value):
    kept, _, warnings = passed(run("1", response_ids=value, cached=1), run("2", response_ids=value, cached="yes"))
    assert ([each.notes for each in kept], warnings) == ([(), ()], [])


def test_a_run_too_deep_to_be_compared_is_left_out(passed):
    deep: dict = {}
    for _ in range(100_000):
        deep = {"a": deep}
    kept, excluded, _ = passed(Rollout("t", "1", (Turn((), Action("", (ToolCall("f", deep),))),)), run("2"))
    assert [each.run_id for each in kept] == ["2"]
    assert [(each.run_id, each.reason) for each in excluded] == [("1", "nested too deeply")]
    while deep:  # let go of it level by level: the interpreter would go down all at once
        deep = deep.pop("a")
