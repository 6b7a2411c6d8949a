"""Inputs built by hand after promptfoo's EvaluateResult: `--repeat` gives each repeat a test index of its own."""

import json

import pytest

from likewise.core.group import group_rollouts
from likewise.core.rollout import Action, Observation, ToolCall
from likewise.formats import read_rollouts

PASSED = {"pass": True, "score": 1, "reason": "All assertions passed", "componentResults": [{"pass": True}]}
FAILED = {"pass": False, "score": 0, "reason": "Expected output to contain", "componentResults": [{"pass": False}]}


def row(index, output="Bonjour", passed=True, **more):
    return {
        "id": f"row-{index}",
        "testIdx": index,
        "promptIdx": 0,
        "promptId": "p0",
        "vars": {"word": "hello"},
        "testCase": {"vars": {"word": "hello"}, "assert": [{"type": "contains", "value": "jour"}]},
        "prompt": {"raw": "Translate hello.", "label": "Translate {{word}}."},
        "provider": {"id": "acme:one", "label": ""},
        "response": {"output": output, "cached": False},
        "success": passed,
        "failureReason": 0 if passed else 1,
        "error": None if passed else "Expected output to contain",
        "score": 1 if passed else 0,
        "gradingResult": PASSED if passed else FAILED,
    } | more


def export(*rows):
    return {
        "evalId": "eval-1",
        "results": {"version": 3, "timestamp": "t", "prompts": [], "results": list(rows), "stats": {}},
    }


@pytest.mark.parametrize("shape", ["export", "results", "list", "lines"])
def test_repeats_of_a_test_are_runs_of_one_task_in_every_form_of_the_file(write, shape):
    rows = [row(0), row(1, "Salut", False)]
    content = {
        "export": export(*rows),
        "results": {"results": rows},
        "list": rows,
        "lines": "".join(json.dumps(each) + "\n" for each in rows),
    }[shape]
    found = read_rollouts(write("out.json", content))
    assert found.files[0][1] == "promptfoo"
    assert [(each.task_id, each.run_id, each.answer) for each in found] == [
        ("hello", "out#0", "Bonjour"),
        ("hello", "out#1", "Salut"),
    ]
    assert [(each.success, each.reward) for each in found] == [(True, 1.0), (False, 0.0)]
    first = found.rollouts[0]
    assert first.turns[0].observations == (Observation("user", "Translate hello."),)
    assert (first.meta["model"], first.meta["record_id"]) == ("acme:one", "row-0")


def test_issue_5947_nine_of_ten_repeats_are_ten_runs_and_nine_successes(write):
    (group,) = group_rollouts(read_rollouts(write("out.json", export(*(row(n, passed=n > 0) for n in range(10))))))
    assert (len(group.valid), sum(bool(each.success) for each in group.valid)) == (10, 9)


def test_issue_5947_repeats_out_of_the_cache_are_told(write):
    rows = [row(n, response={"output": "Bonjour", "cached": n > 0}) for n in range(3)]
    found = read_rollouts(write("out.json", export(*rows)))
    assert [each.meta.get("cached") for each in found] == [None, True, True]
    assert len(found) == 3
    assert any("cache" in warning for warning in found.warnings)


def test_each_cell_of_the_grid_is_a_task_of_its_own(write):
    rows = [row(0), row(0, provider={"id": "acme:two"}), row(0, prompt={"raw": "Say hello.", "label": "Say {{word}}."})]
    assert [each.task_id for each in read_rollouts(write("out.json", export(*rows)))] == [
        "hello [Translate {{word}}.] [acme:one]",
        "hello [Translate {{word}}.] [acme:two]",
        "hello [Say {{word}}.] [acme:one]",
    ]


