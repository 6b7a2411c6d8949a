from __future__ import annotations

import fcntl
import json

import pytest

from likewise.formats.registry import read_rollouts
from llm_server import refused, said, serving

AGENT = """
def answer(messages, tools):
    assert tools[0]["function"]["name"] == "find_booking"
    return "Good morning."


def broken(messages, tools):
    raise RuntimeError("out of order")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "clerk_of_8.py").write_text(AGENT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_function_is_run_in_an_environment_and_its_runs_are_read_again(invoke, folder):
    command = ("collect", "--agent", "clerk_of_8:answer", "--runs", "2", "--out", "runs.jsonl", "--json")
    answer = invoke(*command, "--task", "ann_moves", "--task", "ben_cancels")
    assert answer.exit_code == 0, answer.stderr
    assert json.loads(answer.stdout) == {
        "schema": "likewise.collected/1", "out": "runs.jsonl", "made": 4, "found": 0, "failed": 0
    }  # fmt: skip
    runs = list(read_rollouts([folder / "runs.jsonl"]))
    assert sorted({run.task_id for run in runs}) == ["ann_moves", "ben_cancels"]
    assert [run.meta["progress"] for run in runs] == [[0.0, 0.0, 0.0, 0.0]] * 4
    again = invoke(*command, "--task", "ann_moves", "--task", "ben_cancels")
    assert json.loads(again.stdout)["found"] == 4
    assert json.loads(again.stdout)["made"] == 0


def test_an_endpoint_is_run_and_told_where_conversations_go(invoke, folder):
    with serving(lambda _: said("Good morning.")) as server:
        answer = invoke(
            "collect", "--endpoint", server.url, "--model", "m", "-k", "1", "--task", "ann_moves", "--out", "runs.jsonl"
        )
    assert answer.exit_code == 0, answer.stderr
    assert f"conversations are sent to {server.url}" in answer.stderr
    assert "runs.jsonl: 1 runs made, 0 were there, 0 of all failed" in answer.stdout
    assert server.requests[0].body["temperature"] == 1.0


def test_an_endpoint_that_refuses_the_key_is_a_backend_that_is_down(invoke, folder):
    with serving(lambda _: refused(401)) as server:
        answer = invoke("collect", "--endpoint", server.url, "--model", "m", "--out", "runs.jsonl", "-q")
    assert answer.exit_code == 4
    assert "Traceback" not in answer.stderr


def test_an_agent_that_always_fails_is_down_and_its_runs_are_kept(invoke, folder):
    answer = invoke("collect", "--agent", "clerk_of_8:broken", "--out", "runs.jsonl", "--parallel", "1", "-q")
    assert answer.exit_code == 4
    assert "3 runs in a row failed" in answer.stderr
    assert len((folder / "runs.jsonl").read_text().splitlines()) == 3


WORLDS = """
from likewise.training.environments.bookings import Bookings

class Stumbles(Bookings):
    name = "stumbles-1"
    def step(self, action):
        return {}["room"]

class Shut(Bookings):
    name, made = "shut-1", False
    def __init__(self):
        super().__init__()
        self.made = True
    def reset(self, task_id):
        return {}["door"] if self.made else super().reset(task_id)

class Unmade(Bookings):
    def __init__(self):
        raise OSError("no rooms")

class Taskless(Bookings):
    tasks = ()
"""


def test_where_no_run_succeeded_the_command_fails_and_says_whose_fault_it_is(invoke, folder):
    (folder / "worlds_of_8.py").write_text(WORLDS)
    command = ("collect", "--runs", "1", "--task", "ann_moves", "--agent")
    answer = invoke(*command, "clerk_of_8:answer", "--env", "worlds_of_8:Stumbles", "--out", "a.jsonl")
    assert answer.exit_code == 4
    assert "a.jsonl: 1 runs made, 0 were there, 1 of all failed" in answer.stdout
    assert "no run succeeded; the environment failed at turn 0: KeyError: 'room' (worlds_of_8.py" in answer.stderr
    answer = invoke(*command, "clerk_of_8:broken", "--out", "b.jsonl", "--json")
    assert answer.exit_code == 4
    assert json.loads(answer.stdout)["failed"] == 1
    assert "no run succeeded; the agent failed at turn 0: RuntimeError: out of order" in answer.stderr


@pytest.mark.parametrize(
    ("world", "told"),
    [
        ("Shut", "shut-1: the environment cannot begin task 'ann_moves': KeyError: 'door' (worlds_of_8.py, line 15)"),
        ("Unmade", "the environment fails when it is made: OSError: no rooms (worlds_of_8.py, line 19)"),
        (
            "Taskless",
            "worlds_of_8:Taskless: the environment fails when it is made: IndexError: tuple index out of range",
        ),
    ],
)
def test_an_environment_that_cannot_be_used_is_the_users_to_mend(invoke, folder, world, told):
    (folder / "worlds_of_8.py").write_text(WORLDS)
    answer = invoke(
        "collect",
        "--agent",
        "clerk_of_8:answer",
        "--env",
        f"worlds_of_8:{world}",
        "--task",
        "ann_moves",
        "-o",
        "a.jsonl",
    )
    assert answer.exit_code == 2
    assert told in " ".join(answer.stderr.replace("│", " ").split())
    assert "fault of likewise" not in answer.stderr


def test_a_file_that_another_collection_is_adding_to_is_refused(invoke, folder):
    with (folder / "runs.jsonl").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        answer = invoke("collect", "--agent", "clerk_of_8:answer", "-k", "1", "--out", "runs.jsonl")
    assert answer.exit_code == 3
    assert "runs.jsonl: another collection is adding to this file" in answer.stderr
    assert (folder / "runs.jsonl").read_text() == ""


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((), "name the agent by --agent, or by --endpoint"),
        (("--agent", "a:b", "--endpoint", "http://x/v1"), "name the agent by --agent, or by --endpoint"),
        (("--endpoint", "http://x/v1"), "--endpoint and --model belong together"),
        (("--agent", "clerk_of_8:nobody"), "has no attribute 'nobody'"),
        (("--agent", "clerk_of_8:answer", "--env", "chess"), "'chess' is no environment"),
        (("--agent", "clerk_of_8:answer", "--task", "zoe"), "has no task 'zoe'"),
        (("--endpoint", "localhost", "--model", "m"), "is no endpoint's URL"),
    ],
)
def test_what_cannot_be_done_is_said(invoke, folder, options, told):
    answer = invoke("collect", "--out", "runs.jsonl", *options)
    assert answer.exit_code == 2
    assert told in " ".join(answer.stderr.replace("│", " ").split())
    assert not (folder / "runs.jsonl").exists()


def test_a_file_of_something_else_is_left_alone(invoke, folder):
    (folder / "notes.txt").write_text("milk\n")
    answer = invoke("collect", "--agent", "clerk_of_8:answer", "--out", "notes.txt")
    assert answer.exit_code == 3
    assert (folder / "notes.txt").read_text() == "milk\n"
