from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.backends.slots import Slot, SlotKind, apply_slot_guard, extract_slots, slot_verdict
from likewise.core.labels import Judgement, Relation

K = SlotKind
EQUIVALENT = Judgement.certain(Relation.EQUIVALENT, "nli")
NEUTRAL = Judgement.certain(Relation.NEUTRAL, "nli")
CONTRADICTORY = Judgement.certain(Relation.CONTRADICTORY, "nli")


def only(text):
    slots = extract_slots(text)
    assert len(slots) == 1, slots
    return slots[0].kind, slots[0].value


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("a fee of $1,000", K.MONEY, ("usd", "1000")),
        ("a fee of $1000.00", K.MONEY, ("usd", "1000")),
        ("1000 dollars", K.MONEY, ("usd", "1000")),
        ("1250 euros", K.MONEY, ("eur", "1250")),
        ("€1,250.50", K.MONEY, ("eur", "1250.5")),
        ("£68.00", K.MONEY, ("gbp", "68")),
        ("15% off", K.PERCENT, ("15",)),
        ("15.0 percent off", K.PERCENT, ("15",)),
        ("on May 20", K.DATE, (None, 5, 20)),
        ("on May 20th, 2024", K.DATE, (2024, 5, 20)),
        ("on 20 May 2024", K.DATE, (2024, 5, 20)),
        ("on the 20th of May", K.DATE, (None, 5, 20)),
        ("on 2024-05-20", K.DATE, (2024, 5, 20)),
        ("on 5/20/2024", K.DATE, (2024, 5, 20)),
        ("on 20/5/2024", K.DATE, (2024, 5, 20)),
        ("on 20.5.2024", K.DATE, (2024, 5, 20)),
        ("it is -5 outside", K.NUMBER, ("-5",)),
        ("a change of -1.5%", K.PERCENT, ("-1.5",)),
        ("a balance of -$80", K.MONEY, ("usd", "-80")),
        ("release v1.2.3 is out", K.IDENTIFIER, ("v1.2.3",)),
        ("ping 10.0.0.1", K.IDENTIFIER, ("10.0.0.1",)),
        ("by Sept. 2024", K.DATE, (2024, 9, None)),
        ("at 3 PM", K.TIME, (900, 1)),
        ("at 3:00 p.m.", K.TIME, (900, 1)),
        ("at 15:00", K.TIME, (900, 1)),
        ("at 12 AM", K.TIME, (0, 1)),
        ("at 12:30 pm", K.TIME, (750, 1)),
        ("at 9:30", K.TIME, (570, 0)),
        ("at 09:30", K.TIME, (570, 1)),
        ("within 24 hours", K.DURATION, ("seconds", "86400")),
        ("within one day", K.DURATION, ("seconds", "86400")),
        ("within three business days", K.DURATION, ("seconds", "259200")),
        ("a 24-hour window", K.DURATION, ("seconds", "86400")),
        ("in 12 months", K.DURATION, ("months", "12")),
        ("in one year", K.DURATION, ("months", "12")),
        ("take 500 mg", K.QUANTITY, ("mg", "500")),
        ("2.3 miles away", K.QUANTITY, ("mile", "2.3")),
        ("the figures for 2019", K.YEAR, ("2019",)),
        ("divide by 2000", K.NUMBER, ("2000",)),
        ("Seven bags", K.NUMBER, ("7",)),
        ("there are 1,234 of them", K.NUMBER, ("1234",)),
        ("flight HAT169", K.IDENTIFIER, ("hat169",)),
        ("order #W1845024", K.IDENTIFIER, ("w1845024",)),
        ("claim CLM-40217 is open", K.IDENTIFIER, ("clm-40217",)),
        ("user mia_li_3668", K.IDENTIFIER, ("mia_li_3668",)),
        ("member 100 pending", K.IDENTIFIER, ("100",)),
        ("the card ending in 4417", K.IDENTIFIER, ("4417",)),
        ("reservation ID: IFOYYZ", K.IDENTIFIER, ("ifoyyz",)),
        ("write to a.b+c@mail.example.org now", K.IDENTIFIER, ("a.b+c@mail.example.org",)),
        ("call 555-0164", K.IDENTIFIER, ("555-0164",)),
    ],
)
def test_every_kind_of_slot_is_found_with_one_value_for_all_spellings(text, kind, value):
    assert only(text) == (kind, value)


