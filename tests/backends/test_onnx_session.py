from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from likewise.backends import onnx_session
from likewise.backends.onnx_session import file_digest, load_session, load_tokenizer, side_by_side, usable_cores
from likewise.core.errors import BackendError


def test_results_come_in_order_of_the_rows_whichever_is_ready_first():
    def slow_first(row):
        time.sleep(0.05 if row == 0 else 0.0)
        return 10 * row

    assert list(side_by_side(slow_first, range(8))) == [10 * row for row in range(8)]


def test_no_rows_give_no_results():
    assert list(side_by_side(str, [])) == []


def test_rows_run_side_by_side(monkeypatch):
    monkeypatch.setattr(onnx_session, "usable_cores", lambda: 2)
    both = threading.Barrier(2, timeout=10)
    assert sorted(side_by_side(lambda row: both.wait(), range(2))) == [0, 1]


def test_the_first_failure_reaches_the_caller_and_stops_the_rest(monkeypatch):
    monkeypatch.setattr(onnx_session, "usable_cores", lambda: 2)
    started = []

    def third_fails(row):
        started.append(row)
        if row == 2:
            raise BackendError("row 2")
        time.sleep(0.005)
        return row

    results = side_by_side(third_fails, range(1000))
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(BackendError, match="row 2"):
        next(results)
    assert len(started) < 100


def test_a_caller_that_stops_early_stops_the_rest(monkeypatch):
    monkeypatch.setattr(onnx_session, "usable_cores", lambda: 1)
    started = []

    def noted(row):
        started.append(row)
        time.sleep(0.005)
        return row

    results = side_by_side(noted, range(1000))
    assert next(results) == 0
    results.close()
    assert len(started) < 100


def test_no_thread_is_left_behind():
    before = threading.active_count()
    list(side_by_side(str, range(20)))
    assert threading.active_count() == before


def test_rows_are_taken_a_few_ahead_of_the_results():
    taken = []

    def rows():
        for row in range(1000):
            taken.append(row)
            yield row

    results = side_by_side(str, rows(), 2)
    assert next(results) == "0"
    assert len(taken) <= 2 * onnx_session.AHEAD + 1
    assert [*results] == [str(row) for row in range(1, 1000)]


def test_an_interrupt_while_rows_are_at_work_stops_the_rest_and_leaves_no_thread_behind():
    before, started = threading.active_count(), []

    def noted(row):
        started.append(row)
        if row == 3:
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.005)
        return row

    with pytest.raises(KeyboardInterrupt):
        list(side_by_side(noted, range(1000), 2))
    assert len(started) < 100
    assert threading.active_count() == before


def test_there_is_at_least_one_core(monkeypatch):
    assert usable_cores() >= 1
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: None)
    assert usable_cores() == 1


def test_a_digest_names_the_content_of_files_in_order(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_bytes(b"1")
    b.write_bytes(b"2")
    assert len(file_digest(a)) == 8
    assert file_digest(a, b) != file_digest(b, a)
    copy = tmp_path / "copy"
    copy.write_bytes(b"1")
    assert file_digest(copy) == file_digest(a)


def test_a_file_that_changes_gets_another_digest_in_the_same_process(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"1")
    before = file_digest(path)
    path.write_bytes(b"22")
    longer = file_digest(path)
    path.write_bytes(b"33")
    os.utime(path, ns=(1, 1))
    assert len({before, longer, file_digest(path)}) == 3


@pytest.mark.parametrize("content", [None, b"", b"no graph"])
def test_a_missing_or_broken_graph_is_named(tmp_path, content):
    path = tmp_path / "read.onnx"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BackendError, match=r"read\.onnx: cannot be loaded as an ONNX model"):
        load_session(path)


@pytest.mark.parametrize("content", [None, b"", b"{}"])
def test_a_missing_or_broken_tokenizer_is_named(tmp_path, content):
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BackendError, match=r"tokenizer\.json: cannot be loaded as a tokenizer"):
        load_tokenizer(path)
