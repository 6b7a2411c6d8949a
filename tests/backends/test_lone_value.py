"""One value that differs in two texts that say the same: which equivalences it turns into contradictions."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.backends.lone_value import lone_value
from likewise.backends.slots import apply_verdict
from likewise.core.labels import Judgement, Relation

EQUIVALENT, NEUTRAL, CONTRADICTORY = (Judgement.certain(relation, "nli") for relation in Relation)


@pytest.mark.parametrize(
    ("a", "b", "values"),
    [
        (
            "The refund of $38 goes to your card within 5 days.",
            "Within 5 days your card gets the refund: $41.",
            {"$38", "$41"},
        ),
        ("You arrive on May 20 at 3 PM in Denver.", "In Denver you arrive at 15:00, on May 21.", {"May 20", "May 21"}),
        ("The rate of the loan is 4%.", "For this loan the rate will be 5 percent.", {"4%", "5 percent"}),
        ("Order W12 weighs 3 kg in all.", "In all, what order W12 weighs is 4 kg.", {"3 kg", "4 kg"}),
    ],
)
def test_one_value_that_differs_makes_an_equivalence_a_contradiction(a, b, values):
    for x, y in ((a, b), (b, a)):
        verdict = lone_value(x, y)
        assert verdict is not None
        assert {verdict.first.text, verdict.second.text} == values
        assert apply_verdict(EQUIVALENT, verdict) == Judgement.certain(Relation.CONTRADICTORY, "slots:lone-value")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (
            "I booked a seat in economy class on your flight.",
            "Your flight has a seat in business class, which I booked.",
        ),
        ("The shirt in your cart is a red one.", "There is a blue shirt in your cart."),
        ("Your visit to the clinic is on Monday.", "On Friday is your visit to the clinic."),
    ],
)
def test_one_exclusive_word_does_the_same(a, b):
    for x, y in ((a, b), (b, a)):
        verdict = lone_value(x, y)
        assert apply_verdict(EQUIVALENT, verdict) == Judgement.certain(Relation.CONTRADICTORY, "aligned:lone-word")
        assert apply_verdict(NEUTRAL, verdict) is NEUTRAL


def test_what_the_judge_calls_neutral_or_contradictory_stays_so():
    verdict = lone_value("The refund of $38 goes to your card.", "Your card gets the refund: $41.")
    assert apply_verdict(NEUTRAL, verdict) is NEUTRAL
    assert apply_verdict(CONTRADICTORY, verdict) is CONTRADICTORY


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("", ""),
        ("The refund is $38 today.", "Your refund today: $38.00"),  # the same value
        ("The refund is $38 today.", "The refund today was made."),  # said by one only
        ("You pay $38 and $5 for this.", "For this you pay $41 and $6."),  # two differ
        ("The refund is $38 for this.", "For this refund wait 3 days."),  # values of two kinds
        ("The fee is $38 for this.", "For this the fee is 38 euros."),  # two currencies: the judge's
        ("A change of -$0.60 for the order", "For the order a change: $0.60 back"),  # the sign is told in words
        ("There are 3 things to send.", "Things to send: 1. a photo"),  # bare numbers count anything
        ("Order W12: the total is $38.", "The total of order W13: $41."),  # two objects
        ("The shirt is red, and a blue one is in stock.", "In stock is a shirt: it is blue."),  # one says more
        ("The red or blue shirt fits, with a small hat.", "With a large hat fits the green shirt."),  # two words differ
        ("It is not the red shirt in stock.", "In stock is the blue shirt."),
        (
            "Your order has been processed.",
            "Your order was cancelled as soon as it was shipped.",
        ),  # states are acts, too
        ("The refund of $38 was sent.", "Dinner for eight guests costs $41 there."),  # two things
    ],
)
def test_where_it_is_not_one_value_of_one_thing_nothing_is_said(a, b):
    assert lone_value(a, b) is None
    assert lone_value(b, a) is None


WORDS = "$5|$6|3 days|4 days|May 2|2024-05-02|May 3|W12|W13|total|refund|is|the|card"
pieces = st.sampled_from(WORDS.split("|"))
texts = st.lists(pieces, max_size=9).map(" ".join) | st.text(max_size=30)


@given(texts, texts)
def test_the_verdict_is_the_same_from_either_side_and_none_against_itself(a, b):
    there, back = lone_value(a, b), lone_value(b, a)
    assert (there is None) == (back is None)
    assert there is None or (there.relation, there.rule) == (back.relation, back.rule)
    assert lone_value(a, a) is None


def test_a_table_of_prices_is_left_alone_and_fast():
    table = " ".join(f"item {i} costs ${i}.50" for i in range(4000))
    began = time.process_time()
    assert lone_value(table, table + " and $7") is None
    assert time.process_time() - began < 5.0
