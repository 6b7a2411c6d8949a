from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.core.rollout import Action, Observation, ToolCall
from likewise.core.state_text import (
    action_key,
    action_text,
    canonical_arguments,
    canonical_json,
    canonical_text,
    observation_text,
    tool_call_text,
)

# Texts


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("  a \t\n b\u00a0c ", "a b c"),
        ("it’s “so” – really…", 'it\'s "so" - really...'),
        ("e\u0301", "é"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("left\u202eright", "leftright"),
        ("bell\x07rings", "bell rings"),
        ("half \ud83d pair", "half pair"),
        ("Case Stays", "Case Stays"),
        ("", ""),
        ("\u200b \x00", ""),
    ],
)
def test_differences_that_no_reader_sees_are_taken_out(text, canonical):
    assert canonical_text(text) == canonical


@given(st.text())
def test_the_canonical_text_of_a_canonical_text_is_itself(text):
    once = canonical_text(text)
    assert canonical_text(once) == once


@given(st.text(st.characters(max_codepoint=127)))
def test_plain_ascii_is_read_as_any_other_text(text):
    # The same text behind a letter that is not ASCII goes the long way round.
    assert canonical_text("é " + text).removeprefix("é").lstrip(" ") == canonical_text(text)


@given(st.text())
def test_a_canonical_text_can_always_be_written_to_a_file(text):
    assert canonical_text(text).encode("utf-8").decode("utf-8") == canonical_text(text)


# JSON


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": 2}, '{"a":2,"b":1}'),
        ({"q": "x", "o": {"sort": "asc", "limit": 10}}, '{"o":{"limit":10,"sort":"asc"},"q":"x"}'),
        (1.0, "1"),
        (-0.0, "0"),
        (1.5, "1.5"),
        (1e300, "1e+300"),
        (True, "true"),
        (None, "null"),
        ('{"a": [1.0, 2]}', '{"a":[1,2]}'),
        ("[1, 2", '"[1, 2"'),
        ("[" * 100_000, '"' + "[" * 100_000 + '"'),
        ("1.0", '"1.0"'),
        (" a  b ", '"a b"'),
        ({" a ": 1}, '{"a":1}'),
        ("é", '"é"'),
        ([2, 1], "[2,1]"),
    ],
)
def test_a_value_has_one_spelling(value, text):
    assert canonical_json(value) == text


def test_numbers_beyond_the_exact_range_of_floats_stay_apart():
    assert canonical_json(2**53) != canonical_json(2**53 + 1)
    assert canonical_json(True) != canonical_json(1)
    assert canonical_json("1") != canonical_json(1)


def test_numbers_that_json_does_not_know_do_not_break_it():
    assert canonical_json([math.inf, -math.inf, math.nan]) == "[Infinity,-Infinity,NaN]"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_canonical_json_of_opened_arguments_is_itself(value):
    assert canonical_json(canonical_arguments(value)) == canonical_json(value)


@given(st.dictionaries(st.text(alphabet="abc", max_size=3), json_values, max_size=5), st.randoms())
def test_the_order_of_keys_never_matters(value, random):
    keys = list(value)
    random.shuffle(keys)
    assert canonical_json({key: value[key] for key in keys}) == canonical_json(value)


# Actions

GET = ToolCall("get", {})


def test_a_call_is_written_by_name_and_canonical_arguments():
    assert tool_call_text(ToolCall(" get ", {"b": 1.0, "a": "x"})) == 'get({"a":"x","b":1})'
    assert tool_call_text(ToolCall("run", "ls  -l")) == 'run("ls -l")'


def test_an_actions_text_is_its_words_and_then_its_calls_in_any_order():
    a, b = ToolCall("a", {"x": 1}), ToolCall("b", {})
    assert action_text(Action(" Let me  see. ", (b, a))) == 'Let me see.\na({"x":1})\nb({})'
    assert action_text(Action("", (a, b))) == 'a({"x":1})\nb({})'
    assert action_text(Action(" \n")) == ""


def test_words_cannot_pass_for_a_call():
    words, call = Action("get({})"), Action(tool_calls=(GET,))
    assert action_text(words) == action_text(call)
    assert action_key(words) != action_key(call)


def test_words_with_a_separator_in_them_cannot_pass_for_a_call():
    assert action_key(Action("\x00get({})")) != action_key(Action(tool_calls=(GET,)))
    assert action_key(Action("a\x00get({})")) != action_key(Action("a", (GET,)))
    name = ToolCall("get({})\x00get", {})
    assert action_key(Action(tool_calls=(name,))) != action_key(Action(tool_calls=(GET, GET)))


def test_the_same_call_twice_is_not_the_same_call_once():
    assert action_key(Action(tool_calls=(GET, GET))) != action_key(Action(tool_calls=(GET,)))


calls = st.builds(ToolCall, st.sampled_from(["get", "set"]), st.dictionaries(st.sampled_from("ab"), st.integers(0, 1)))
actions = st.builds(Action, st.sampled_from(["", "yes", "get({})"]), st.lists(calls, max_size=3).map(tuple))


@given(actions, actions)
def test_keys_are_equal_exactly_where_words_and_the_bag_of_calls_are(a, b):
    def content(action):
        return action.text, sorted((call.name, sorted(call.arguments.items())) for call in action.tool_calls)

    assert (action_key(a) == action_key(b)) == (content(a) == content(b))


# Observations


def test_a_tools_json_is_compared_as_json_and_anything_else_as_text():
    assert observation_text(Observation("tool", ' {"b": 1.0, "a": [2]} ')) == '{"a":[2],"b":1}'
    assert observation_text(Observation("tool", "{not json}")) == "{not json}"
    assert observation_text(Observation("tool", "no  rows")) == "no rows"
    assert observation_text(Observation("tool", "[" * 100_000)) == "[" * 100_000


def test_a_users_words_are_never_read_as_json():
    assert observation_text(Observation("user", '{"b": 1, "a": 2}')) == '{"b": 1, "a": 2}'


@given(st.text(alphabet=st.sampled_from("a \n\u200b\x00\ufeff\ud83d\u00a0"), max_size=5))
def test_an_action_is_empty_where_its_canonical_text_is(text):
    assert Action(text).is_empty == (canonical_text(text) == "") == (action_text(Action(text)) == "")


def test_words_that_nobody_sees_leave_no_line():
    assert action_text(Action("\u200b", (GET,))) == "get({})"


def test_no_action_gets_the_key_of_one_that_is_gone():
    # Each action is dropped before the next is made, so that its place in memory is free to be taken again.
    keys = [action_key(Action(tool_calls=(ToolCall("get", {"id": i}),))) for i in range(20_000)]
    assert keys == [f'\x00get({{"id":{i}}})' for i in range(20_000)]
