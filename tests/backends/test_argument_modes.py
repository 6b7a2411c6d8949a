from __future__ import annotations

import copy
import itertools
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.backends.argument_modes import (
    LONGEST_MATCHED,
    ArgumentModes,
    Differences,
    Mode,
    Tolerance,
    _has_perfect_matching,
    flatten,
    same,
)

EXACT, IGNORE, SET, UNORDERED, TEXT = Mode.EXACT, Mode.IGNORE, Mode.SET, Mode.UNORDERED, Mode.TEXT
CENT = Tolerance(absolute=0.01)


def differing(a, b, own=None, common=None):
    """What differs, as short words, the same both ways round: other, extra, order, and the texts for the judge."""
    modes = ArgumentModes(own or {}, common or {})
    words = []
    for x, y in ((a, b), (b, a)):
        found = Differences.between(modes.values(x), modes.values(y), modes)
        words.append(
            {name for name in ("other", "extra") if getattr(found, name)}
            | ({"order"} if found.reordered else set())
            | {frozenset(pair) for pair in found.texts}
        )
    assert words[0] == words[1]
    return words[0]


# Without a user's word


def test_arguments_are_listed_by_dotted_path_and_lists_are_values():
    assert dict(flatten({"o": {"p": {"q": 1}, "e": {}}, "l": [{"x": 1}]})) == {
        "o.p.q": 1,
        "o.e": {},
        "l": [{"x": 1}],
    }
    assert dict(flatten("rm -r x")) == {"": "rm -r x"}
    assert dict(flatten({})) == {}


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ({"x": 1}, {"x": 1.0}, set()),
        ({"x": 1}, {"x": 2}, {"other"}),
        ({"x": 1}, {}, {"extra"}),
        ({"x": [1, 2]}, {"x": [2, 1]}, {"order"}),
        ({"x": [1, 1]}, {"x": [1]}, {"other"}),
        ({"x": [{"l": [1, 2]}]}, {"x": [{"l": [2, 1]}]}, {"other"}),
        ({"note": "a"}, {"note": "b"}, {frozenset("ab")}),
        ({"note": ["a"]}, {"note": ["b"]}, {"other"}),
    ],
)
def test_the_defaults(a, b, words):
    assert differing(a, b) == words


def test_a_number_equals_the_string_that_spells_it_the_same_way():
    assert same(2, "2")
    assert not same(2, "02")


# Which mode holds


def test_the_deepest_path_decides_and_a_tools_own_word_goes_before_that_on_all_tools():
    modes = ArgumentModes({"o": EXACT, "o.p": TEXT, "x": SET}, {"o.p.q": IGNORE, "z": IGNORE, "y.z": TEXT})
    assert [modes.at(path) for path in ("o", "o.p", "o.p.q", "o.r", "x", "a.x", "z", "a.z", "y.z", "y", "")] == [
        EXACT, TEXT, TEXT, EXACT, SET, SET, IGNORE, IGNORE, TEXT, None, None,
    ]  # fmt: skip


def test_an_unparsed_argument_has_the_path_of_no_letters():
    assert differing("a b", "a c", {"": TEXT}) == {frozenset(("a b", "a c"))}
    assert differing("a b", "a c") == {"other"}


# Each mode


@pytest.mark.parametrize(
    ("a", "b"),
    [({"note": "Hello there you two"}, {"note": "hello there you two"}), ({"note": "a"}, {"note": "b"})],
)
def test_exact_text_is_no_matter_for_a_judge_and_case_counts(a, b):
    assert differing(a, b, {"note": EXACT}) == {"other"}


def test_exact_lists_are_lists_in_their_order():
    assert differing({"x": [1, 2]}, {"x": [2, 1]}, {"x": EXACT}) == {"other"}


