"""Gates of `likewise report`: exit code 1, and the task and the number by name."""

import json
from xml.etree import ElementTree

import pytest


@pytest.fixture
def runs(runs_file, line):
    """Task "same" does the same four times, task "apart" never."""

    def turns(tool):
        return [{"action": {"tool_calls": [{"name": tool, "arguments": {"id": 1}}]}}]

    lines = [line("same", str(run), [], turns=turns("get_a")) for run in range(4)]
    lines += [line("apart", str(run), [], turns=turns(f"get_{run}"), success=run == 0) for run in range(4)]
    return runs_file(lines)


def test_a_gate_that_is_not_passed_ends_with_one_and_names_task_and_number(invoke, runs, tmp_path):
    faces = {face: tmp_path / f"o.{face}" for face in ("json", "junit", "markdown")}
    options = [option for face, path in faces.items() for option in (f"--{face}", path)]
    result = invoke("report", runs, "--fail-on", "rsd > 0.4", "--fail-on", "mean success_rate < 0.7", *options)
    assert result.exit_code == 1, result.output
    assert "likewise: failed: task apart: rsd 0.5 > 0.4\n" in result.stderr
    assert "likewise: failed: mean over tasks: success_rate 0.625 < 0.7\n" in result.stderr
    assert "states 0 stable" in result.stdout
    assert [f["task_id"] for f in json.loads(faces["json"].read_text())["gates"]["failures"]] == ["apart", None]
    assert ElementTree.fromstring(faces["junit"].read_text()).get("failures") == "2"
    assert "**2 gates not passed**" in faces["markdown"].read_text()


def test_gates_that_are_passed_end_with_zero(invoke, runs):
    result = invoke("report", runs, "-q", "--fail-on", "rsd > 0.5", "--fail-on", "mean pass^4 < 0.5")
    assert (result.exit_code, result.stderr) == (0, "")


def test_the_settings_hold_gates_and_tasks_of_their_own(invoke, runs, tmp_path):
    settings = tmp_path / "likewise.toml"
    settings.write_text('[gates]\nfail_on = ["rsd > 0.4"]\n[gates.tasks.apart]\nskip = ["rsd"]\n[gates.tasks.gone]\n')
    result = invoke("report", runs, "-q", "--config", settings)
    assert result.exit_code == 0, result.output
    assert "gates for tasks that these runs do not have: gone" in result.stderr
    settings.write_text('[gates]\nfail_on = ["rsd > 0.4"]\n')
    assert invoke("report", runs, "-q", "--config", settings).exit_code == 1


@pytest.mark.parametrize("text", ["rds > 1", "flakey", "rsd", "rsd > x"])
def test_what_is_no_gate_is_refused_before_any_file_is_read(invoke, text):
    result = invoke("report", "gone.json", "--fail-on", text)
    assert result.exit_code == 2
    assert "--fail-on" in result.output


def test_a_mistake_in_the_settings_is_a_mistake_of_usage(invoke, runs, tmp_path):
    settings = tmp_path / "likewise.toml"
    settings.write_text('[gates]\nfail_on = ["rds > 1"]\n')
    result = invoke("report", runs, "--config", settings)
    assert result.exit_code == 2
    assert "at gates.fail_on" in result.stderr


def test_a_figure_that_was_not_measured_does_not_pass_its_gate(invoke, runs_file, line):
    path = runs_file([line("t", run, ["Hi."], success=None) for run in "12"])
    result = invoke("report", path, "-q", "--fail-on", "success_rate < 0.5")
    assert result.exit_code == 1
    assert "success_rate is not measured well enough" in result.stderr


def test_gates_that_nobody_can_pass_or_fail_are_refused_before_anything_is_judged(invoke, runs):
    for texts, message in (
        (["rsd > 0.5", "rsd < 0.5"], "cannot both be passed: every value fails one of them"),
        (["rsd > 5"], "can never fail: rsd lies between 0 and 5"),
        (["rsd_normalised > 0.4"], "cannot fail here: runs of so few turns reach a rsd_normalised of 0.2 at most"),
        (["pass^8 < 0.5"], "pass^8 needs 8 runs of a task, and no task here has more than 4"),
    ):
        result = invoke("report", runs, "-q", *(option for text in texts for option in ("--fail-on", text)))
        assert result.exit_code == 2, texts
        assert message in " ".join(result.output.replace("\u2502", " ").split())


def test_gates_of_the_settings_and_of_the_command_line_are_seen_together(invoke, runs, tmp_path):
    settings = tmp_path / "likewise.toml"
    settings.write_text('[gates]\nfail_on = ["rsd < 0.5"]\n')
    assert invoke("report", runs, "-q", "--config", settings, "--fail-on", "rsd > 0.4").exit_code == 2
    settings.write_text('[gates]\nfail_on = ["rsd > 0.5", "rsd < 0.5"]\n')
    result = invoke("report", runs, "-q", "--config", settings)
    assert (result.exit_code, "at gates.fail_on" in result.stderr) == (2, True)


def test_one_turn_runs_that_differ_fail_the_gate_that_ten_turn_runs_would(invoke, runs):
    # Four other tools in four runs: distance 1/2 in all pairs of the one turn, 0.5 of the 1 that one turn allows.
    result = invoke("report", runs, "-q", "--fail-on", "rsd_share > 0.4")
    assert result.exit_code == 1
    assert "failed: task apart: rsd_share 0.5 > 0.4" in result.stderr
    assert "task same" not in result.stderr


def test_flaky_fails_where_nobody_could_tell(invoke, runs_file, line):
    silent = [{"action": {"tool_calls": [{"name": "get_a", "arguments": {}}]}}]
    path = runs_file([line("t", run, [], turns=silent, success=None) for run in "12"])
    result = invoke("report", path, "-q", "--fail-on", "flaky")
    assert result.exit_code == 1
    assert "whether it is flaky is not measured" in result.stderr