@pytest.mark.parametrize(
    "text",
    ["", "Would you like to proceed?", "PLEASE do MAY I ask", "basic economy, JFK to SEA", "someone"],
)
def test_plain_words_have_no_slots(text):
    assert extract_slots(text) == ()


def test_slots_come_in_order_with_the_place_where_they_stand():
    text = "Pay $325 by May 20 at 3 PM."
    slots = extract_slots(text)
    assert [slot.kind for slot in slots] == [K.MONEY, K.DATE, K.TIME]
    assert [text[slot.start : slot.end] for slot in slots] == ["$325", "May 20", "3 PM"]
    assert slots[0] == Slot(K.MONEY, ("usd", "325"), "$325", 4)


def test_a_time_stamp_is_a_date_and_a_time():
    assert [slot.value for slot in extract_slots("at 2025-03-18T09:30")] == [(2025, 3, 18), (570, 1)]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("divide by 100", "divide by 1000"),
        ("The total is $325.", "The total is $350."),
        ("You get a 15% discount", "you get a 20 percent discount"),
        ("Your flight leaves on May 20.", "Your flight leaves on 2024-05-21."),
        ("It departs at 3 PM", "It departs at 16:00"),
        ("Refunds take 5 business days.", "Refunds take seven business days."),
        ("Take 500 mg twice", "Take 50 mg twice"),
        ("It is -5 outside", "It is 5 outside"),
        ("between 10-12 people", "between 10-14 people"),
        ("You have three bags", "You have 4 bags"),
        ("You can redeem 18,400 points", "You can redeem 1,840 points"),
        ("Your user ID is **mei_kovacs_8002**.", "Your user ID is **mei_kovacs_8020**."),
    ],
)
def test_another_value_in_otherwise_the_same_text_contradicts(a, b):
    for x, y in ((a, b), (b, a)):
        verdict = slot_verdict(x, y)
        assert verdict is not None
        assert (verdict.relation, verdict.rule, verdict.is_cap) == (Relation.CONTRADICTORY, "slots:value", False)
        assert apply_slot_guard(EQUIVALENT, x, y) == Judgement.certain(Relation.CONTRADICTORY, "slots:value")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("member 100 pending", "member 101 pending"),
        ("Order #W1 has shipped", "Order #W2 has shipped"),
        ("Flight HAT169 costs $171", "Flight HAT212 costs $154"),
        ("Revenue grew in 2019", "Revenue grew in 2020"),
        ("I've blocked the card ending in 4417", "I've blocked the card ending in 2093"),
    ],
)
def test_another_object_in_otherwise_the_same_text_is_neutral(a, b):
    for judged in (EQUIVALENT, CONTRADICTORY):
        assert apply_slot_guard(judged, a, b) == Judgement.certain(Relation.NEUTRAL, "slots:other-object")
        assert apply_slot_guard(judged, b, a) == Judgement.certain(Relation.NEUTRAL, "slots:other-object")
    assert apply_slot_guard(NEUTRAL, a, b) is NEUTRAL


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The total is $1,000.", "the total is $1000.00"),
        ("Leaves on May 20, at 3 PM", "leaves on 2024-05-20 at 15:00!"),
        ("on 20 May", "on May 20th"),
        ("It starts at 9:30 PM", "It starts at 9:30"),
        ("Your two bags", "Your 2 bags"),
        ("It takes 24 hours", "It takes 1 day"),
        ("within 12 months", "within one year"),
        ("order #W12", "order W12"),
    ],
)
def test_another_spelling_of_the_same_value_is_no_verdict(a, b):
    assert slot_verdict(a, b) is None
    assert slot_verdict(b, a) is None
    assert apply_slot_guard(EQUIVALENT, a, b) is EQUIVALENT