@pytest.mark.parametrize(
    ("a", "b", "paths"),
    [
        ({"x": 1, "stamp": "9:00"}, {"x": 1}, ["stamp"]),
        ({"x": 1, "o": {"stamp": 1}}, {"x": 1}, ["stamp"]),  # an object of which nothing is left is not there
        ({"o": {"p": {"q": 1, "k": 2}}}, {"o": {"p": {"q": 3, "k": 2}}}, ["o.p.q"]),
        ({"o": {"a": 1, "b": [2]}}, {"o": {"c": 3}}, ["o"]),
        ({"l": [{"s": 1, "k": 1}, {"s": 2, "k": 2}]}, {"l": [{"k": 1}, {"s": 9, "k": 2}]}, ["l.s"]),
        ({"l": [[{"s": 1}]]}, {"l": [[{"s": 2}]]}, ["l.s"]),
        ({"l": [1]}, {"l": [2, 3]}, ["l"]),
    ],
)
def test_what_is_ignored_might_as_well_not_be_there(a, b, paths):
    assert differing(a, b) != set()
    assert differing(a, b, dict.fromkeys(paths, IGNORE)) == set()
    assert differing(a, b, common=dict.fromkeys(paths, IGNORE)) == set()


@pytest.mark.parametrize(
    ("a", "b", "path"),
    [
        ({"o": {"s": 1}, "s": 1}, {"o": {"s": 2}, "s": 2}, "o.s"),
        ({"l": [{"s": 1}]}, {"l": [{"s": 1}, {"s": 1}]}, "l.s"),
        ({"l": [{"s": 1}]}, {"l": [{"s": 2}]}, "l.t"),
        ({"o": {"e": {}}}, {"o": {}}, "o.x"),  # an object empty from the start stays
    ],
)
def test_ignoring_reaches_no_further_than_its_path(a, b, path):
    assert differing(a, b, {path: IGNORE}) != set()


def test_an_exception_inside_what_is_ignored_still_counts():
    own = {"o": IGNORE, "o.keep": EXACT}
    assert differing({"o": {"keep": 1, "x": 1}}, {"o": {"keep": 1, "y": 2}}, own) == set()
    assert differing({"o": {"keep": 1}}, {"o": {"keep": 2}}, own) == {"other"}


@pytest.mark.parametrize(
    ("mode", "a", "b", "alike"),
    [
        (SET, [1, 2, 2], [2, 1], True),
        (SET, [1, 2], [1], False),
        (SET, [{"a": 1, "b": 2}], [{"b": 2, "a": 1.0}], True),
        (SET, [[1, 2]], [[2, 1]], False),  # a list right inside a list may be a point
        (UNORDERED, [1, 2], [2, 1], True),
        (UNORDERED, [1, 2, 2], [2, 1], False),
        (SET, 1, 2, False),
        (SET, "['a', 'b']", ["b", "a"], False),  # strings are opened before they come here
    ],
)
def test_sets_forget_order_and_repeats_and_unordered_lists_only_order(mode, a, b, alike):
    assert (differing({"x": a}, {"x": b}, {"x": mode}) == set()) is alike
    assert (differing({"o": {"x": a}}, {"o": {"x": b}}, {"o": mode}) == set()) is alike


def test_a_list_inside_the_items_of_a_list_can_be_a_set_by_its_own_path():
    a, b = {"l": [{"tags": [1, 2]}]}, {"l": [{"tags": [2, 1, 1]}]}
    assert differing(a, b, {"l": SET}) == set()  # a mode holds for everything in the argument
    assert differing(a, b, {"l": SET, "l.tags": EXACT}) == {"other"}
    assert differing(a, b, {"l.tags": SET}) == set()
    assert differing(a, b, {"tags": SET}) == set()


def test_text_goes_to_the_judge_whatever_it_looks_like_and_in_the_items_of_a_list():
    pair = frozenset(("x1", "x2"))
    assert differing({"code": "x1"}, {"code": "x2"}, {"code": TEXT}) == {pair}
    assert differing({"user_id": "x1"}, {"user_id": "x2"}, {"user_id": TEXT}) == {pair}
    assert differing({"code": "X1"}, {"code": "x1"}, {"code": TEXT}) == set()  # letter case, as in all free text
    assert differing({"code": 1}, {"code": "x2"}, {"code": TEXT}) == {"other"}
    assert differing({"l": ["x1", "y"]}, {"l": ["x2", "y"]}, {"l": TEXT}) == {pair}
    assert differing({"l": [{"t": "x1", "n": 1}]}, {"l": [{"t": "x2", "n": 1}]}, {"l.t": TEXT}) == {pair}
    assert differing({"l": [{"t": "x1", "n": 1}]}, {"l": [{"t": "x2", "n": 2}]}, {"l.t": TEXT}) == {pair, "other"}
    assert differing({"l": ["x1"]}, {"l": ["x2", "y"]}, {"l": TEXT}) == {"other"}
    assert differing({"l": ["x1", "x2"]}, {"l": ["x2", "x1"]}, {"l": TEXT}) == {"order"}
    assert differing({"l": [{"t": "x1"}]}, {"l": [{"t": "x2", "n": 1}]}, {"l.t": TEXT}) == {"other"}


