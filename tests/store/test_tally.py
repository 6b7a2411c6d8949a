from __future__ import annotations

from dataclasses import fields
from datetime import timedelta

from likewise.store.models import DailyRow
from likewise.store.tally import KEPT, SUMS, Tally
from verdicts_factory import NOON


def test_tallies_add_up():
    one = Tally(NOON, NOON + timedelta(hours=1), 3, 1, 0, 2, 1, 2, 1.5, 1.25, 2, 0.5, 0.25)
    two = Tally(NOON - timedelta(hours=1), NOON, 1, 0, 1, 1, 0, 1, 0.5, 0.25, 1, 0.25, 0.0625)
    both = Tally(NOON - timedelta(hours=1), NOON + timedelta(hours=1), 4, 1, 1, 3, 1, 3, 2.0, 1.5, 3, 0.75, 0.3125)
    assert one + two == two + one == both


def test_what_is_counted_live_is_what_is_kept_and_what_there_is_a_column_for():
    names = {each.name for each in fields(Tally)}
    assert {column.name for column in SUMS} == names
    assert {column.name for column in KEPT} == names
    assert names | {"day", "agent", "version"} == {column.name for column in DailyRow.__table__.columns}
