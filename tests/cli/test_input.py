"""A file that cannot be read: exit code 3, and one line that says what, where and what would be right."""

import gzip
import json
import os

import pytest

SAME = {"t": {"1": ["Hello."], "2": ["Hello."]}}
LABELLED = json.dumps({"premise": "a", "hypothesis": "b", "label": "neutral"})


def unreadable(result, *words, code=3):
    assert result.exit_code == code, (result.stdout, result.stderr)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("likewise: error: ")
    assert all(str(word) in line for word in words), line


@pytest.fixture(params=["report", "inspect"])
def reading(request, invoke):
    """A command that reads runs."""
    return lambda *arguments: invoke(request.param, *arguments)


def test_a_missing_file(reading, tmp_path):
    unreadable(reading(tmp_path / "gone.json"), "gone.json: no such file")


def test_an_empty_file(reading, tmp_path):
    (tmp_path / "empty.json").touch()
    unreadable(reading(tmp_path / "empty.json"), "empty.json: the file is empty")


def test_an_empty_folder(reading, tmp_path):
    (tmp_path / "runs").mkdir()
    unreadable(reading(tmp_path / "runs"), "runs: no rollout file in this folder")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(reading, runs_file):
    path = runs_file(SAME)
    path.chmod(0)
    unreadable(reading(path), path, "Permission denied")


@pytest.mark.parametrize("content", [b"hello", b"\x00\xff\xfe", b"3", b'{"a": 1}'])
def test_an_unknown_format_says_where_every_readers_reason_is_to_be_had(reading, tmp_path, content):
    (tmp_path / "a.json").write_bytes(content)
    unreadable(reading(tmp_path / "a.json"), "a.json` says why none fits", "--format forces one", "--map reads any")


def test_a_file_that_ends_too_early(reading, tmp_path):
    whole = json.dumps([{"task_id": 1, "trial": 0, "reward": 1.0, "info": {}, "traj": []}])
    (tmp_path / "cut.json").write_text(whole[:-4])
    unreadable(reading(tmp_path / "cut.json"), "cut.json, line 1: ", "ends too early")


def test_a_format_is_forced_and_an_unknown_one_names_those_there_are(reading, runs_file):
    path = runs_file(SAME)
    assert reading(path, "--format=native", "--json").exit_code in (0, 2)  # report: --json wants a file
    unknown = reading(path, "--format=nope")
    assert unknown.exit_code == 2
    assert "nope" in unknown.stderr
    assert "native, tau-bench, tau2, " in " ".join(unknown.stderr.split())
    unreadable(reading(path, "--format=tau-bench"), path)


def test_strict_refuses_what_is_otherwise_excluded_and_says_where(invoke, runs_file, line):
    path = runs_file([line("t", "1", ["a"]), line("t", "2", ["a"]), line("t", "3", ["a"], turns=[{"action": 3}])])
    result = invoke("inspect", path, "--json")
    (excluded,) = json.loads(result.stdout)["excluded"]
    assert (excluded["line"], excluded["pointer"]) == (3, "/turns/0/action")
    unreadable(invoke("inspect", path, "--strict"), f"{path}, line 3, at /turns/0/action: ", "expected")
    unreadable(invoke("report", path, "--strict"), f"{path}, line 3, at /turns/0/action: ")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.jsonl", "not json", ["line 1", "not JSON"]),
        ("a.jsonl", "", ["holds no labelled pair"]),
        ("a.jsonl", "[1]", ["line 1", "not an object"]),
        ("a.jsonl", LABELLED.replace("neutral", "perhaps"), ["line 1, at /label", "perhaps", "expected"]),
        ("a.jsonl", LABELLED + "\n" + LABELLED.replace('"a"', "7"), ["line 2, at /premise", "expected a string"]),
        ("a.jsonl", b"\xff\xfe", ["not readable as text"]),
        ("a.jsonl.gz", b"not gzip", ["not readable as text"]),
        ("a.jsonl.gz", gzip.compress(LABELLED.encode(), mtime=0)[:-12], ["not readable as text"]),
        ("a.jsonl.gz", gzip.compress(bytes(300), mtime=0)[:10] + b"\xff" * 30, ["not readable as text"]),
    ],
)
def test_labelled_pairs_that_cannot_be_read(invoke, tmp_path, name, content, words):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    unreadable(invoke("judge-eval", path), path, *words)


def test_labelled_pairs_in_a_missing_file_or_a_folder(invoke, tmp_path):
    unreadable(invoke("judge-eval", tmp_path / "gone.jsonl"), "gone.jsonl: no such file")
    unreadable(invoke("judge-eval", tmp_path), tmp_path, "Is a directory")


def test_debug_shows_the_traceback(invoke, tmp_path):
    result = invoke("inspect", tmp_path / "gone.json", "--debug")
    assert type(result.exception).__name__ == "RolloutFormatError"
