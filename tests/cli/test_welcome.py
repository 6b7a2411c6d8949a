"""`likewise` alone says what to do next, and what it says works as it stands."""

import json
import shlex

import pytest

from likewise.cli.welcome import FOLDERS, Runs, look

SAME = {"t": {"1": ["Hello."], "2": ["Hello."]}}


@pytest.fixture
def here(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def commands(result):
    """What is to be typed, from the lines of steps."""
    assert result.exit_code == 0, result.output
    return [line.split("  ")[1] for line in result.stdout.splitlines() if line.startswith("  likewise ")]


def test_an_empty_folder_is_told_how_to_bring_runs_here(invoke, here):
    result = invoke()
    assert "No recorded runs in this folder or the folders in it." in result.stdout
    assert commands(result) == [
        "likewise formats",
        "likewise report FOLDER --html report.html",
        'likewise run --agent module:function --query "..."',
        "likewise doctor",
        "likewise --help",
    ]


def test_a_folder_of_runs_is_named_and_each_step_works_as_it_stands(invoke, here, runs_file):
    (here / "my runs").mkdir()
    runs_file(SAME, here / "my runs" / "a.jsonl")
    result = invoke()
    assert "Recorded runs: 'my runs'/ (1 file, native)" in result.stdout
    steps = commands(result)
    assert steps[:2] == ["likewise inspect 'my runs'/", "likewise report 'my runs'/ --html report.html"]
    for step in steps[:2]:
        assert invoke(*shlex.split(step)[1:]).exit_code == 0, step
    assert (here / "report.html").exists()


def test_single_files_are_named_and_several_by_a_pattern(here, runs_file):
    runs_file(SAME, here / "a.jsonl")
    assert look(here).runs == (Runs("a.jsonl", 1, "native"),)
    runs_file(SAME, here / "b.jsonl")
    assert look(here).runs == (Runs("*.jsonl", 2, "native"),)


def test_two_folders_of_one_format_may_be_two_versions(invoke, here, runs_file):
    for name in ("base", "candidate"):
        (here / name).mkdir()
        runs_file(SAME, here / name / "a.jsonl")
    assert "likewise compare base/ candidate/" in commands(invoke())


def test_a_report_a_model_and_settings_are_put_to_use(invoke, here, runs_file):
    runs_file(SAME, here / "a.jsonl")
    (here / "report.json").write_text('{"schema": "likewise.report/1"}')
    (here / "model").mkdir()
    (here / "model" / "model.json").write_text("{}")
    (here / "likewise.toml").touch()
    found = look(here)
    assert (found.reports, found.models, found.settings) == (("report.json",), ("model",), "likewise.toml")
    result = invoke()
    assert {"likewise plan --detect 0.3 --from report.json", "likewise score a.jsonl --model model"} <= set(
        commands(result)
    )
    assert "Settings: likewise.toml" in result.stdout


@pytest.mark.parametrize("content", ["", "hello", '{"a": 1}', "\0\1\2"])
def test_files_that_hold_no_runs_are_passed_over(invoke, here, content):
    (here / "package.json").write_text(content)
    assert look(here).runs == ()
    assert invoke().exit_code == 0


def test_hidden_folders_and_folders_beyond_the_limit_are_not_looked_into(here, runs_file):
    names = [".cache", *(f"d{number:03}" for number in range(FOLDERS + 1))]
    for name in names:
        (here / name).mkdir()
    runs_file(SAME, here / ".cache" / "a.jsonl")
    runs_file(SAME, here / names[-1] / "a.jsonl")
    assert look(here).runs == ()
    runs_file(SAME, here / names[-2] / "a.jsonl")
    assert look(here).runs == (Runs(f"{names[-2]}/", 1, "native"),)


def test_a_name_that_holds_terminal_escapes_reaches_no_terminal(invoke, here):
    (here / "a\x1b[31m").mkdir()
    (here / "a\x1b[31m" / "r.jsonl").write_text(json.dumps({"schema": "likewise.rollout/1"}))
    assert "\x1b" not in invoke().stdout


def test_a_tree_without_end_is_left_after_so_many_folders(here, runs_file, monkeypatch):
    monkeypatch.setattr("likewise.cli.welcome.WALKED", 2)
    deep = here / "runs" / "a" / "b"
    deep.mkdir(parents=True)
    runs_file(SAME, deep / "late.jsonl")
    assert look(here).runs == ()
    runs_file(SAME, deep.parent / "early.jsonl")
    assert look(here).runs == (Runs("runs/", 1, "native"),)