@pytest.mark.parametrize(
    ("changes", "task"),
    [
        ({"testCase": {"description": "greets"}}, "greets"),
        ({"vars": {"a": "x", "b": {"c": 1}}}, 'a=x, b={"c":1}'),
        ({"vars": {}, "testCase": {}}, "Translate hello."),
    ],
)
def test_a_test_is_named_by_its_description_its_variables_or_its_prompt(write, changes, task):
    (rollout,) = read_rollouts(write("out.json", export(row(0, **changes))))
    assert rollout.task_id == task


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"failureReason": 2, "error": "429 rate limited", "response": {"error": "429 rate limited"}},
            "infra_error: 429 rate limited",
        ),
        ({"failureReason": 2, "error": "timeout", "response": None}, "infra_error: timeout"),
        ({"failureReason": None, "error": "fetch failed", "response": None}, "infra_error: fetch failed"),
        ({"response": {"output": ""}}, "no answer is recorded"),
        ({"response": None, "error": None}, "no answer is recorded"),
    ],
)
def test_an_error_of_the_provider_is_no_answer_of_the_agent(write, changes, problem):
    found = read_rollouts(write("out.json", export(row(0), row(1, passed=False, gradingResult=None, **changes))))
    assert [each.problem for each in found] == [None, problem]
    assert (found.rollouts[1].success, found.rollouts[1].reward) == (None, None)


def test_a_failed_assertion_is_a_verdict_and_not_an_error(write):
    (rollout,) = read_rollouts(write("out.json", export(row(0, passed=False))))
    assert (rollout.valid, rollout.success, rollout.reward) == (True, False, 0.0)


@pytest.mark.parametrize(
    "grading",
    [
        {"pass": True, "score": 1, "reason": "No assertions"},
        {
            "pass": False,
            "score": 0,
            "reason": "x",
            "componentResults": [{"pass": False, "metadata": {"graderError": True}}],
        },
    ],
    ids=["nothing to assert", "the grader failed"],
)
def test_issue_3264_a_verdict_that_nobody_reached_is_missing_and_not_zero(write, grading):
    (rollout,) = read_rollouts(write("out.json", export(row(0, gradingResult=grading))))
    assert (rollout.valid, rollout.success, rollout.reward) == (True, None, None)


@pytest.mark.parametrize(
    ("output", "action"),
    [
        (
            [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
            Action("", (ToolCall("f", {"a": 1}),)),
        ),
        ({"name": "f", "arguments": "{}"}, Action("", (ToolCall("f", {}),))),
        ({"b": 1, "a": 2}, Action('{"a":2,"b":1}')),
        (["x"], Action('["x"]')),
    ],
)
def test_outputs_that_are_no_text_are_calls_or_json(write, output, action):
    (rollout,) = read_rollouts(write("out.json", export(row(0, output))))
    assert rollout.actions == (action,)


def test_a_prompt_that_spells_a_chat_is_read_as_one_and_its_answers_are_prepared(write):
    chat = [
        {"role": "system", "content": "Be kind."},
        {"role": "assistant", "content": "Hi."},
        {"role": "user", "content": "Go."},
    ]
    (rollout,) = read_rollouts(write("out.json", export(row(0, prompt={"raw": json.dumps(chat), "label": "x"}))))
    assert [(o.source, o.text) for o in rollout.turns[0].observations] == [
        ("system", "Be kind."),
        ("assistant", "Hi."),
        ("user", "Go."),
    ]


def test_a_result_exported_twice_counts_once(write):
    first, second = write("a.json", export(row(0))), write("b.json", export(row(0), row(1, "Salut")))
    found = read_rollouts([first, second])
    assert [each.answer for each in found] == ["Bonjour", "Salut"]
    assert len(found.excluded) == 1


@pytest.mark.parametrize(
    ("record", "pointer"),
    [("text", "/results/results/1"), (row(1, vars={}, testCase={}, prompt={}), "/results/results/1/vars")],
)
def test_a_result_that_cannot_be_read_is_excluded_with_its_pointer(write, record, pointer):
    found = read_rollouts(write("out.json", export(row(0), record)))
    assert [item.pointer for item in found.excluded] == [pointer]
