from __future__ import annotations

import re
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.backends.sentences import LongText, aggregate, split_sentences
from likewise.core.labels import Judgement, Relation

ENTAILS, NEUTRAL, CONTRADICTS = (0.9, 0.08, 0.02), (0.1, 0.8, 0.1), (0.02, 0.08, 0.9)
WINDOW = 8


def tokens(text):
    """A token a word and a token a piece of four letters of a longer one, as tokenizers do."""
    return [0 for word in text.split() for _ in range(0, len(word), 4)]


def long(text, window=WINDOW):
    return LongText(text, tokens, window)


def bare(text):
    return "".join(text.split())


def consists_of(text, units):
    """Whether a text is made of these units and white space, each used as often as it occurs."""
    pieces = sorted({bare(unit) for unit in units} - {""}, key=len, reverse=True)
    return re.fullmatch("(?:" + "|".join(map(re.escape, pieces)) + ")*", bare(text)) is not None


def compared(first, second, relate):
    """What a judge says of every pair of units that `aggregate` needs; `relate(a, b)` is of a as premise."""
    table = {}
    for a, b in first.comparisons(second):
        table[a, b] = np.array([relate(a, b), relate(b, a)], dtype=np.float32)
    return table


def judged(first, second, relate):
    return Judgement.from_nli(*aggregate(first, second, compared(first, second, relate))).relation


# Splitting


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr.No costs 3.50 now. Yes.", ["Dr.No costs 3.50 now.", "Yes."]),
        ("A list:\n- one\n- two", ["A list:", "- one", "- two"]),
        ("A list: - one - two", ["A list:", "- one", "- two"]),
        ("一。 二！ 三？", ["一。", "二！", "三？"]),
        ("no end", ["no end"]),
        (" \n\n ", []),
        ("", []),
    ],
)
def test_sentences_and_list_items_are_told_apart(text, sentences):
    assert split_sentences(text) == sentences


@given(st.text())
def test_sentences_hold_every_visible_character_in_order(text):
    assert bare("".join(split_sentences(text))) == bare(text)


def test_a_text_that_fits_is_one_unit_as_it_is():
    assert long("One. Two.").units == ("One. Two.",)
    assert long("").units == ("",)


def test_a_text_that_does_not_fit_is_its_sentences_each_once():
    assert long("One two three. Four five six. One two three. Seven eight.").units == (
        "One two three.",
        "Four five six.",
        "Seven eight.",
    )


def test_a_text_without_sentence_ends_is_split_at_spaces_until_it_fits():
    text = " ".join(f"w{i}" for i in range(100))
    units = long(text).units
    assert all(len(tokens(unit)) <= WINDOW for unit in units)
    assert " ".join(units) == text


def test_a_word_beyond_the_window_is_split_within():
    units = long("x" * 500).units
    assert all(len(tokens(unit)) <= WINDOW for unit in units)
    assert consists_of("x" * 500, units)


def test_a_tokenizer_that_never_fits_ends_at_single_characters():
    assert set(LongText("ab cd", lambda text: [0] * 100, 8).units) == set("abcd")


written = st.text(alphabet=st.sampled_from("ab .!?\n-•。é\u00a0"), max_size=120) | st.text(max_size=60)


@given(written, st.integers(1, 12))
def test_nothing_of_a_text_is_dropped(text, window):
    units = long(text, window).units
    assert consists_of(text, units)
    assert set(bare(text)) == {character for unit in units for character in bare(unit)}


@given(written, st.integers(1, 12))
def test_every_unit_fits_the_window(text, window):
    assert all(len(tokens(unit)) <= window or len(unit) < 2 for unit in long(text, window).units)


# Which units are compared


def test_units_are_aligned_by_the_words_they_share():
    first = long("The refund is approved today. The seat is changed for you.")
    second = long("Your seat is changed as wished. Nothing else was to do here.")
    assert len(first.units) == len(second.units) == 2
    near = first.nearest(second)
    assert near[0][0] == 1
    assert near[1] == [0]  # no word in common: the first unit stands in
    assert (first.units[1], second.units[0]) in first.comparisons(second)


def test_equal_units_need_no_comparison():
    text = "One two three four five. Six seven eight nine ten."
    assert long(text).comparisons(long(text)) == []


# Aggregation

BASE = "The order was found today. The refund is on its way. You will get a mail."


def same_words(a, b):
    return ENTAILS if set(bare(a).casefold()) == set(bare(b).casefold()) else NEUTRAL


def test_texts_of_the_same_sentences_in_another_order_entail_each_other():
    other = "You will get a mail. The order was found today. The refund is on its way."
    assert judged(long(BASE), long(other), lambda a, b: NEUTRAL) is Relation.EQUIVALENT


