"""Runs are counted from begin to end, whatever ends them, and a query keeps what it was refused."""

from __future__ import annotations

import threading

import pytest

from likewise.reliability.under_way import (
    QueryScope,
    Refusal,
    runs_begun,
    runs_ended,
    runs_under_way,
    scopes_under_way,
    under_way,
)


def test_a_run_is_under_way_until_it_ends_by_an_error_too():
    scope, begun, ended, running = QueryScope(), runs_begun(), runs_ended(), runs_under_way()

    def fail():
        with under_way(scope), under_way(scope):
            assert (runs_begun() - begun, runs_ended() - ended, runs_under_way() - running) == (2, 0, 2)
            assert scope in scopes_under_way()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (runs_begun() - begun, runs_ended() - ended, runs_under_way() - running) == (2, 2, 0)
    assert scope not in scopes_under_way()


def test_a_query_that_has_one_of_two_runs_left_is_under_way():
    scope = QueryScope()
    with under_way(scope):
        with under_way(scope):
            pass
        assert scope in scopes_under_way()


def test_refusals_are_counted_from_all_threads_and_listed_by_run_with_the_unknown_last():
    scope = QueryScope()
    unknown, second, tenth = (Refusal(run, "refund", "not permitted") for run in (None, 2, 10))

    def work():
        for refusal in (unknown, tenth, second):
            scope.note(refusal)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(scope.refused().items()) == [(second, 8), (tenth, 8), (unknown, 8)]
    assert QueryScope().refused() == {}
