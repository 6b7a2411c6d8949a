"""Broken files of every format: `inspect` answers with a summary or an error of ours, whatever bytes it gets."""

import json
import random

import pytest
from typer.testing import CliRunner

from likewise.cli.main import app

MESSAGES = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Cancel my trip."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "function": {"name": "get", "arguments": '{"id": 1}'}}],
    },
    {"role": "tool", "name": "get", "tool_call_id": "c", "content": "{}"},
    {"role": "assistant", "content": "Done \u00e9."},
    {"role": "user", "content": "###STOP###"},
]
TURN = {
    "observations": [{"source": "user", "text": "Hi.", "name": None}],
    "action": {"text": "Hello.", "tool_calls": [{"name": "get", "arguments": {"id": 1}}]},
}
RECORDS = {
    "native": [{"schema": "likewise.rollout/1", "task_id": "t", "run_id": run, "turns": [TURN]} for run in "12"],
    "tau-bench": [
        {"task_id": 1, "trial": trial, "reward": 1.0, "info": {"task": {}, "reward_info": {}}, "traj": MESSAGES}
        for trial in (0, 1)
    ],
    "tau2": {
        "info": {"git_commit": "a", "num_trials": 1, "agent_info": {"llm": "m"}, "environment_info": {}},
        "tasks": [],
        "simulations": [
            {
                "id": "s",
                "task_id": "1",
                "trial": 0,
                "termination_reason": "user_stop",
                "reward_info": {"reward": 1.0},
                "messages": MESSAGES,
            }
        ],
    },
    "openai-chat": [{"task_id": "t", "run_id": run, "messages": MESSAGES, "reward": 0.5} for run in "12"],
}
STRANGE = [None, True, -1, 1e308, 10**30, "", "x" * 300, "\ud800\x00", [], {}, [[]], [{}], {"": None}, float("nan")]


def places(value, found):
    """Every container inside a value, with each key of it."""
    for key, child in value.items() if isinstance(value, dict) else enumerate(value):
        found.append((value, key))
        if isinstance(child, dict | list):
            places(child, found)
    return found


def written(name, records):
    if name in ("tau-bench", "tau2") or not isinstance(records, list):
        return json.dumps(records).encode()
    return b"\n".join(json.dumps(record).encode() for record in records)


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
            container[key] = chance.choice(STRANGE)
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
def test_the_whole_files_can_be_read(tmp_path, name):
    path = tmp_path / "a.json"
    path.write_bytes(written(name, RECORDS[name]))
    result = CliRunner().invoke(app, ["inspect", str(path), "--strict", "--json"])
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["files"][0]["format"] == name


@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.parametrize("rounds", [40, pytest.param(3_000, marks=pytest.mark.slow)])
def test_a_broken_file_ends_in_a_summary_or_an_error_of_ours(tmp_path, name, rounds):
    chance, path = random.Random(f"{name} {rounds}"), tmp_path / "a.json"
    for number in range(rounds):
        how, data = mutated(chance, name)
        path.write_bytes(data)
        arguments = ["inspect", str(path), *chance.choice([[], ["--format", name]]), *chance.choice([[], ["--json"]])]
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code in (0, 3), (number, how, result.output, data[:3000])
        assert "Traceback" not in result.output