# Tolerances


@pytest.mark.parametrize(
    ("tolerance", "a", "b", "covers"),
    [
        (Tolerance(absolute=0.1), 1.1, 1.0, True),  # in binary the difference is 0.10000000000000009
        (Tolerance(absolute=0.1), 1.10001, 1.0, False),
        (Tolerance(absolute=0.3), 0.1, 0.4, True),
        (Tolerance(absolute=2), -1, 1, True),
        (Tolerance(absolute=2), -1, 2, False),
        (Tolerance(relative=0.1), 90, 100, True),  # of the larger magnitude
        (Tolerance(relative=0.1), 89.99, 100, False),
        (Tolerance(relative=0.1), -90, -100, True),
        (Tolerance(relative=0.5), 0, 0.001, False),
        (Tolerance(absolute=1, relative=0.01), 1000, 1010, True),  # either is enough
        (Tolerance(absolute=1, relative=0.01), 2, 3, True),
        (Tolerance(), 1, 1.0000001, False),
        (Tolerance(absolute=0.01), "2.50", 2.5, True),
        (Tolerance(absolute=0.01), "2.50", "2.51", True),
        (Tolerance(absolute=5), "007", 7, False),  # an identifier
        (Tolerance(absolute=5), "1e3", 1000, False),
        (Tolerance(absolute=5), "٣", 3, False),
        (Tolerance(absolute=5), True, 1, False),
        (Tolerance(absolute=5), None, 0, False),
        (Tolerance(absolute=5), float("nan"), float("nan"), False),
        (Tolerance(absolute=5), float("inf"), 1, False),
        (Tolerance(relative=1), 10**400, 1, True),
    ],
)
def test_a_tolerance_includes_its_boundary_in_decimals_as_written(tolerance, a, b, covers):
    assert tolerance.covers(a, b) is covers
    assert tolerance.covers(b, a) is covers


decimals = st.decimals(min_value=-1000, max_value=1000, places=2)


@given(decimals, decimals, st.decimals(min_value=0, max_value=50, places=2), st.integers(0, 100))
def test_a_tolerance_agrees_with_decimal_arithmetic(x, y, absolute, percent):
    limit = max(absolute, Decimal(percent) / 100 * max(abs(x), abs(y)))
    tolerance = Tolerance(float(absolute), percent / 100)
    assert tolerance.covers(float(x), float(y)) == (abs(x - y) <= limit)


NAN = float("nan")


@pytest.mark.parametrize("arguments", [(-0.1, 0), (NAN, 0), (float("inf"), 0), (0, -1), (0, 1.1), (0, NAN)])
def test_what_is_no_tolerance_is_refused(arguments):
    with pytest.raises(ValueError, match="a tolerance is"):
        Tolerance(*arguments)


def test_a_tolerance_is_shown_in_words():
    assert [str(each) for each in (CENT, Tolerance(0.5, 0.25), Tolerance())] == [
        "absolute 0.01",
        "absolute 0.5 or relative 0.25",
        "absolute 0",
    ]


