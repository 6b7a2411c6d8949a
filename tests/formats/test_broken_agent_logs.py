"""Broken files of the formats of agents' own logs: reading ends in rollouts, exclusions or an error of ours."""

import contextlib
import copy
import json
import random
import time

import pytest

from likewise.core.errors import LikewiseError
from likewise.formats import read_rollouts, registry, summarise

USE = {"type": "tool_use", "id": "c", "name": "get", "input": {"id": 1}}
GAVE = {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "x"}]}
ASK = {"role": "user", "content": "Where?"}
CLAUDE = {"sessionId": "s", "uuid": "u", "timestamp": "2026-01-01T10:00:00Z", "slug": "calm"}
ANSWER = {
    "id": "m",
    "role": "assistant",
    "model": "a",
    "stop_reason": "end_turn",
    "content": [USE, {"type": "text", "text": "x"}],
}
OUTPUT = [
    {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]},
]
ROW = {
    "promptIdx": 0,
    "testIdx": 0,
    "vars": {"a": "b"},
    "prompt": {"raw": "Q", "label": "l"},
    "provider": {"id": "p"},
    "response": {"output": "x", "cached": True},
    "gradingResult": {"pass": True, "reason": "r", "componentResults": [{"metadata": {}}]},
    "success": True,
    "score": 1,
    "failureReason": 0,
}
STEP = {"step_id": 1, "source": "user", "message": "Go."}
ACTED = {
    "step_id": 2,
    "source": "agent",
    "message": "x",
    "tool_calls": [{"tool_call_id": "c", "function_name": "f", "arguments": {"a": 1}}],
    "observation": {
        "results": [{"source_call_id": "c", "content": "y", "subagent_trajectory_ref": [{"trajectory_path": "z"}]}]
    },
}
RECORDS = {
    "claude-code": [
        CLAUDE | {"type": "user", "message": ASK},
        CLAUDE | {"type": "assistant", "message": ANSWER},
        CLAUDE | {"type": "user", "message": {"role": "user", "content": [GAVE]}},
        {"type": "summary", "summary": "x", "leafUuid": "u"},
    ],
    "atif": {
        "schema_version": "ATIF-v1.5",
        "agent": {"name": "a"},
        "steps": [STEP, ACTED],
        "continued_trajectory_ref": "b.json",
    },
    "swe-agent": {
        "trajectory": [{"action": "ls", "observation": "x", "thought": "t", "response": "r"}],
        "history": [{"role": "user", "content": "Q", "agent": "m"}],
        "info": {"exit_status": "submitted", "submission": "d"},
        "replay_config": {"problem_statement": {"id": "i"}, "agent": {"model": {"name": "m"}}},
    },
    "langchain-steps": {
        "task_id": "1",
        "framework": "f",
        "status": "success",
        "metadata": {"error": "x"},
        "steps": [
            {"type": "llm", "name": "n", "input": "[a]", "output": "x", "metadata": {"model": "m"}},
            {"type": "tool", "name": "t", "input": "{'a': 1}", "output": "y"},
        ],
    },
    "promptfoo": {"evalId": "e", "results": {"version": 3, "results": [ROW, ROW]}},
    "toolsandbox": {
        "per_scenario_results": [
            {
                "name": "a",
                "exception_type": "E",
                "traceback": "t",
                "similarity": 0,
                "milestone_mapping": {"0": [1, 1.0]},
            }
        ]
    },
    "uqlm": {
        "data": {"prompts": ["a"], "responses": ["b"], "sampled_responses": [["c"]], "score": [1.0]},
        "metadata": {},
    },
    "openai-responses": [
        {"task_id": "t", "request": {"input": [ASK]}, "response": {"object": "response", "id": "r", "output": OUTPUT}},
        {
            "task_id": "t",
            "request": {"input": "x", "previous_response_id": "r"},
            "response": {"object": "response", "output": OUTPUT},
        },
    ],
    "anthropic-messages": [
        {"task_id": "t", "request": {"messages": [ASK], "system": "s"}, "response": ANSWER},
        {"custom_id": "t-run-1", "result": {"type": "errored", "error": {"message": "x"}}},
    ],
    "table": [
        {"task_id": "t", "response": "x", "run": 1, "score": 0.5, "success": True, "cached": False, "model": "m"}
    ],
}
STRANGE = [None, True, -1, 1e308, 10**30, "", "x" * 300, "\ud800\x00", [], {}, [[]], [{}], {"": None}, float("nan")]
ON_LINES = ("claude-code", "openai-responses", "anthropic-messages", "table")