def test_where_every_sentence_is_entailed_the_texts_are_equivalent_and_the_weakest_decides():
    first, second = long(BASE), long(BASE.replace("found", "located").replace("mail", "message"))
    weakest = (0.6, 0.3, 0.1)
    forward, backward = aggregate(
        first, second, compared(first, second, lambda a, b: weakest if "mail" in a + b else ENTAILS)
    )
    assert forward == backward == pytest.approx(weakest)


def test_one_extra_sentence_is_entailed_by_nothing_and_makes_the_pair_neutral():
    extra = BASE + " Also a cat sat there."
    relation = judged(long(BASE), long(extra), lambda a, b: NEUTRAL)
    assert relation is Relation.NEUTRAL
    forward, backward = aggregate(long(BASE), long(extra), compared(long(BASE), long(extra), lambda a, b: NEUTRAL))
    assert np.argmax(forward) == 1
    assert backward == (1.0, 0.0, 0.0)  # the longer text says all that the shorter says


def test_a_contradiction_in_one_aligned_sentence_wins():
    other = BASE.replace("on its way", "not on its way")
    relate = {("The refund is on its way.", "The refund is not on its way."): CONTRADICTS}
    assert judged(long(BASE), long(other), lambda a, b: relate.get((a, b), NEUTRAL)) is Relation.CONTRADICTORY
    assert judged(long(other), long(BASE), lambda a, b: relate.get((a, b), NEUTRAL)) is Relation.CONTRADICTORY


def test_a_contradiction_between_sentences_that_are_not_aligned_says_nothing():
    first = long("The red car is fast now. The blue car is slow now.")
    second = long("The blue car is slow now. The red car is fast now.")

    def relate(a, b):
        return CONTRADICTS

    assert judged(first, second, relate) is Relation.EQUIVALENT


def test_the_surest_contradiction_decides():
    mild = (0.1, 0.3, 0.6)
    first, second = long(BASE), long(BASE.replace("found", "lost").replace("a mail", "no mail"))
    forward, _ = aggregate(first, second, compared(first, second, lambda a, b: CONTRADICTS if "mail" in a else mild))
    assert forward == pytest.approx(CONTRADICTS)


def test_a_short_text_is_one_unit_against_the_sentences_of_a_long_one():
    short = long("The refund is on its way.")
    relation = judged(short, long(BASE), lambda a, b: NEUTRAL)
    assert relation is Relation.NEUTRAL


sentences = st.lists(
    st.lists(st.sampled_from(["red", "blue", "car", "fast", "not", "order"]), min_size=3, max_size=6).map(
        lambda words: " ".join(words) + "."
    ),
    min_size=1,
    max_size=6,
).map(" ".join)


def some_relation(a, b):
    """Any relation, but always the same one of the same two units."""
    return [ENTAILS, NEUTRAL, CONTRADICTS][(len(a) * 7 + len(b) * 3 + a.count("r")) % 3]


@settings(max_examples=50, deadline=None)
@given(sentences, sentences)
def test_exchanging_the_texts_exchanges_the_directions(a, b):
    first, second = long(a), long(b)
    forward, backward = aggregate(first, second, compared(first, second, some_relation))
    assert aggregate(second, first, compared(second, first, some_relation)) == (backward, forward)


def test_a_sentence_is_aligned_with_its_equal_before_one_of_the_same_words():
    text = "The car hit the bus there now. The bus hit the car there now."
    assert judged(long(text), long(text), lambda a, b: CONTRADICTS) is Relation.EQUIVALENT


@settings(max_examples=50, deadline=None)
@given(sentences, sentences)
def test_probabilities_stay_those_of_one_comparison(a, b):
    first, second = long(a), long(b)
    for triple in aggregate(first, second, compared(first, second, some_relation)):
        assert sum(triple) == pytest.approx(1.0)


# Size


@pytest.mark.parametrize("unit", ["word ", "One more sentence. ", "x", "a\n", "the same line of words\n"])
def test_two_hundred_thousand_characters_of_the_same_are_split_and_aligned_quickly(unit):
    text = (unit * (200_000 // len(unit) + 1))[:200_000]
    start = time.perf_counter()
    first, second = long(text, 120), long(text + " And one more.", 120)
    assert {character for unit in first.units for character in unit} >= set(bare(text))
    pairs = first.comparisons(second)
    aggregate(first, second, compared(first, second, lambda a, b: NEUTRAL))
    assert len(pairs) <= 3 * (len(first.units) + len(second.units))
    assert time.perf_counter() - start < 20


def test_many_different_sentences_are_aligned_quickly():
    lines = [f"Order {i} of customer {i % 97} went to town {i % 31} by truck {i % 13}." for i in range(3_500)]
    first, second = long(" ".join(lines), 120), long(" ".join(reversed(lines)), 120)
    assert len(first.units) == len(lines)
    start = time.perf_counter()
    aggregate(first, second, compared(first, second, lambda a, b: NEUTRAL))
    assert time.perf_counter() - start < 20
