"""`--map`: any JSON or table, read by a few lines of TOML."""

import json

import pytest

ROWS = [{"frage": "Q", "antwort": text} for text in ("Yes.", "Yes.", "No.")]


@pytest.fixture
def files(tmp_path):
    """A file of answers under names of its own, and a mapping that fits it."""
    (tmp_path / "runs.json").write_text(json.dumps(ROWS))
    (tmp_path / "map.toml").write_text('task = "frage"\nanswer = "antwort"\n')
    return tmp_path / "runs.json", tmp_path / "map.toml"


def test_a_mapping_makes_a_file_readable(invoke, files):
    runs, mapping = files
    assert invoke("inspect", runs).exit_code == 3
    result = invoke("inspect", runs, "--map", mapping, "--json")
    assert result.exit_code == 0, result.stderr
    summary = json.loads(result.stdout)
    assert (summary["tasks"], summary["rollouts"], summary["files"][0]["format"]) == (1, 3, "mapped")


@pytest.mark.parametrize("order", [0, 1])
def test_a_mapping_and_a_format_are_not_given_together(invoke, files, order):
    runs, mapping = files
    options = [["--map", mapping], ["--format", "tau2"]]
    first, second = options if order else reversed(options)
    result = invoke("inspect", runs, *first, *second)
    assert result.exit_code == 2
    assert "--format and --map exclude each other" in result.stderr


def test_a_mapping_that_cannot_be_used_is_said_in_one_line(invoke, files):
    runs, mapping = files
    mapping.write_text('task = "frage"\nantwort = "antwort"\n')
    result = invoke("inspect", runs, "--map", mapping)
    assert result.exit_code in (2, 3)
    assert "map.toml: unknown key 'antwort'" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_table_that_no_column_of_is_known_says_to_name_them(invoke, tmp_path):
    (tmp_path / "t.csv").write_text("frage,antwort\nQ,Yes.\n")
    result = invoke("inspect", tmp_path / "t.csv")
    assert result.exit_code == 3
    assert "there are frage, antwort" in result.stderr
    assert "--map" in result.stderr
