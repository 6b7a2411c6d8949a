"""The exports are built by hand in the form of Langfuse; the real files are read in tests/test_data_traces.py."""

import json

import pytest

from likewise.core.errors import RolloutFormatError, UnknownFormatError
from likewise.core.rollout import Action, Observation, StopReason, ToolCall, Turn
from likewise.formats import read_rollouts


def at(second):
    return f"2026-01-01T12:00:{second:06.3f}Z"


def observation(identity, kind, second, given=None, gave=None, parent="root", **more):
    """One observation; input and output are JSON in a string, as Langfuse writes them."""
    text = [json.dumps(each) if each is not None else None for each in (given, gave)]
    return {
        "id": identity,
        "traceId": "trace-1",
        "parentObservationId": parent,
        "type": kind,
        "name": identity,
        "startTime": at(second),
        "endTime": at(second + 0.5),
        "input": text[0],
        "output": text[1],
        "metadata": "{}",
        "model": "gpt-4o" if kind == "GENERATION" else None,
        "level": "DEFAULT",
        "statusMessage": None,
        "toolCalls": [],
        "toolCallNames": [],
    } | more


ASKED = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Weather in Oslo?"}]
CALL = {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"city": "Oslo"}'}}
CALLED = {"id": "chatcmpl-1", "choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [CALL]}}]}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "cold"}
ANSWER = {"id": "chatcmpl-2", "choices": [{"message": {"role": "assistant", "content": "It is cold."}}]}
OBSERVATIONS = [
    observation("second", "GENERATION", 3, [*ASKED, {"role": "assistant", "tool_calls": [CALL]}, RESULT], ANSWER),
    observation("root", "SPAN", 0.9, None, None, parent=None),
    observation("look", "TOOL", 2, {"city": "Oslo"}, "cold"),
    observation("first", "GENERATION", 1, ASKED, CALLED),
]
TURNS = (
    Turn(
        (Observation("system", "Be kind."), Observation("user", "Weather in Oslo?")),
        Action("", (ToolCall("look", {"city": "Oslo"}),)),
    ),
    Turn((Observation("tool", "cold", "look"),), Action("It is cold.")),
)


@pytest.fixture
def export():
    """A downloaded trace: {trace, observations}."""

    def _export(observations=OBSERVATIONS, **changes):
        trace = {
            "id": "trace-1",
            "projectId": "p",
            "name": "weather",
            "timestamp": at(0.9),
            "sessionId": "s",
            "userId": None,
            "tags": [],
            "input": json.dumps({"messages": ASKED}),
            "output": json.dumps("It is cold."),
            "metadata": "{}",
            "scores": [],
        }
        return {"trace": trace | changes, "observations": observations}

    return _export


@pytest.fixture
def read_one(write, export):
    def _read(*args, **changes):
        (rollout,) = read_rollouts(write("runs.json", export(*args, **changes)))
        return rollout

    return _read


def test_trap_42_and_43_a_trace_is_read_in_order_of_time_with_its_history_once(read_one):
    rollout = read_one()
    assert (rollout.task_id, rollout.run_id) == ("Weather in Oslo?", "runs#trace-1")
    assert rollout.turns == TURNS
    assert (rollout.stop, rollout.reward, rollout.success) == (StopReason.FINISHED, None, None)
    assert rollout.meta == {
        "record_id": "trace-1",
        "trace_name": "weather",
        "sessionId": "s",
        "model": "gpt-4o",
        "response_ids": ["chatcmpl-1", "chatcmpl-2"],
        "started": at(0.9),
        "ended": at(3.5),
    }


def inline(export):
    return {**export["trace"], "observations": export["observations"]}


def snake(row):
    names = {"traceId": "trace_id", "parentObservationId": "parent_observation_id", "startTime": "start_time"}
    names |= {"endTime": "end_time", "statusMessage": "status_message", "model": "provided_model_name"}
    return {names.get(key, key): value for key, value in row.items()} | {"trace_name": "weather"}


@pytest.mark.parametrize(
    "shape",
    [
        lambda e: json.dumps(e),
        lambda e: json.dumps(e, indent=2),
        lambda e: json.dumps([e]),
        lambda e: json.dumps(inline(e)),
        lambda e: json.dumps({"data": [inline(e)], "meta": {}}),
        lambda e: json.dumps({"id": "s", "traces": [inline(e)]}),
        lambda e: json.dumps(inline(e)) + "\n",
        lambda e: json.dumps(e["observations"]),
        lambda e: "\n".join(json.dumps(row) for row in e["observations"]),
        lambda e: json.dumps({"data": e["observations"], "meta": {"cursor": "x"}}),
        lambda e: "\n".join(json.dumps(snake(row)) for row in e["observations"]),
    ],
)
def test_the_shapes_of_download_api_and_blob_storage_hold_the_same_run(write, export, shape):
    path = write("runs.json", shape(export()))
    found = read_rollouts(path)
    assert found.files == ((str(path), "langfuse"),)
    assert [(rollout.turns, rollout.run_id) for rollout in found] == [(TURNS, "runs#trace-1")]
    assert found.excluded == ()


def test_input_and_output_may_be_json_and_times_without_a_zone(read_one):
    rows = [{**row, "startTime": row["startTime"].replace("T", " ").rstrip("Z")} for row in OBSERVATIONS]
    rows = [{**row, **{key: json.loads(row[key]) for key in ("input", "output") if row[key]}} for row in rows]
    assert read_one(rows).turns == TURNS


def test_trap_45_a_trace_exported_twice_counts_once_with_a_warning(write, export):
    paths = [write("a.json", export()), write("b.json", export(OBSERVATIONS[::-1], updatedAt="later"))]
    found = read_rollouts(paths)
    assert [rollout.run_id for rollout in found] == ["a#trace-1"]
    assert [item.reason for item in found.excluded] == [f"duplicate of run 'a#trace-1' in {paths[0]}"]
    assert "counted once" in found.warnings[0]


def test_issue_15935_two_traces_of_one_item_are_two_runs_of_it(write, export):
    second = [
        {**row, "traceId": "trace-2", "output": row["output"] and row["output"].replace("-", "-x")}
        for row in OBSERVATIONS
    ]
    lines = [json.dumps(export()), json.dumps(export(second, id="trace-2")).replace("T12:00", "T12:01")]
    found = read_rollouts(write("runs.jsonl", "\n".join(lines)))
    assert [(rollout.task_id, rollout.run_id) for rollout in found] == [
        ("Weather in Oslo?", "runs#trace-1"),
        ("Weather in Oslo?", "runs#trace-2"),
    ]
    assert found.warnings == ()


def test_a_trace_that_repeats_a_generation_of_another_is_noted(write, export):
    lines = [json.dumps(export()), json.dumps(export(id="trace-2"))]
    found = read_rollouts(write("runs.jsonl", "\n".join(lines)))
    assert found.rollouts[1].notes == ("the same generation as run 'runs#trace-1' (same response id)",)
    assert "a copy is not a repeat" in found.warnings[0]


@pytest.mark.parametrize("observations", [[], None, "[]", [3]])
def test_issue_6924_a_trace_without_observations_is_excluded_and_no_run_of_no_calls(write, export, observations):
    found = read_rollouts(write("runs.json", export(observations)))
    assert len(found) == 0
    ((item,),) = (found.excluded,)
    assert item.reason.startswith("the export holds the trace without its observations")
    assert item.pointer == "/observations"


def test_a_list_of_traces_without_observations_is_excluded_one_by_one(write, export):
    path = write("traces.json", [export()["trace"], export(id="trace-2")["trace"]])
    found = read_rollouts(path)
    assert (found.files, len(found)) == (((str(path), "langfuse"),), 0)
    assert [item.pointer for item in found.excluded] == ["/0/observations", "/1/observations"]


def test_a_trace_without_a_generation_is_excluded(write, export):
    found = read_rollouts(write("runs.json", export(OBSERVATIONS[1:3])))
    assert [item.reason for item in found.excluded] == ["no generation among the observations"]


def test_trap_47_null_input_and_output_say_nothing(read_one):
    rows = [*OBSERVATIONS, observation("empty", "SPAN", 2.2), observation("none", "GENERATION", 2.4, None, None)]
    rollout = read_one(rows)
    assert [turn.action.text for turn in rollout.turns] == ["", "It is cold."]
    assert rollout.notes == ("a model call without a recorded answer left out",)


def test_a_trace_whose_content_was_not_recorded_is_invalid_not_empty(read_one):
    rollout = read_one([observation("a", "GENERATION", 1), observation("b", "GENERATION", 2)])
    assert rollout.problem == "no text and no tool call of the agent is recorded"


def test_what_langfuse_itself_took_for_a_call_is_used_where_the_output_shows_none(read_one):
    row = observation("first", "GENERATION", 1, ASKED, "calling")
    row |= {"toolCalls": ['{"id": "c", "arguments": "{\\"city\\": \\"Oslo\\"}"}'], "toolCallNames": ["look"]}
    assert read_one([row]).actions == (Action("calling", (ToolCall("look", {"city": "Oslo"}),)),)


def test_instructions_that_only_the_answer_repeats_are_the_system_prompt(read_one):
    answer = {"object": "response", "instructions": "Be kind.", "output": [{"type": "message", "content": "Hi."}]}
    rollout = read_one([observation("a", "GENERATION", 1, [ASKED[1]], answer)])
    assert rollout.turns[0].observations == (Observation("system", "Be kind."), Observation("user", "Weather in Oslo?"))


def test_a_generation_that_failed_makes_the_run_invalid_by_its_message(read_one):
    row = observation("b", "GENERATION", 3, ASKED, None, level="ERROR", statusMessage="429 rate limit\nat ...")
    rollout = read_one([OBSERVATIONS[3], row])
    assert (rollout.stop, rollout.problem) == (StopReason.INVALID, "infra_error: 429 rate limit")


def test_a_trace_that_failed_before_any_generation_is_an_invalid_run(read_one):
    rollout = read_one([observation("root", "SPAN", 0, parent=None, level="ERROR", statusMessage="no API key")])
    assert (rollout.task_id, rollout.problem) == ("Weather in Oslo?", "infra_error: no API key")


def test_a_limit_of_the_agents_own_cuts_the_run(read_one):
    root = observation("root", "SPAN", 0, parent=None, level="ERROR", statusMessage="Recursion limit of 25 reached")
    rollout = read_one([root, OBSERVATIONS[3]])
    assert (rollout.stop, rollout.valid) == (StopReason.CUT, True)


# Tasks and scores


@pytest.mark.parametrize(
    ("changes", "task"),
    [
        ({"metadata": '{"task_id": 7}'}, "7"),
        ({"metadata": {"attributes": {"datasetItemId": "item"}}}, "item"),
        ({"input": json.dumps("Plain question")}, "Plain question"),
        ({"input": json.dumps({"other": 1})}, "Weather in Oslo?"),
        ({"input": None}, "Weather in Oslo?"),
    ],
)
def test_the_task_is_named_by_the_metadata_else_by_what_was_asked(read_one, changes, task):
    assert read_one(**changes).task_id == task


def test_a_trace_in_which_nobody_asked_is_named_by_its_name(read_one):
    rows = [observation("a", "GENERATION", 1, None, "Hello.")]
    assert read_one(rows, input=None).task_id == "weather"


@pytest.mark.parametrize(
    ("scores", "reward", "success"),
    [
        ([], None, None),
        ([{"name": "correctness", "value": 0.8, "dataType": "NUMERIC"}], 0.8, None),
        ([{"name": "success", "value": 1, "dataType": "BOOLEAN"}], None, True),
        ([{"name": "correct", "value": None, "stringValue": "False", "dataType": "BOOLEAN"}], None, False),
        ([{"name": "toxicity", "value": 1, "dataType": "NUMERIC"}, {"name": 3}, 4], None, None),
        ([{"name": "reward", "value": "much", "dataType": "CATEGORICAL"}], None, None),
    ],
)
def test_scores_give_reward_and_success_by_their_name_and_type(read_one, scores, reward, success):
    rollout = read_one(scores=scores)
    assert (rollout.reward, rollout.success) == (reward, success)


# What cannot be read


@pytest.mark.parametrize(
    ("row", "pointer"),
    [
        ({"startTime": None}, "/observations/0/startTime"),
        ({"startTime": "yesterday"}, "/observations/0/startTime"),
        ({"endTime": {}}, "/observations/0/endTime"),
        ({"id": None}, "/observations/0/id"),
    ],
)
def test_an_observation_with_a_wrong_type_excludes_its_trace_with_the_pointer(write, export, row, pointer):
    found = read_rollouts(write("runs.json", export([OBSERVATIONS[3] | row])))
    assert [item.pointer for item in found.excluded] == [pointer]


def test_a_trace_without_an_id_is_excluded(write, export):
    found = read_rollouts(write("runs.json", export(id=None)), format="langfuse")
    assert [item.pointer for item in found.excluded] == ["/trace/id"]


def test_a_broken_line_excludes_itself(write, export):
    found = read_rollouts(write("runs.jsonl", json.dumps(export()) + "\n" + json.dumps(export())[:-5] + "\n[3]\n"))
    assert len(found) == 1
    assert [(item.line, item.reason.split(":")[0]) for item in found.excluded] == [
        (2, "the JSON ends too early"),
        (3, "a number (expected an object)"),
    ]


def test_other_json_is_not_langfuses(write):
    with pytest.raises(UnknownFormatError):
        read_rollouts(write("a.json", {"trace": {"id": "x"}, "input": 1}))
    with pytest.raises(RolloutFormatError, match="a number"):
        read_rollouts(write("a.json", "3"), format="langfuse")
