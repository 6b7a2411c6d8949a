"""`likewise formats`: the list, and what each format says of a file."""

import json

import pytest

from likewise.formats import FORMATS


def test_the_list_names_every_format_and_what_it_is(invoke):
    rows = json.loads(invoke("formats", "--json").stdout)
    assert rows["schema"] == "likewise.formats/1"
    assert [(row["name"], row["description"]) for row in rows["formats"] if row["built_in"]] == [
        (name, each.DESCRIPTION) for name, each in FORMATS.items()
    ]
    shown = invoke("formats").stdout
    assert all(name in shown for name in FORMATS)
    assert max(map(len, shown.splitlines())) <= 80


def test_of_a_file_it_says_which_format_fits_and_why_the_others_do_not(invoke, runs_file):
    path = runs_file({"t": {"1": ["Hello."]}})
    rows = {row["name"]: row for row in json.loads(invoke("formats", path, "--json").stdout)["formats"]}
    assert [name for name, row in rows.items() if row["fits"]] == ["native"]
    assert rows["native"]["reason"] is None
    assert rows["tau2"]["reason"] == "no `simulations` and no `info` of tau2"
    assert "fits" in invoke("formats", path).stdout


@pytest.mark.parametrize("content", [b'{"a": 1}', b"hello", b"[]"])
def test_a_file_that_none_fits_ends_as_bad_input_with_all_reasons(invoke, tmp_path, content):
    path = tmp_path / "a.json"
    path.write_bytes(content)
    result = invoke("formats", path, "--json")
    assert result.exit_code == 3
    assert all(row["reason"] for row in json.loads(result.stdout)["formats"])
    assert "no format fits" in result.stderr


def test_a_file_that_cannot_be_read_is_said_to_be_so(invoke, tmp_path):
    result = invoke("formats", tmp_path / "gone.json")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "no such file" in result.stderr


def test_the_list_names_every_suffix_that_is_read_in_folders_and_how_files_may_be_packed(invoke):
    rows = json.loads(invoke("formats", "--json").stdout)
    suffixes = {row["name"]: row["suffixes"] for row in rows["formats"]}
    assert suffixes["openai-chat"] == [".json", ".jsonl", ".ndjson"]
    assert suffixes["table"] == [".csv", ".json", ".jsonl", ".ndjson", ".parquet", ".tsv"]
    assert rows["packed"] == [".gz", ".zst"]
    shown = invoke("formats").stdout
    assert "Each may also be in a file of .json, .jsonl, .ndjson." in shown
    assert "may be packed (.gz, .zst)" in " ".join(shown.split())