@pytest.fixture(autouse=True)
def no_plugins(monkeypatch):
    """Looking for formats of other packages takes longer than reading these files."""
    monkeypatch.setattr(registry, "entry_points", lambda group: [])


def places(value, found):
    for key, child in value.items() if isinstance(value, dict) else enumerate(value):
        found.append((value, key))
        if isinstance(child, dict | list):
            places(child, found)
    return found


def written(name, records):
    if name in ON_LINES and isinstance(records, list):
        return b"\n".join(json.dumps(record).encode() for record in records)
    return json.dumps(records).encode()


def mutated(chance, name):
    """The bytes of a file of the format, with one thing (or three) wrong."""
    records = json.loads(json.dumps(RECORDS[name]))
    how = chance.choice(["flip", "cut", "swap", "drop", "deepen", "several"])
    for _ in range(3 if how == "several" else 1):
        found = places(records, [])
        if not found:
            break
        container, key = chance.choice(found)
        if how in ("swap", "several"):
            container[key] = copy.deepcopy(chance.choice(STRANGE))
        elif how == "drop":
            del container[key]
    data = bytearray(written(name, records))
    if how == "flip":
        for _ in range(chance.randint(1, 8)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif how == "cut":
        del data[chance.randrange(len(data)) :]
    elif how == "deepen":
        at, depth = data.find(b": ", chance.randrange(len(data) // 2)) + 2, chance.choice([50, 2_000, 100_000])
        data[at:at] = chance.choice([b"[", b'{"a":']) * depth
    return how, bytes(data)


@pytest.mark.parametrize("name", RECORDS)
def test_the_whole_files_are_recognised_and_read(write, name):
    path = write("a.jsonl" if name in ON_LINES else "a.json", written(name, RECORDS[name]))
    found = read_rollouts(path, strict=True)
    assert found.files == ((str(path), name),)
    assert len(found) >= 1


@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.parametrize("rounds", [40, pytest.param(3_000, marks=pytest.mark.slow)])
def test_a_broken_file_ends_in_rollouts_or_an_error_of_ours(tmp_path, name, rounds):
    chance, path = random.Random(f"{name} {rounds}"), tmp_path / "a.json"
    for number in range(rounds):
        how, data = mutated(chance, name)
        path.write_bytes(data)
        start = time.perf_counter()
        try:
            found = read_rollouts(path, format=chance.choice([None, name]))
        except LikewiseError:
            continue
        finally:
            assert time.perf_counter() - start < 10, (number, how, data[:3000])
        json.dumps(summarise(found))
        assert len(found) + len(found.excluded) + len(found.warnings) >= 1, (number, how, data[:3000])


@pytest.mark.parametrize("rounds", [200, pytest.param(20_000, marks=pytest.mark.slow)])
def test_a_broken_table_ends_in_rollouts_or_an_error_of_ours(tmp_path, rounds):
    chance, path = random.Random(rounds), tmp_path / "a.csv"
    whole = b'task,response,score\nt,"x, ""y""",1\nt,z,0.5\n\nu,"two\nlines",\n'
    for _ in range(rounds):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 6)):
            data[chance.randrange(len(data))] = chance.choice(b'",;\t\n\r\x00\xffa')
        path.write_bytes(bytes(data))
        with contextlib.suppress(LikewiseError):
            read_rollouts(path)
