"""Words that exclude each other in texts that are otherwise the same: what is said, and what is left to the judge."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.backends.aligned import EXCLUSIVE, aligned_verdict
from likewise.core.labels import Relation

LONG = (
    "I have looked at your reservation, and {} The new total is $320, which will be charged to card 4417. "
    "Please let me know if there is anything else that I can do for you today."
)


def found(a, b):
    there, back = aligned_verdict(a, b), aligned_verdict(b, a)
    assert there == back
    return None if there is None else (there.relation, there.rule)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The red jacket in size L is in your cart.", "The blue jacket in size L is in your cart."),
        ("I booked a seat in basic economy for you.", "I booked a seat in business for you."),
        ("Your appointment is on Monday morning.", "Your appointment is on Friday morning."),
        ("The refund goes to your gift card.", "The refund goes to your credit card."),
        ("Order #W12 is now pending.", "Order #W12 is now delivered."),
        ("It is a round-trip ticket to Denver.", "It is a one-way ticket to Denver."),
        ("Take the tablet before breakfast.", "Take the tablet after breakfast."),
        ("Pay at least $20 today please.", "Pay at most $20 today please."),
        ("Shall I book the morning flight?", "Shall I book the evening flight?"),
        # two things differ, and both exclude each other
        ("The red jacket costs $20 here.", "The blue jacket costs $25 here."),
    ],
)
def test_exclusive_words_in_otherwise_the_same_text_contradict(a, b):
    assert found(a, b) == (Relation.CONTRADICTORY, "aligned:exclusive")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("your ticket can be cancelled.", "your ticket cannot be cancelled."),
        ("your ticket is refundable.", "your ticket is not refundable."),
        ("your ticket is refundable.", "your ticket is non-refundable."),
        ("I am able to change it.", "I am unable to change it."),
        ("I am able to change it.", "I'm not able to change it."),
        ("your request was approved.", "your request was denied."),
        ("there is a fee for this.", "there is no fee for this."),
        ("it comes with insurance.", "it comes without insurance."),
        ("we will send it.", "we won’t send it."),
        ("the price is $50 for members.", "the price is not $50 for members."),
    ],
)
def test_grant_and_refusal_in_otherwise_the_same_long_text_contradict(first, second):
    assert found(LONG.format(first), LONG.format(second)) == (Relation.CONTRADICTORY, "aligned:opposite")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("", ""),
        ("Monday", "Friday"),  # may answer anything
        ("The red jacket is in your cart.", "The red jacket is in your cart!"),
        ("The red jacket is in your cart.", "Your cart holds the blue jacket."),  # other words
        ("The red jacket is in your cart.", "The woollen jacket is in your cart."),  # no class has both
        ("Your order was canceled this week.", "Your order was cancelled this week."),
        ("The gray jacket is in your cart.", "The grey jacket is in your cart."),
        ("You can have the red or blue jacket.", "You can have the blue or red jacket."),  # the same choice
        ("It comes in red, white or blue now.", "It comes in red, black or blue now."),  # room for more
        ("Pack the red bag, then the blue bag.", "Pack the blue bag, then the red bag."),  # the same in another order
        ("It is not a red jacket in there.", "It is not a blue jacket in there."),  # neither may be
        ("Is the pain on the left side?", "Is the pain on the right side?"),  # two questions, no statement
        ("Is the flag enabled here?", "Is the flag disabled here?"),
        ("Can't you cancel the order?", "Can you cancel the order?"),
        ("Tell me if it is correct, please.", "Tell me if it is not correct, please."),  # reckons with both
        ("I am not sure that it is allowed there.", "I am not sure that it is not allowed there."),
        ("It may be refunded in this case.", "It may not be refunded in this case."),  # both may be
        ("The seat is available on that day.", "The seat is not unavailable on that day."),  # two turns are none
        ("We do not only sell tickets here.", "We only sell tickets here."),
        ("Refunds take 5 business days to arrive.", "Refunds take 5 working days to arrive."),  # nothing to a cabin
        ("The fee of $20 applies to this.", "The fee of $30 applies to this."),  # the slot guard's
    ],
)
def test_what_could_be_otherwise_is_left_to_the_judge(a, b):
    assert found(a, b) is None


def test_the_same_said_of_two_objects_is_neutral():
    a, b = "Order #W12 is pending at this time.", "Order #W13 is delivered at this time."
    assert found(a, b) == (Relation.NEUTRAL, "aligned:other-object")


def test_no_word_is_in_two_classes():
    spelled = [word for members in EXCLUSIVE.values() for member in members.split() for word in member.split("/")]
    assert len(spelled) == len(set(spelled))


WORDS = "the|red|blue|Monday|Friday|not|can|cannot|is|order|#W1|#W2|$5|$6|.|,|?|or|if|approved|denied|no|unable to"
pieces = st.sampled_from(WORDS.split("|"))
texts = st.lists(pieces, max_size=9).map(" ".join) | st.text(max_size=30)


@given(texts, texts)
def test_the_verdict_is_symmetric_and_never_equivalent(a, b):
    verdict = aligned_verdict(a, b)
    assert verdict == aligned_verdict(b, a)
    assert verdict is None or verdict.relation is not Relation.EQUIVALENT
    assert aligned_verdict(a, a) is None


@pytest.mark.parametrize("piece", ["red or not ", "cannot ", "no, ", "n't", "if a? ", "$1 not ", "one way "])
def test_long_texts_take_time_in_proportion(piece):
    def seconds(length):
        text = piece * (length // len(piece))
        start = time.process_time()
        aligned_verdict(text, text + "not blue")
        aligned_verdict(text, text.replace("red", "blue"))
        return time.process_time() - start

    short, long = seconds(5_000), seconds(50_000)
    assert long < 25 * short + 1.0  # ten times the text; a square would be a hundred
