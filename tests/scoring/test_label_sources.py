from __future__ import annotations

import json
import os
import threading

import fsspec
import pytest

from likewise.core.errors import RolloutFormatError, UnknownFormatError
from likewise.core.rollout import Action, ToolCall
from likewise.formats.text_pairs import TextPairFile
from likewise.scoring.label_sources import SCOPE_LINES, file_pairs, group_pairs, label_input, pairs_in_group
from scoring.runs import INVALID, group, run, speaking

LINES = [{"a": "Yes.", "b": "No."}, {"a": 'get({"id": 1})', "b": "No."}]


@pytest.fixture
def pairs_file(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(map(json.dumps, LINES)))
    return path


def test_pairs_of_a_group_are_those_of_runs_at_the_turns_both_have():
    runs = speaking("ab", "cde", "f")
    found = [(p.first.text, p.second.text, p.place["runs"], p.place["turn"]) for p in group_pairs(runs)]
    assert found == [
        ("a", "c", ["0", "1"], 0),
        ("b", "d", ["0", "1"], 1),
        ("a", "f", ["0", "2"], 0),
        ("c", "f", ["1", "2"], 0),
    ]
    assert pairs_in_group(runs) == 4
    assert {p.scope for p in group_pairs(runs)} == {("task", "t")}


def test_runs_that_failed_in_the_harness_are_in_no_pair():
    runs = group(run("1", "a"), run("2", "b"), run("3", "c", stop=INVALID))
    assert [p.place["runs"] for p in group_pairs(runs)] == [["1", "2"]]
    assert pairs_in_group(runs) == 1


@pytest.mark.parametrize("lengths", [[], [3], [0, 2], [5, 1, 4, 4], [2] * 6])
def test_pairs_are_counted_without_being_made(lengths):
    runs = speaking("x", *("y" * length for length in lengths))
    assert pairs_in_group(runs) == sum(1 for _ in group_pairs(runs))


def test_text_that_spells_calls_is_read_as_calls(pairs_file):
    file = TextPairFile("f", lambda: pairs_file.open("rb"))
    (plain, calling) = file_pairs(file)
    assert (plain.first, plain.second) == (Action("Yes."), Action("No."))
    assert calling.first == Action(tool_calls=(ToolCall("get", {"id": 1}),))
    assert calling.place == {"file": "f", "line": 2}


def test_lines_of_a_file_are_parted_into_scopes(pairs_file):
    many = TextPairFile("f", lambda: pairs_file.open("rb"))
    assert {p.scope for p in file_pairs(many)} == {("f", 0)}
    assert (SCOPE_LINES - 1) // SCOPE_LINES == 0


def test_runs_and_pairs_are_told_apart_by_content(pairs_file, runs_file):
    runs = runs_file({"t": {"1": ["a", "b"], "2": ["c"]}})
    with label_input([str(pairs_file), str(runs)]) as found:
        assert [p.place.get("line") for p in found] == [None, 1, 2]  # runs first
        assert found.count() == 3
        assert found.excluded_count == 0
        assert [rollout.run_id for rollout in found.rollouts] == ["1", "2"]


def test_with_a_format_named_everything_is_runs(pairs_file):
    with label_input([str(pairs_file)], format="native") as found:
        assert (found.groups, found.files) == ([], [])
        assert [excluded.line for excluded in found.excluded] == [1, 2]


def test_a_folder_is_read_for_runs(runs_file, tmp_path):
    runs_file({"t": {"1": ["a"], "2": ["b"]}})
    with label_input([str(tmp_path)]) as found:
        assert found.count() == 1


def test_what_is_neither_is_refused_with_its_name(tmp_path):
    other = tmp_path / "other.json"
    other.write_text('{"x": 1}')
    with pytest.raises(UnknownFormatError, match=r"other\.json"), label_input([str(other)]):
        pass
    with pytest.raises(RolloutFormatError, match="no such file"), label_input([str(tmp_path / "none")]):
        pass


def test_excluded_lines_are_counted_when_all_was_read(pairs_file):
    pairs_file.write_text(pairs_file.read_text() + "\nhello\n")
    with label_input([str(pairs_file)]) as found:
        assert sum(1 for _ in found) == 2
        assert found.excluded_count == 1
    with label_input([str(pairs_file)], strict=True) as found, pytest.raises(RolloutFormatError, match="line 3"):
        list(found)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_taken_for_pairs_and_read_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text("\n".join(map(json.dumps, LINES))))
    writer.start()
    with label_input([str(pipe)]) as found:
        assert found.count() is None
        assert sum(1 for _ in found) == 2
    writer.join()


@pytest.fixture
def bucket():
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()


def test_addresses_hold_runs_and_pairs(bucket, pairs_file, runs_file):
    bucket.put(str(pairs_file), "/b/pairs.jsonl")
    bucket.put(str(runs_file({"t": {"1": ["a"], "2": ["b"]}})), "/b/runs.jsonl")
    with label_input(["memory://b/pairs.jsonl", "memory://b/runs.jsonl"]) as found:
        assert [p.place.get("file") for p in found] == [None, "memory://b/pairs.jsonl", "memory://b/pairs.jsonl"]


def test_errors_of_runs_at_an_address_name_the_address(bucket):
    bucket.pipe({"/b/other.json": b'{"x": 1}', "/b/broken.json": b'{"x": '})
    with pytest.raises(UnknownFormatError) as told, label_input(["memory://b/other.json"]):
        pass
    assert str(told.value).startswith("memory://b/other.json: ")
    with pytest.raises((RolloutFormatError, UnknownFormatError)) as told, label_input(["memory://b/broken.json"]):
        pass
    assert str(told.value).startswith("memory://b/broken.json")
