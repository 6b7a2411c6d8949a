from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.backends.opposites import are_opposites


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("flag enabled", "flag disabled"),
        ("The refund was approved.", "The refund was denied."),
        ("Your request is approved", "Your request isn't approved."),
        ("You can cancel this booking.", "You cannot cancel this booking."),
        ("We will refund you.", "We won’t refund you."),
        ("The ticket has been paid.", "The ticket has not been paid."),
    ],
)
def test_a_negation_or_an_antonym_makes_short_statements_opposites_in_either_order(a, b):
    assert are_opposites(a, b)
    assert are_opposites(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("flag enabled", "flag enabled"),
        ("", "not"),
        ("flag enabled", "lamp disabled"),  # two things
        ("The refund was approved.", "The refund was approved today."),
        ("Is it enabled?", "Is it disabled?"),  # both ask for the same
        ("Can't you cancel it?", "Can you cancel it?"),
        ("I want tea, not coffee.", "I want tea, coffee."),  # no auxiliary in front
        ("not enabled", "enabled"),  # a fragment may be half of a sentence
        ("The flag is not not set", "The flag is set"),
        (
            "I looked at the booking again and, as far as I can see from here, the fare is refundable",
            "I looked at the booking again and, as far as I can see from here, the fare is nonrefundable",
        ),
    ],
)
def test_nothing_is_said_of_what_could_be_otherwise(a, b):
    assert not are_opposites(a, b)
    assert not are_opposites(b, a)


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_order_never_matters_and_a_text_is_never_its_own_opposite(a, b):
    assert are_opposites(a, b) == are_opposites(b, a)
    assert not are_opposites(a, a)


def test_a_huge_text_is_left_after_its_first_words():
    assert not are_opposites("word " * 2_000_000, "flag enabled")
