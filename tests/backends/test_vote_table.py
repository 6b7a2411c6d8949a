"""Votes in the file of the label store."""

import sqlite3
from contextlib import closing

import pytest

from likewise.backends.label_store import LabelStore
from likewise.backends.vote_table import VoteTable, vote_key
from likewise.core.errors import BackendError

ONE, TWO = vote_key("judge", "note", "record"), vote_key("judge", "note", "recorded")


def test_votes_come_back_in_their_order_and_survive_the_process(tmp_path):
    path = tmp_path / "labels.sqlite"
    with LabelStore(path) as store:
        table = VoteTable(store)
        assert table.get_many([ONE]) == {}
        for number, vote in enumerate((2, None, 0)):
            table.put(ONE, number, vote)
        table.put(TWO, 0, 7)
    with LabelStore(path) as store:
        assert VoteTable(store).get_many([ONE, TWO, ONE, vote_key("x", "y", "z")]) == {ONE: (2, None, 0), TWO: (7,)}


def test_the_first_vote_under_a_number_stays():
    with LabelStore(None) as store:
        table = VoteTable(store)
        table.put(ONE, 0, 1)
        table.put(ONE, 0, 2)
        assert table.get_many([ONE]) == {ONE: (1,)}


def test_more_keys_than_a_statement_takes_are_looked_up():
    keys = [vote_key("j", str(number), "r") for number in range(2_000)]
    with LabelStore(None) as store:
        table = VoteTable(store)
        for number in (0, 899, 900, 1_999):
            table.put(keys[number], 0, number)
        assert table.get_many(keys) == {keys[n]: (n,) for n in (0, 899, 900, 1_999)}


@pytest.mark.parametrize("vote", [ValueError("no answer"), "2", 1.0, True])
def test_what_is_no_vote_is_not_kept(vote):
    with LabelStore(None) as store, pytest.raises(TypeError, match="keeps votes, never failures"):
        VoteTable(store).put(ONE, 0, vote)


def test_neither_record_nor_note_is_written(tmp_path):
    path = tmp_path / "labels.sqlite"
    with LabelStore(path) as store:
        VoteTable(store).put(vote_key("judge", "a private note", "a private record"), 0, 1)
    with closing(sqlite3.connect(path)) as connection:
        dump = "\n".join(connection.iterdump())
    assert "votes" in dump
    assert "private" not in dump


def test_parts_of_a_key_are_not_confused_and_lone_surrogates_have_one():
    keys = {vote_key(*parts) for parts in (("ab", "c", ""), ("a", "bc", ""), ("a", "b", "c"), ("\ud800", "", ""))}
    assert len(keys) == 4


def test_a_store_that_is_closed_is_told_as_such(tmp_path):
    store = LabelStore(tmp_path / "labels.sqlite")
    store.close()
    with pytest.raises(BackendError):
        VoteTable(store).get_many([ONE])
