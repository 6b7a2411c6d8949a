from __future__ import annotations

import gzip
import json
import sys
import tracemalloc
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from likewise.core.errors import MissingExtraError
from likewise.core.group import group_rollouts
from likewise.formats.registry import read_rollouts
from likewise.store.export import export_rollouts, export_verdicts, rollout_lines, verdict_lines
from likewise.store.verdicts import VerdictFilter
from verdicts_factory import NO, NOON, YES, record_of

BOT = VerdictFilter(agent="bot")


@pytest.fixture
def three(store):
    store.write(
        [
            record_of(YES, NO, id="b", hours=1, task="t", version="2"),
            record_of(YES, YES, id="a", task="t"),
            record_of(NO, NO, id="c", agent="other", hours=2, task="t", query="lone \ud83d"),
        ]
    )
    return store


@pytest.mark.parametrize("name", ["runs.jsonl", "runs.jsonl.gz"])
def test_runs_come_out_as_files_that_are_read_as_groups(three, tmp_path, name):
    path = tmp_path / name
    assert export_rollouts(three, path, BOT) == 4
    (group,) = group_rollouts(read_rollouts([path]))
    assert group.task_id == "t"
    assert [(each.run_id, each.answer) for each in group.rollouts] == [
        ("a#0", YES),
        ("a#1", YES),
        ("b#0", YES),
        ("b#1", NO),
    ]


def test_runs_of_several_agents_are_not_mixed(three, tmp_path):
    with pytest.raises(ValueError, match="needs an agent"):
        export_rollouts(three, tmp_path / "runs.jsonl", VerdictFilter())
    with pytest.raises(ValueError, match="needs an agent"):
        list(rollout_lines(three, VerdictFilter()))
    assert len(list(rollout_lines(three, VerdictFilter(agent="bot", version="2")))) == 2


def test_verdicts_come_out_in_full_oldest_first(three, tmp_path):
    path = tmp_path / "verdicts.jsonl"
    assert export_verdicts(three, path) == 3
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert [each["id"] for each in found] == ["a", "b", "c"]
    assert found[1] == json.loads(json.dumps(three.verdicts.get("b").as_json()))
    assert [json.loads(line) for line in verdict_lines(three, BOT)] == found[:2]


def test_verdicts_come_out_as_a_table(three, tmp_path):
    path = tmp_path / "verdicts.parquet"
    assert export_verdicts(three, path) == 3
    rows = pq.read_table(path).to_pylist()
    assert [row["id"] for row in rows] == ["a", "b", "c"]
    assert rows[0]["created"] == NOON
    assert rows[0]["reliability"] == 1.0
    assert rows[1]["contradictory"] is True
    assert rows[2]["query"] == "lone ?"
    assert json.loads(rows[2]["verdict"])["query"] == "lone \ud83d"


def test_a_table_without_rows_has_its_columns(store, tmp_path):
    assert export_verdicts(store, tmp_path / "none.parquet") == 0
    assert "reliability" in pq.read_schema(tmp_path / "none.parquet").names


def test_a_file_is_whole_or_not_there(three, tmp_path, monkeypatch):
    (tmp_path / "old.jsonl").write_text("old")

    def fail(*arguments, **options):
        yield from ()
        raise OSError("the disk is full")

    monkeypatch.setattr(three.verdicts, "walk", fail)
    for name in ("old.jsonl", "new.parquet"):
        with pytest.raises(OSError, match="full"):
            export_verdicts(three, tmp_path / name)
    assert sorted(each.name for each in tmp_path.iterdir() if "history" not in each.name) == ["old.jsonl"]
    assert (tmp_path / "old.jsonl").read_text() == "old"


def test_a_missing_library_names_the_extra(three, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'likewise\[parquet\]'"):
        export_verdicts(three, tmp_path / "v.parquet")


def test_memory_stays_flat_however_much_there_is(store, tmp_path):
    text = "word " * 1_000

    def peak(path):
        tracemalloc.start()
        export_rollouts(store, path, BOT)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    one = record_of(text, text)
    store.write([replace(one, id=f"first{i}") for i in range(75)])
    first = peak(tmp_path / "a.jsonl.gz")
    store.write([replace(one, id=f"then{i}") for i in range(225)])
    second = peak(tmp_path / "b.jsonl.gz")
    with gzip.open(tmp_path / "b.jsonl.gz") as file:
        assert sum(1 for _ in file) == 600
    assert second < first * 1.5
