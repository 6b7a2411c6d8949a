"""`likewise tools`, and what a settings file does to `report` and `judge-eval`."""

from __future__ import annotations

import json
import tomllib

import pytest


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """A folder of its own: a likewise.toml of the user's must not decide a test."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def calling(line, task, run, *calls):
    turns = [{"action": {"tool_calls": [{"name": name, "arguments": arguments}]}} for name, arguments in calls]
    return line(task, run, [], turns=turns)


@pytest.fixture
def runs(runs_file, line):
    """Two runs that run the same thing with other values, and look at the same."""
    return runs_file(
        [
            calling(line, "t", "1", ("get_job", {"job_id": 1}), ("run_job", {"job_id": 1, "retries": 1, "at": "9:00"})),
            calling(line, "t", "2", ("get_job", {"job_id": 1}), ("run_job", {"job_id": 1, "retries": 2, "at": "9:01"})),
        ]
    )


@pytest.fixture
def listed(invoke):
    """The tools of runs by name, from the JSON."""

    def _listed(*arguments):
        result = invoke("tools", *arguments, "--json")
        assert result.exit_code == 0, result.output
        return {tool["name"]: tool for tool in json.loads(result.stdout)["tools"]}

    return _listed


def refused(result, *words):
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    assert all(word in " ".join(result.output.split()) for word in words), result.output


def test_the_tools_of_the_runs_are_listed_without_touching_any_file(invoke, listed, runs, folder):
    before = sorted(folder.iterdir())
    tools = listed(runs)
    assert {name: (tool["calls"], tool["tasks"], tool["class"], tool["source"]) for name, tool in tools.items()} == {
        "get_job": (2, 1, "reads", "verb"),
        "run_job": (2, 1, "changes", "verb"),
    }
    text = invoke("tools", runs).stdout
    assert "run_job" in text
    assert "names the object: job_id" in text
    assert sorted(folder.iterdir()) == before


def test_a_pin_is_written_used_at_once_and_found_the_next_time(invoke, listed, runs, folder):
    result = invoke("tools", runs, "--pin", "run_job=reads", "--pin", "get_job=changes")
    assert result.exit_code == 0, result.output
    assert "likewise: wrote likewise.toml: run_job = reads, get_job = changes" in result.stderr
    assert "reads\n    pinned" in result.stdout
    written = (folder / "likewise.toml").read_text()
    assert tomllib.loads(written) == {"tools": {"run_job": "reads", "get_job": "changes"}}
    assert [(tool["class"], tool["source"]) for tool in listed(runs).values()] == [("changes", "pin"), ("reads", "pin")]
    assert invoke("tools", runs, "--pin", "run_job=changes").exit_code == 0
    assert (folder / "likewise.toml").read_text() == written.replace('run_job = "reads"', 'run_job = "changes"')


def test_pins_go_into_the_file_that_config_names(invoke, listed, runs, folder):
    other = folder / "other.toml"
    assert invoke("tools", runs, "--config", other, "--pin", "run_job=reads").exit_code == 0
    assert not (folder / "likewise.toml").exists()
    assert listed(runs)["run_job"]["source"] == "verb"
    assert listed(runs, "--config", other)["run_job"]["source"] == "pin"


def test_a_tool_that_no_run_calls_cannot_be_pinned_and_nothing_is_written(invoke, runs, folder):
    refused(invoke("tools", runs, "--pin", "run_jbo=reads"), "no run calls a tool 'run_jbo' (did you mean 'run_job'?)")
    refused(invoke("tools", runs, "--pin", "get_job=reads", "--pin", "zzz=reads"), "'zzz'; there are get_job, run_job")
    refused(invoke("tools", runs, "--pin", "run_job=read"), "--pin", "expected TOOL=reads or TOOL=changes")
    assert not (folder / "likewise.toml").exists()


def test_a_tool_that_only_a_tools_file_knows_can_be_pinned(invoke, runs, folder):
    (folder / "mcp.json").write_text('{"tools": [{"name": "purge"}]}')
    assert invoke("tools", runs, "--tools", "mcp.json", "--pin", "purge=changes").exit_code == 0


def test_runs_without_a_call_are_a_plain_error(invoke, runs_file):
    result = invoke("tools", runs_file({"t": {"1": ["Hello."]}}))
    assert result.exit_code == 3
    assert result.stderr.startswith("likewise: error: no tool is called in the 1 rollout(s) read")
    assert result.stdout == ""


def test_where_pins_cannot_be_written(invoke, runs, folder):
    refused(invoke("tools", runs, "--pin", "run_job=reads", "--config", folder / "no" / "x.toml"), "does not exist")
    refused(invoke("tools", runs, "--pin", "run_job=reads", "--config", folder), "is a folder")
    before = runs.read_bytes()
    refused(invoke("tools", runs, "--pin", "run_job=reads", "--config", runs), "would be overwritten")
    assert runs.read_bytes() == before


def test_annotations_come_from_a_tools_file_from_the_settings_and_from_the_log(listed, runs, folder):
    def annotated(hint):
        return [{"name": "run_job", "annotations": {"readOnlyHint": hint}}]

    (folder / "mcp.json").write_text(json.dumps({"tools": annotated(True)}))
    tool = listed(runs, "--tools", "mcp.json")["run_job"]
    assert (tool["class"], tool["source"], tool["reason"]) == ("reads", "annotation", "readOnlyHint is true")
    (folder / "likewise.toml").write_text('[annotations]\nfiles = ["mcp.json"]\n')
    assert listed(runs)["run_job"]["class"] == "reads"
    message = {"role": "assistant", "tool_calls": [{"function": {"name": "run_job", "arguments": "{}"}}]}
    log = {"task_id": "t", "messages": [message], "tools": annotated(False)}
    (folder / "chat.jsonl").write_text(json.dumps(log) + "\n")
    assert listed("chat.jsonl", "--config", "/dev/null")["run_job"]["reason"] == "readOnlyHint is false"
    assert listed("chat.jsonl")["run_job"]["class"] == "changes"  # where the two disagree
    (folder / "likewise.toml").write_text('[annotations]\nfiles = ["mcp.json"]\n[tools]\nrun_job = "reads"\n')
    assert listed("chat.jsonl")["run_job"]["source"] == "pin"


def test_a_setting_that_no_run_has_is_named(invoke, runs, folder):
    (folder / "likewise.toml").write_text('[tools]\nrun_jobs = "reads"\n[tools.run_job.arguments]\nretry = "ignore"\n')
    text = " ".join(invoke("tools", runs).stdout.split())
    assert "tool 'run_jobs' (did you mean 'run_job'?), argument 'retry' (did you mean 'retries'?) of 'run_job'" in text
    assert len(json.loads(invoke("tools", runs, "--json").stdout)["unused"]) == 2


@pytest.mark.parametrize("command", ["report", "tools", "judge-eval"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[tool]\n", "unknown section 'tool' (did you mean 'tools'?)"),
        ('[rules]\nsame-call = "neutral"\n', "at rules.same-call"),
        ("[rules", "not TOML"),
        (None, "no such file"),
    ],
)
def test_settings_that_cannot_be_used_are_a_usage_error_before_any_run_is_read(invoke, folder, command, text, words):
    path = folder / "mine.toml"
    if text is not None:
        path.write_text(text)
    result = invoke(command, "gone.json", "--config", path)
    refused(result, words)
    assert result.stderr.splitlines() == [line for line in result.stderr.splitlines() if "mine.toml" in line]


def test_a_tools_file_that_cannot_be_used_is_a_usage_error(invoke, runs, folder):
    (folder / "mcp.json").write_text('{"tools": 3}')
    refused(invoke("report", runs, "--tools", "mcp.json"), "mcp.json: no list of tools")


# The settings in the commands that judge


@pytest.fixture
def measured(invoke):
    def _measured(*arguments):
        result = invoke("report", *arguments, "--no-store", "--json", "-")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout), result.stderr

    return _measured


SETTINGS = '[tools.run_job.arguments]\nretries = { absolute = 1 }\nat = "ignore"\n'


@pytest.mark.model
def test_a_report_follows_the_settings_and_its_signature_says_so(measured, runs, folder):
    plain, _ = measured(runs)
    assert plain["judge_use"]["by_rule"] == {"identical": 1, "tool:same-object-write": 1}
    assert plain["tasks"][0]["tool_use"]["argument_consistency"]["value"] == 0.5  # of get_job all, of run_job none
    (folder / "mine.toml").write_text(SETTINGS)
    ours, said = measured(runs, "--config", "mine.toml")
    assert ours["judge_use"]["by_rule"] == {"identical": 1, "tool:same-call": 1}
    assert ours["summary"]["rsd"]["value"] == 0.0
    assert ours["signature"]["rules"] != plain["signature"]["rules"]
    assert said == ""
    (folder / "likewise.toml").write_text(SETTINGS)
    found, said = measured(runs)
    assert found["signature"] == ours["signature"]
    assert said == "likewise: settings of likewise.toml\n"
    assert measured(runs, "--quiet")[1] == ""
    assert measured(runs, "--config", "/dev/null")[0]["signature"] == plain["signature"]


@pytest.mark.model
def test_ignored_arguments_do_not_count_against_the_consistency_of_arguments(measured, runs, folder):
    (folder / "likewise.toml").write_text('[arguments]\nretries = "ignore"\nat = "ignore"\n')
    assert measured(runs)[0]["tasks"][0]["tool_use"]["argument_consistency"]["value"] == 1.0


@pytest.mark.model
def test_judge_eval_follows_the_settings(invoke, folder):
    row = {"action_a": 'run_job({"n": 1})', "action_b": 'run_job({"n": 2})', "label": "neutral"}
    (folder / "pairs.jsonl").write_text(json.dumps(row) + "\n")

    def judged(*arguments):
        result = invoke("judge-eval", "pairs.jsonl", "--json", "--no-store", *arguments)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    assert judged()["confusion"]["neutral"]["contradictory"] == 1
    (folder / "pins.toml").write_text('[tools]\nrun_job = "reads"\n')
    pinned = judged("--config", "pins.toml")
    assert pinned["confusion"]["neutral"]["neutral"] == 1
    assert pinned["signature"] != judged()["signature"]
    (folder / "mcp.json").write_text('[{"name": "run_job", "annotations": {"readOnlyHint": true}}]')
    assert judged("--tools", "mcp.json")["confusion"]["neutral"]["neutral"] == 1