def test_objects_that_change_places_are_left_to_the_judge():
    a = "Reservation IFOYYZ can be cancelled, reservation NQNU5R cannot."
    b = "Reservation NQNU5R can be cancelled, reservation IFOYYZ cannot."
    assert slot_verdict(a, b) is None


def test_values_that_change_places_are_at_best_neutral():
    verdict = slot_verdict("Outbound $171, return $154", "Outbound $154, return $171")
    assert verdict is not None
    assert (verdict.relation, verdict.is_cap) == (Relation.NEUTRAL, True)


CAPPED = ("Your new total: $325. Shall I book it?", "Here you are. The new total: $350, to be paid today.")


def test_another_value_behind_the_same_words_takes_an_equivalence_away():
    assert apply_slot_guard(EQUIVALENT, *CAPPED) == Judgement.certain(Relation.NEUTRAL, "slots:cap")
    assert apply_slot_guard(EQUIVALENT, *reversed(CAPPED)) == Judgement.certain(Relation.NEUTRAL, "slots:cap")


def test_the_cap_leaves_neutral_and_contradictory_as_they_are():
    assert apply_slot_guard(NEUTRAL, *CAPPED) is NEUTRAL
    assert apply_slot_guard(CONTRADICTORY, *CAPPED) is CONTRADICTORY


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The new total is $325.", "The new total is $325, and the refund of $80 arrives in 5 days."),
        ("The total: $325", "The total for 2 passengers on HAT169: $325"),
        ("Both bookings, M05KNL and UHDAHF, can be changed", "I see UHDAHF and M05KNL"),
        ("Which flight?", "Which flight, HAT169 or HAT212?"),
        ("The fares: $171, then $154", "You pay the fares: $154 back and $171 out"),
    ],
)
def test_extra_slots_and_values_said_elsewhere_are_no_verdict(a, b):
    assert slot_verdict(a, b) is None
    assert slot_verdict(b, a) is None


WORDS = (
    "total|$325|$350|May 20|2024-05-21|at 3 PM|order|#W1|HAT169|7|seven|is|in|2019|5 days|a week|9:30|21:30|you|.|,"
    "|15%|no"
)
pieces = st.sampled_from(WORDS.split("|"))
texts = st.lists(pieces, max_size=8).map(" ".join) | st.text(max_size=30)


@given(texts, texts)
def test_the_guard_is_symmetric_and_never_makes_a_pair_alike(a, b):
    for judged in (EQUIVALENT, NEUTRAL, CONTRADICTORY):
        there, back = apply_slot_guard(judged, a, b), apply_slot_guard(judged, b, a)
        assert there.relation == back.relation
        assert there.relation != Relation.EQUIVALENT or judged is EQUIVALENT


@given(texts)
def test_a_text_says_nothing_against_itself(text):
    assert slot_verdict(text, text) is None
    slots = extract_slots(text)
    assert all(text[slot.start : slot.end] == slot.text for slot in slots)
    assert all(x.end <= y.start for x, y in pairwise(slots))


HOSTILE = (
    "1|1,|a|a-|1-|may 1 |@|a.|$|one |1 |12:|#|x@y.| |in 2019 |order 1 |1.|may |\u0661|a_|total: $1 |1,111|x@|2024-05-"
    "|business "
)


def seconds(function, piece, length):
    text = piece * (length // len(piece))
    start = time.process_time()
    function(text)
    return time.process_time() - start


@pytest.mark.parametrize("piece", HOSTILE.split("|"))
def test_two_hundred_thousand_characters_take_time_in_proportion(piece):
    short, long = seconds(extract_slots, piece, 20_000), seconds(extract_slots, piece, 200_000)
    assert long < 25 * short + 1.0  # ten times the text; a square would be a hundred


@pytest.mark.parametrize("piece", ["1 ", "total: $1 ", "order 1 and 3 PM "])
def test_a_verdict_on_long_texts_takes_time_in_proportion(piece):
    def verdict(text):
        slot_verdict(text, text + " and $5 more")
        slot_verdict(text, text.replace("1", "2"))

    short, long = seconds(verdict, piece, 5_000), seconds(verdict, piece, 50_000)
    assert long < 25 * short + 1.0
