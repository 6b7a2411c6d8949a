import json
import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.core.errors import RolloutFormatError
from likewise.core.rollout import Action, Observation, Rollout, StopReason, ToolCall, Turn
from likewise.formats import read_rollouts, write_rollouts


def paired(text):
    """Whether a high surrogate is followed by a low one: JSON has no other spelling for the character they make."""
    return any("\ud800" <= a <= "\udbff" and "\udc00" <= b <= "\udfff" for a, b in pairwise(text))


texts = st.text(st.characters(exclude_categories=()), max_size=12).filter(lambda text: not paired(text))
plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
values = st.recursive(plain, lambda v: st.lists(v, max_size=3) | st.dictionaries(texts, v, max_size=3), max_leaves=6)
objects = st.dictionaries(texts, values, max_size=3)
calls = st.builds(ToolCall, texts, objects | texts)
actions = st.builds(Action, texts, st.lists(calls, max_size=2).map(tuple))
observations = st.lists(st.builds(Observation, texts, texts, st.none() | texts), max_size=2).map(tuple)
turns = st.lists(st.builds(Turn, observations, actions), max_size=3).map(tuple)
rewards = st.none() | st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def rollouts(draw):
    stop = draw(st.sampled_from(StopReason))
    return Rollout(
        task_id=draw(texts),
        run_id=draw(texts),
        turns=draw(turns if stop is StopReason.INVALID else turns.filter(len)),  # without any, a run is invalid
        stop=stop,
        reward=draw(rewards),
        success=draw(st.none() | st.booleans()),
        problem=draw(texts) if stop is StopReason.INVALID else None,
        notes=tuple(draw(st.lists(texts, max_size=2))),
        meta=draw(objects),
        last_observations=draw(observations),
    )


def without_path(rollout):
    return repr(Rollout(**{name: getattr(rollout, name) for name in rollout.__slots__} | {"path": ""}))


@settings(max_examples=100, deadline=None)
@given(st.lists(rollouts(), min_size=1, max_size=3, unique_by=lambda r: (r.task_id, r.run_id)))
def test_what_is_written_is_what_is_read(tmp_path_factory, written):
    path = tmp_path_factory.mktemp("native") / "runs.jsonl"
    write_rollouts(path, written)
    found = read_rollouts(path)
    assert [without_path(rollout) for rollout in found] == [without_path(rollout) for rollout in written]
    assert {rollout.path for rollout in found} == {str(path)}
    assert (found.excluded, found.files) == ((), ((str(path), "native"),))


def example():
    call = ToolCall("get", {"id": 1})
    return Rollout("t", "r", (Turn((Observation("user", "Hi.\ud800\x00"),), Action("Hello.", (call,))),), reward=1.0)


def test_a_line_has_the_documented_keys(tmp_path):
    path = tmp_path / "runs.jsonl"
    write_rollouts(path, [example()])
    assert json.loads(path.read_text()) == {
        "schema": "likewise.rollout/1",
        "task_id": "t",
        "run_id": "r",
        "turns": [
            {
                "observations": [{"source": "user", "text": "Hi.\ud800\x00", "name": None}],
                "action": {"text": "Hello.", "tool_calls": [{"name": "get", "arguments": {"id": 1}}]},
            }
        ],
        "stop": "finished",
        "reward": 1.0,
        "success": None,
        "problem": None,
        "notes": [],
        "meta": {},
        "last_observations": [],
    }


def test_a_run_in_which_the_agent_never_acted_is_invalid_and_agrees_with_no_other(write):
    line = {"schema": "likewise.rollout/1", "task_id": "t", "turns": [], "reward": 1.0, "success": True}
    seen = [{"source": "user", "text": "Hi."}]
    records = [line | {"run_id": "1"}, line | {"run_id": "2", "last_observations": seen}]
    found = read_rollouts(write("a.jsonl", "".join(json.dumps(each) + "\n" for each in records)))
    assert [(each.problem, each.reward, each.success) for each in found] == [
        ("no messages", None, None),
        ("no action of the agent", None, None),
    ]
    assert [each.meta for each in found] == [{"logged_reward": 1.0}] * 2


@pytest.mark.parametrize("levels", [100, 101, 600])
def test_facts_nested_more_than_100_levels_deep_are_refused_with_their_place_and_never_written(write, tmp_path, levels):
    line = '{"schema": "likewise.rollout/1", "task_id": "t", "run_id": "r", "turns": [], "meta": META}\n'
    meta = '{"a": ' + "[" * (levels - 1) + "]" * (levels - 1) + "}"  # the object itself is the first level
    found = read_rollouts(write("a.jsonl", line.replace("META", meta)))
    reason = f"nested too deeply: {levels} levels (expected at most 100, or a string)"
    assert [(each.pointer, each.reason) for each in found.excluded] == ([("/meta", reason)] if levels > 100 else [])
    deep = Rollout("t", "r", (Turn((), Action("x")),), meta=json.loads(meta))
    if levels > 100:
        with pytest.raises(RolloutFormatError, match=f"its meta is nested {levels} levels deep"):
            write_rollouts(tmp_path / "b.jsonl", [deep])
        assert not (tmp_path / "b.jsonl").exists()
    else:
        assert write_rollouts(tmp_path / "b.jsonl", [deep]) == 1


