"""`likewise run` and `likewise check`, as a user types them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from functools import partial

import anyio
import pytest

from judges import TableJudge
from likewise import ReliabilityLayer
from likewise.core.errors import BackendError
from likewise.reliability.agents import current_run
from likewise.reliability.batch import Asked, run_batch

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

def patient(query):
    import time
    from pathlib import Path
    same(query)
    while query == "wait" and not Path("go").exists():
        time.sleep(0.05)
    return "Paris is the capital of France."

def differing(query):
    same(query)
    return ["Cats purr.", "It rains.", "Trains leave hourly.", "Granite is a rock.", "Nine is odd.", "Rome fell"][calls]

def printing(query):
    print("thinking aloud")
    return "Paris is the capital of France."

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


def test_sequential_mode_takes_the_runs_it_is_given_at_most_and_refuses_what_it_cannot_do_with(invoke, folder):
    command = ("run", "--agent", "my_agents:differing", "--query", "?", "--mode", "sequential", "--json")
    (verdict,) = verdicts(invoke(*command, "-k", "5"))
    assert len(asked(folder)) == verdict["metadata"]["runs_started"] == 5
    assert "the budget of 5 runs is spent" in verdict["metadata"]["stop_reason"]
    few = invoke(*command, "-k", "3")
    assert few.exit_code == 2
    assert "sequential mode takes at least 4 runs; the most are 3" in " ".join(few.stderr.split())
    assert len(asked(folder)) == 5


def test_what_an_agent_prints_is_no_part_of_the_answer(invoke, folder, monkeypatch):
    (folder / "loud.py").write_text("print('imported')\nfrom my_agents import printing\n")
    monkeypatch.delitem(sys.modules, "loud", raising=False)
    result = invoke("run", "--agent", "loud:printing", "--query", "Capital?", "-k", "2", "--json")
    assert verdicts(result)[0]["runs_agreed"] == "2/2"  # stdout is JSON and nothing else
    assert result.stderr.count("thinking aloud") == 2
    assert "imported" in result.stderr


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
        (("--query", "?", "--agent", "my_agents:same", "--error", "0.2"), "only --mode sequential stops by"),
        (("--query", "?", "--agent", "my_agents:same", "--max-cost", "1"), "--input-price"),
        (("--query", "?", "--endpoint", "ftp://host/v1", "--model", "m"), "'ftp://host/v1' is no endpoint's URL"),
        (("--query", "?", "--endpoint", "http://host:99999", "--model", "m"), "is no endpoint's URL"),
        (("--query", "?", "--endpoint", "http://a:b@host/v1", "--model", "m"), "a key belongs in OPENAI_API_KEY"),
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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('def f(q): return "x"\nraise ValueError("at import")\n', "ValueError: at import (broken.py, line 2)"),
        ("def f(q) return\n", "SyntaxError: expected ':' (broken.py, line 1)"),
        ("import sys\nsys.exit(5)\n", "SystemExit: 5 (broken.py, line 2)"),
        ("import no_such_package\n", "No module named 'no_such_package'"),
    ],
)
def test_a_module_that_fails_while_it_is_imported_is_the_users_and_says_where(
    invoke, folder, monkeypatch, content, message
):
    monkeypatch.delitem(sys.modules, "broken", raising=False)
    (folder / "broken.py").write_text(content)
    result = invoke("run", "--agent", "broken:f", "--query", "?")
    assert result.exit_code == 2
    assert message in result.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--query", " "), 2, "a question is empty"),
        (("--queries", "none.jsonl"), 3, "none.jsonl: no query in it"),
        (("--queries", "blank.jsonl"), 3, "blank.jsonl, line 2: an empty query"),
        (("--query", "?", "--log", "."), 3, "Is a directory"),
        (("--query", "?", "--log", "/dev/null"), 3, "/dev/null: no file that can be added to"),
        (("--query", "?", "--source", "latin.txt"), 3, "latin.txt: not UTF-8 text"),
    ],
)
def test_what_asks_nothing_or_cannot_be_read_says_so_before_the_agent_is_asked(
    invoke, folder, arguments, code, message
):
    (folder / "none.jsonl").write_text("\n")
    (folder / "blank.jsonl").write_text('"What?"\n{"query": " "}\n')
    (folder / "latin.txt").write_bytes(b"caf\xe9")
    result = invoke("run", "--agent", "my_agents:same", *arguments)
    assert result.exit_code == code
    assert message in result.stderr.replace("\n", " ")
    assert asked(folder) == []


def test_check_refuses_a_source_that_is_no_text_as_run_does(invoke, folder, runs_file, line):
    (folder / "latin.txt").write_bytes(b"caf\xe9")
    result = invoke("check", runs_file([line("t", "a", ["Yes."]), line("t", "b", ["Yes."])]), "--source", "latin.txt")
    assert result.exit_code == 3
    assert "latin.txt: not UTF-8 text" in result.stderr


def test_an_audit_log_in_a_folder_is_checked_as_a_log_and_is_no_table_of_answers(invoke, folder):
    (folder / "kept").mkdir()
    command = ("run", "--agent", "my_agents:same", "--query", "One?", "-k", "3", "--log", "kept/audit.jsonl")
    assert invoke(*command).exit_code == 0
    assert [v["runs_agreed"] for v in verdicts(invoke("check", "kept", "--json"))] == ["3/3"]
    assert invoke(*command[:-2], "--rollouts", "kept/runs.jsonl").exit_code == 0
    found = verdicts(invoke("check", "kept", "--json"))
    assert [(v["id"], v["runs_agreed"]) for v in found] == [("One?", "3/3")] * 2  # the log and the rollouts
    assert invoke("report", "kept/audit.jsonl").exit_code == 3


def likewise(*arguments, environment):
    """The command in a process of its own that heeds SIGINT, whatever the tests' own process does."""
    start = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from likewise.cli.start import run"
    )
    return subprocess.Popen(
        [sys.executable, "-c", f"{start}; run()", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(condition, seconds=120.0):
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.05)


def test_an_interrupted_run_keeps_its_verdicts_and_goes_on_from_there(invoke, folder, command_environment):
    (folder / "q.jsonl").write_text('"One?"\n"wait"\n"Three?"\n')
    command = ("run", "--agent", "my_agents:patient", "--queries", "q.jsonl", "-k", "2", "--log", "audit.jsonl")
    process = likewise(*command, environment=command_environment)
    wait_for(lambda: "wait" in asked(folder))
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert errors.splitlines()[-1].startswith("likewise: interrupted")
    assert "Traceback" not in errors
    assert asked(folder).count("One?") == 2
    assert len((folder / "audit.jsonl").read_text().splitlines()) == 1

    (folder / "go").touch()
    again = invoke(*command)
    assert again.exit_code == 0, again.output
    assert "1 of 3 verdicts were in audit.jsonl already" in again.stderr
    assert asked(folder).count("One?") == 2


def test_a_second_run_on_one_log_is_refused_while_the_first_is_at_work(invoke, folder, command_environment):
    command = ("run", "--agent", "my_agents:patient", "--query", "wait", "-k", "2", "--log", "audit.jsonl")
    process = likewise(*command, environment=command_environment)
    wait_for(lambda: "wait" in asked(folder))
    second = invoke("run", "--agent", "my_agents:same", "--query", "Other?", "--log", "audit.jsonl")
    assert second.exit_code == 3
    assert "audit.jsonl: another run is adding to this log" in second.stderr
    assert "Other?" not in asked(folder)

    (folder / "go").touch()
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert len((folder / "audit.jsonl").read_text().splitlines()) == 1


def test_a_judge_that_does_not_work_ends_a_batch_with_its_own_error():
    """And with no group of errors, which no command knows how to say."""

    class Down(TableJudge):
        def judge(self, pairs, progress=None):
            raise BackendError("the judge is down")

    wrapped = ReliabilityLayer(2, judge=Down()).wrap(lambda query: ["Cats purr.", "Rain falls."][current_run().index])
    with pytest.raises(BackendError, match="the judge is down"):
        anyio.run(partial(run_batch, wrapped, [Asked("1", "?"), Asked("2", "?")], {}))
