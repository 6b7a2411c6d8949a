"""A label store that does not work: exit code 4, and what to do about it; what works is used where it is named."""

import json
import sqlite3

import pytest

DIFFERENT = {"t": {"1": ["Your trip is cancelled."], "2": ["I have called a colleague of mine."]}}


def down(result, path, *words):
    assert result.exit_code == 4, (result.stdout, result.stderr)
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"likewise: error: {path}")
    assert all(word in line for word in words), line


def test_a_damaged_store(invoke, runs_file, tmp_path):
    store = tmp_path / "labels.sqlite"
    store.write_bytes(b"SQLite format 3\x00" + b"\xff" * 5000)
    down(invoke("report", runs_file(DIFFERENT), "--store", store), store, "move or delete the file")


def test_a_text_file_as_store_is_left_as_it_is(invoke, runs_file, tmp_path):
    store = tmp_path / "notes.txt"
    store.write_text("my notes " * 200)
    down(invoke("report", runs_file(DIFFERENT), "--store", store), store, "not a label store")
    assert store.read_text() == "my notes " * 200


def test_the_store_of_a_later_version(invoke, runs_file, tmp_path):
    store = tmp_path / "labels.sqlite"
    with sqlite3.connect(store) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    down(invoke("report", runs_file(DIFFERENT), "--store", store), store, "version 99", "update likewise")


def test_a_store_in_a_place_that_cannot_be(invoke, runs_file, tmp_path):
    (tmp_path / "file").touch()
    store = tmp_path / "file" / "labels.sqlite"
    down(invoke("report", runs_file(DIFFERENT), "--store", store), store, "set LIKEWISE_LABEL_STORE")


def test_a_folder_as_store(invoke, runs_file, tmp_path):
    down(invoke("report", runs_file(DIFFERENT), "--store", tmp_path), tmp_path, "set LIKEWISE_LABEL_STORE")


@pytest.mark.model
def test_a_report_that_would_fail_writes_nothing(invoke, runs_file, tmp_path):
    out = tmp_path / "out.json"
    assert invoke("report", runs_file(DIFFERENT), "--json", out, "--store", tmp_path).exit_code == 4
    assert not out.exists()


@pytest.mark.model
def test_the_store_is_the_named_one_the_environments_or_none(invoke, runs_file, tmp_path, monkeypatch):
    path, named, home = runs_file(DIFFERENT), tmp_path / "named.sqlite", tmp_path / "home"
    use = {}
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("LIKEWISE_LABEL_STORE", "~/labels.sqlite")
    for run, options in {"none": ["--no-store"], "environment": [], "named": ["--store", named], "again": []}.items():
        use[run] = json.loads(invoke("report", path, "--json", "-", *options).stdout)["judge_use"]
        assert (home / "labels.sqlite").exists() == (run != "none")
    assert named.exists()
    asked = use["none"]["from_model"]
    assert asked > 0
    assert (use["environment"]["from_model"], use["named"]["from_model"]) == (asked, asked)
    assert (use["again"]["from_model"], use["again"]["from_store"]) == (0, asked)
