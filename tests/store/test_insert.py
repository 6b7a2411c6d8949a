from __future__ import annotations

import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError

from likewise.store.insert import insert_rows
from likewise.store.models import ClashRow, RunRow, VerdictRow
from likewise.store.redaction import Redactor
from verdicts_factory import NO, YES, record_of

PLAIN = Redactor()


def counts(store):
    with store.database.reading() as connection:
        return [
            connection.execute(select(func.count()).select_from(t)).scalar() for t in (VerdictRow, RunRow, ClashRow)
        ]


def test_a_verdict_is_written_with_its_runs_and_clashes(store):
    assert store.write([record_of(YES, NO, YES)]) == 1
    assert counts(store) == [1, 3, 2]


def test_what_is_written_twice_is_there_once_and_the_first_stays(store):
    assert store.write([record_of(YES, YES, id="a")]) == 1
    assert store.write([record_of(NO, NO, NO, id="a"), record_of(id="b")]) == 1
    assert counts(store) == [2, 5, 2]
    assert store.verdicts.get("a").summary.answer == YES


def test_of_two_with_one_name_in_one_batch_the_first_stays(store):
    assert store.write([record_of(YES, YES, id="a"), record_of(NO, NO, id="a")]) == 1
    assert store.verdicts.get("a").summary.answer == YES


def test_more_than_a_statement_takes_is_written_all_the_same(store):
    assert store.write([record_of(YES, YES) for _ in range(230)]) == 230
    assert counts(store) == [230, 460, 0]


def test_nothing_is_written_where_one_row_cannot_be(store):
    good, bad = record_of(id="good").rows(PLAIN), record_of(id="bad").rows(PLAIN)
    del bad.verdict["agent"]
    bad.verdict["agent"] = None
    with pytest.raises(IntegrityError):
        insert_rows(store.database, [good, bad])
    assert counts(store) == [0, 0, 0]


def test_no_verdicts_are_no_work(store):
    assert store.write([]) == 0