def test_a_string_of_arguments_stays_a_string_even_where_it_would_parse(tmp_path):
    rollout = Rollout("t", "r", (Turn((), Action("", (ToolCall("get", '{"id": 1}'),))),))
    write_rollouts(tmp_path / "runs.jsonl", [rollout])
    assert read_rollouts(tmp_path / "runs.jsonl").rollouts[0].actions[0].tool_calls[0].arguments == '{"id": 1}'


def test_lines_with_sorted_keys_and_little_else_are_recognised(write):
    path = write("a.jsonl", '{"run_id": "r", "schema": "likewise.rollout/1", "task_id": "t", "turns": []}\n')
    found = read_rollouts(path)
    assert found.files == ((str(path), "native"),)
    nothing = {"stop": StopReason.INVALID, "problem": "no messages"}  # the agent never acted
    assert found.rollouts == (Rollout("t", "r", (), path=str(path), **nothing),)


def test_a_newer_schema_is_refused_by_name(write):
    path = write("a.jsonl", '{"schema": "likewise.rollout/2", "task_id": "t"}\n')
    with pytest.raises(RolloutFormatError, match=r"line 1, at /schema: schema 'likewise.rollout/2' is not known"):
        read_rollouts(path)


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"turns": None}, "/turns"),
        ({"turns": [3]}, "/turns/0"),
        ({"turns": [{}]}, "/turns/0/action"),
        ({"turns": [{"action": {"text": 3}}]}, "/turns/0/action/text"),
        ({"turns": [{"action": {"tool_calls": [{"arguments": {}}]}}]}, "/turns/0/action/tool_calls/0/name"),
        (
            {"turns": [{"action": {"tool_calls": [{"name": "a", "arguments": []}]}}]},
            "/turns/0/action/tool_calls/0/arguments",
        ),
        ({"turns": [{"action": {}, "observations": [{"text": "a"}]}]}, "/turns/0/observations/0/source"),
        ({"task_id": 3}, "/task_id"),
        ({"run_id": None}, "/run_id"),
        ({"stop": "exploded"}, "/stop"),
        ({"stop": ["finished"]}, "/stop"),
        ({"stop": "invalid"}, "/problem"),
        ({"problem": "why"}, "/problem"),
        ({"success": "yes"}, "/success"),
        ({"notes": ["a", 1]}, "/notes/1"),
        ({"meta": []}, "/meta"),
        ({"last_observations": {}}, "/last_observations"),
        ({"schema": "other"}, "/schema"),
    ],
)
def test_a_line_with_a_wrong_field_is_excluded_with_its_pointer(write, change, pointer):
    good = {"schema": "likewise.rollout/1", "task_id": "t", "run_id": "r", "turns": []}
    path = write("a.jsonl", json.dumps(good) + "\n" + json.dumps(good | {"run_id": "bad"} | change) + "\n")
    found = read_rollouts(path)
    assert [rollout.run_id for rollout in found] == ["r"]
    assert [(item.line, item.pointer) for item in found.excluded] == [(2, pointer)]
    with pytest.raises(RolloutFormatError, match=f"line 2, at {pointer}"):
        read_rollouts(path, strict=True)


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "1e999", "1" + "0" * 400])
def test_a_reward_that_is_not_finite_is_missing_with_a_note(write, literal):
    line = '{"schema": "likewise.rollout/1", "task_id": "t", "run_id": "r", "turns": [], "reward": LITERAL}\n'.replace(
        "LITERAL", literal
    )
    (rollout,) = read_rollouts(write("a.jsonl", line))
    assert rollout.reward is None
    assert rollout.notes == ("reward that is not a finite number",)


def test_writing_fails_whole_and_leaves_the_old_file(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text("old")
    deep = {}
    for _ in range(100_000):
        deep = {"a": deep}
    bad = Rollout("t", "deep", (Turn((), Action("", (ToolCall("get", deep),))),))
    with pytest.raises(RolloutFormatError, match="run 'deep' of task 't' cannot be written"):
        write_rollouts(path, [example(), bad])
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["runs.jsonl"]


def test_nan_in_arguments_survives(tmp_path):
    rollout = Rollout("t", "r", (Turn((), Action("", (ToolCall("get", {"x": math.nan}),))),))
    write_rollouts(tmp_path / "a.jsonl", [rollout])
    (found,) = read_rollouts(tmp_path / "a.jsonl")
    assert math.isnan(found.actions[0].tool_calls[0].arguments["x"])


def test_a_file_is_replaced_whole_and_nothing_else_is_left_behind(tmp_path):
    path = tmp_path / "runs.jsonl"
    for _ in range(2):
        write_rollouts(path, [example()])
    assert len(read_rollouts(path)) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["runs.jsonl"]


def test_writing_into_a_missing_folder_is_the_system_s_own_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_rollouts(tmp_path / "gone" / "runs.jsonl", [example()])


def test_arguments_that_would_not_be_read_back_are_not_written(tmp_path):
    deep = {"a": 1}
    for _ in range(100):
        deep = {"a": deep}
    rollout = Rollout("t", "0", (Turn((), Action(tool_calls=(ToolCall("f", deep),))),))
    with pytest.raises(RolloutFormatError, match="arguments of 'f' are nested 101 levels deep, at most 100"):
        write_rollouts(tmp_path / "a.jsonl", [rollout])
