"""`likewise run` and `likewise check`, as a user types them."""

from __future__ import annotations

import json

import pytest

AGENT = """
import os
calls = 0

def same(query):
    global calls
    calls += 1
    with open("calls.txt", "a") as file:
        file.write(str(query) + chr(10))
    return "Paris is the capital of France."

def clashing(query):
    global calls
    calls += 1
    return ["Drug X is safe.", "Drug X is not safe."][calls % 2]

def failing(query):
    raise ValueError("no such thing")

async def slow(query):
    import anyio
    await anyio.sleep(30)

number = 3
"""


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """A folder of its own with a module of agents in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(__import__("sys").modules, "my_agents", raising=False)
    (tmp_path / "my_agents.py").write_text(AGENT)
    return tmp_path


def verdicts(result):
    return json.loads(result.stdout)["verdicts"]


def asked(folder):
    path = folder / "calls.txt"
    return path.read_text().splitlines() if path.exists() else []


def test_an_answer_that_holds_is_served_and_one_that_does_not_is_refused(invoke):
    served = invoke(
        "run", "--agent", "my_agents:same", "--query", "Capital?", "-k", "5", "--mode", "adaptive", "--json"
    )
    assert served.exit_code == 0, served.output
    (verdict,) = verdicts(served)
    assert verdict["answer"] == "Paris is the capital of France."
    assert (verdict["decision"], verdict["label"], verdict["runs_agreed"]) == ("serve", "HIGH", "2/2")

    refused = invoke("run", "--agent", "my_agents:clashing", "--query", "Safe?", "-k", "4")
    assert refused.exit_code == 1
    assert "CRITICAL" in refused.stdout
    assert "contradict each other" in refused.stdout
    assert invoke("run", "--agent", "my_agents:clashing", "--query", "Safe?", "--fail-on", "never").exit_code == 0


def test_the_log_holds_all_texts_is_gone_on_with_and_checked(invoke, folder):
    (folder / "q.jsonl").write_text('"One?"\n{"id": "two", "query": "Two?"}\n')
    command = ("run", "--agent", "my_agents:same", "--queries", "q.jsonl", "-k", "2", "--log", "audit.jsonl")
    assert invoke(*command).exit_code == 0
    assert sorted(asked(folder)) == ["One?", "One?", "Two?", "Two?"]
    lines = [json.loads(line) for line in (folder / "audit.jsonl").read_text().splitlines()]
    assert {line["schema"] for line in lines} == {"likewise.verdict/1"}
    assert all(run["text"] == "Paris is the capital of France." for line in lines for run in line["audit_trail"])

    again = invoke(*command)
    assert again.exit_code == 0
    assert "2 of 2 verdicts were in audit.jsonl already" in again.stderr
    assert len(asked(folder)) == 4

    with (folder / "audit.jsonl").open("a") as file:  # what a kill leaves
        file.write('{"schema": "likewise.verd')
    invoke(*command[:-4], "-k", "3", "--log", "audit.jsonl")  # other settings are other answers
    assert len(asked(folder)) == 10
    lines = [json.loads(line) for line in (folder / "audit.jsonl").read_text().splitlines()]
    assert len(lines) == 4

    checked = invoke("check", "audit.jsonl", "--json")
    assert checked.exit_code == 0, checked.output
    assert [v["runs_agreed"] for v in verdicts(checked)] == ["2/2", "2/2", "3/3", "3/3"]


def test_runs_are_written_as_rollouts_that_report_reads(invoke, folder):
    result = invoke("run", "--agent", "my_agents:same", "--query", "Capital?", "-k", "3", "--rollouts", "runs.jsonl")
    assert result.exit_code == 0
    assert invoke("inspect", "runs.jsonl").exit_code == 0
    checked = invoke("check", "runs.jsonl", "--json")
    assert [v["runs_agreed"] for v in verdicts(checked)] == ["3/3"]
    assert verdicts(checked)[0]["query"] == "Capital?"


def test_check_tells_recorded_runs_without_an_answer(invoke, runs_file, line):
    path = runs_file([line("t", "a", ["Yes."]), line("t", "b", ["Yes."]), line("t", "c", [], stop="cut")])
    result = invoke("check", path, "--json")
    assert result.exit_code == 0, result.output
    (verdict,) = verdicts(result)
    assert (verdict["runs_agreed"], verdict["runs_failed"]) == ("2/2", 1)


def test_sources_are_checked_against(invoke, folder):
    (folder / "atlas.txt").write_text("Paris is the capital of France.")
    result = invoke("run", "--agent", "my_agents:same", "--query", "?", "--source", "atlas.txt", "--json")
    (sentence,) = verdicts(result)[0]["grounding"]["sentences"]
    assert (sentence["status"], sentence["source"], sentence["passage_start"]) == ("supported", "atlas.txt", 0)


def test_an_agent_that_always_fails_ends_with_its_reason_and_is_asked_again_next_time(invoke, folder):
    for _ in range(2):
        result = invoke("run", "--agent", "my_agents:failing", "--query", "?", "-k", "2", "--log", "audit.jsonl", "-q")
        assert result.exit_code == 4
        assert "ValueError: no such thing" in result.stderr
    assert len((folder / "audit.jsonl").read_text().splitlines()) == 2
    slow = invoke("run", "--agent", "my_agents:slow", "--query", "?", "-k", "2", "--deadline", "0.2")
    assert slow.exit_code == 4
    assert "timeout" in slow.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "ask something"),
        (("--query", "?"), "name the agent"),
        (("--query", "?", "--agent", "a:b", "--endpoint", "http://x", "--model", "m"), "name the agent"),
        (("--query", "?", "--endpoint", "http://x"), "belong together"),
        (("--query", "?", "--agent", "my_agents"), "module:function"),
        (("--query", "?", "--agent", "no_such_module:f"), "cannot be imported"),
        (("--query", "?", "--agent", "my_agents:nothing"), "no attribute"),
        (("--query", "?", "--agent", "my_agents:number"), "an agent is a function of the query"),
        (("--query", "?", "--agent", "my_agents:same", "--mode", "quick"), "no mode"),
        (("--query", "?", "--agent", "my_agents:same", "--max-cost", "1"), "--input-price"),
    ],
)
def test_what_cannot_be_is_refused_as_usage(invoke, arguments, message):
    result = invoke("run", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    "content", ["{", '{"x": 1}', "7", '{"query": "a", "sources": [1]}', '"a"\n{"id": 1, "query": "b"}\n']
)
def test_queries_that_cannot_be_read_say_where(invoke, folder, content):
    (folder / "q.jsonl").write_text(content)
    result = invoke("run", "--agent", "my_agents:same", "--queries", "q.jsonl")
    assert result.exit_code == 3
    assert "q.jsonl" in result.stderr
    assert "Traceback" not in result.output


def test_a_log_of_something_else_is_not_added_to(invoke, folder):
    (folder / "data.jsonl").write_text('{"mine": 1}\n')
    result = invoke("run", "--agent", "my_agents:same", "--query", "?", "--log", "data.jsonl")
    assert result.exit_code == 3
    assert "no audit log" in result.stderr
    assert (folder / "data.jsonl").read_text() == '{"mine": 1}\n'
    assert asked(folder) == []
