from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.core.labels import Relation
from likewise.training.environments.bookings_words import BookingsJudge, Intent, meaning_of


@pytest.mark.parametrize(
    ("text", "intent", "change", "days"),
    [
        ("What is your booking number?", Intent.ASK_NUMBER, "", set()),
        ("May I have your name?", Intent.ASK_NAME, "", set()),
        ("Shall I move it to Friday?", Intent.ASK_LEAVE, "moved", {"Fri"}),
        ("Your booking B1 has been moved to Friday.", Intent.TELL, "moved", {"Fri"}),
        ("B1 is now on Fri.", Intent.TELL, "moved", {"Fri"}),
        ("I cancelled B2.", Intent.TELL, "cancelled", set()),
        ("Your booking is for Wednesday.", Intent.TELL, "", {"Wed"}),
        ("Sorry, I cannot move it to Sat.", Intent.CANNOT, "moved", {"Sat"}),
        ("Good morning!", Intent.OTHER, "", set()),
        ("", Intent.OTHER, "", set()),
    ],
)
def test_a_message_is_read_for_what_it_is_for(text, intent, change, days):
    found = meaning_of(text)
    assert (found.intent, found.change, found.days) == (intent, change, days)


def relation(first, second):
    (judgement,) = BookingsJudge().judge([(first, second)])
    return judgement.relation


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("B1 is now on Fri.", "Done, I moved it to Friday.", Relation.EQUIVALENT),
        ("B1 is now on Fri.", "B1 is now on Sat.", Relation.CONTRADICTORY),
        ("B1 is now on Fri.", "B2 is now on Sat.", Relation.NEUTRAL),
        ("I cancelled it.", "Sorry, I cannot cancel it.", Relation.CONTRADICTORY),
        ("What is your booking number?", "Which number has your booking?", Relation.EQUIVALENT),
        ("What is your booking number?", "B1 is now on Fri.", Relation.NEUTRAL),
        ("I cancelled it.", "I booked Fri for you.", Relation.NEUTRAL),
        ("Hello.", "hello. ", Relation.EQUIVALENT),
        ("Hello.", "Good morning.", Relation.NEUTRAL),
    ],
)
def test_messages_are_compared_by_what_they_mean(first, second, expected):
    assert relation(first, second) is expected


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_judge_is_symmetric_and_a_text_means_what_it_means(first, second):
    assert relation(first, second) is relation(second, first)
    assert relation(first, first) is Relation.EQUIVALENT


def test_a_judge_travels_to_other_processes():
    assert pickle.loads(pickle.dumps(BookingsJudge())).judge_id == BookingsJudge().judge_id


def test_the_judge_counts_what_it_did():
    class Bar:
        done = 0

        def advance(self, steps=1):
            self.done += steps

    bar = Bar()
    assert len(list(BookingsJudge().judge([("a", "b")] * 3, bar))) == bar.done == 3