@pytest.mark.parametrize(
    ("a", "b", "own", "words"),
    [
        ({"p": 1.00}, {"p": 1.01}, {"p": CENT}, set()),
        ({"p": 1.00}, {"p": 1.02}, {"p": CENT}, {"other"}),
        ({"o": {"lat": 1, "lon": 2}}, {"o": {"lat": 1.01, "lon": 1.99}}, {"o": CENT}, set()),
        ({"l": [1, 2]}, {"l": [1.01, 2]}, {"l": CENT}, set()),
        ({"l": [1, 2]}, {"l": [2, 1.01]}, {"l": CENT}, {"order"}),
        ({"l": [{"p": 1, "n": "a"}]}, {"l": [{"p": 1.01, "n": "a"}]}, {"l.p": CENT}, set()),
        ({"l": [{"p": 1, "n": "a"}]}, {"l": [{"p": 1.01, "n": "b"}]}, {"l.p": CENT}, {"other"}),
        ({"l": [{"p": 1}, {"p": 5}]}, {"l": [{"p": 5.01}, {"p": 1}]}, {"l": UNORDERED, "l.p": CENT}, set()),
        ({"l": [{"p": 1}, {"p": 5}]}, {"l": [{"p": 5.02}, {"p": 1}]}, {"l": UNORDERED, "l.p": CENT}, {"other"}),
        ({"l": [{"p": 1}, {"p": 1.01}]}, {"l": [{"p": 1}]}, {"l": SET, "l.p": CENT}, set()),
        ({"l": [{"p": 1}]}, {"l": [{"p": 1}, {"p": 1.02}]}, {"l": SET, "l.p": CENT}, {"other"}),
        ({"p": "soon"}, {"p": "late"}, {"p": CENT}, {"other"}),
        ({"note": "soon"}, {"note": "late"}, {"note": CENT}, {frozenset(("soon", "late"))}),
        ({"p": 1}, {"p": [1]}, {"p": CENT}, {"other"}),
    ],
)
def test_tolerances_hold_for_numbers_wherever_they_stand(a, b, own, words):
    assert differing(a, b, own) == words


@given(st.lists(st.lists(st.integers(0, 4), unique=True, max_size=5), min_size=1, max_size=5))
def test_a_perfect_matching_is_found_exactly_where_brute_force_finds_one(partners):
    choices = itertools.product(*partners)
    assert _has_perfect_matching(partners) == any(len(set(chosen)) == len(chosen) for chosen in choices)


def test_long_lists_under_a_tolerance_are_compared_in_sorted_order():
    numbers = [i + 0.5 for i in range(LONGEST_MATCHED + 50)]
    close = [number + 0.01 for number in reversed(numbers)]
    assert differing({"l": numbers}, {"l": close}, {"l": CENT}) == {"order"}
    assert differing({"l": numbers}, {"l": [*close[:-1], 9.0]}, {"l": CENT}) == {"other"}


# Properties over any arguments

keys = st.sampled_from(["a", "b", "note", "id", "l"])
leaves = st.sampled_from([0, 1, 1.01, "1", "x", "some words that read so", None, True])
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=8
)
arguments = st.dictionaries(keys, values, max_size=3)
paths = st.sampled_from(["a", "b", "note", "id", "l", "a.b", "l.note", "b.l.a", "note.id"])
modes_of_tools = st.dictionaries(paths, st.sampled_from([*Mode, CENT, Tolerance(relative=0.5)]), max_size=4)


@given(arguments, arguments, modes_of_tools, modes_of_tools)
def test_differences_are_symmetric_and_nothing_differs_from_itself(a, b, own, common):
    differing(a, b, own, common)
    assert differing(a, copy.deepcopy(a), own, common) == set()


def put(value, path, new):
    """The value with `new` at every place the path leads to, through lists."""
    if isinstance(value, list):
        return [put(item, path, new) for item in value]
    if not isinstance(value, dict):
        return value
    first, _, rest = path.partition(".")
    return {key: item if key != first else (put(item, rest, new) if rest else new) for key, item in value.items()}


@given(arguments, st.sampled_from(["a.b", "l.note", "b.l.a", "note.id"]), values)
def test_whatever_stands_at_an_ignored_path_makes_no_difference(a, path, new):
    changed = put(a, path, new)
    assert differing(a, changed, {path: IGNORE}) == set()
    assert differing(a, changed, common={path: IGNORE}) == set()


@given(st.lists(leaves, max_size=5), st.randoms(use_true_random=False))
def test_a_set_is_blind_to_order_and_repeats(items, random):
    again = random.sample(items, len(items)) + [item for item in items if random.random() < 0.5]
    assert differing({"l": items}, {"l": again}, {"l": SET}) == set()
    shuffled = random.sample(items, len(items))
    assert differing({"l": items}, {"l": shuffled}, {"l": UNORDERED}) == set()
