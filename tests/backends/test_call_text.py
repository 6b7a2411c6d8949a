from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.backends.call_text import LONGEST_LITERAL, literal, opened, parse_call_text
from likewise.core.rollout import Action, ToolCall
from likewise.core.state_text import action_text


def call(name, **arguments):
    return ToolCall(name, arguments)


X, Y = call("search", q="x"), call("search", q="y")


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('get_order({"id": "#W1"})', [call("get_order", id="#W1")]),
        ("get_order({'id': '#W1', 'new': True})", [call("get_order", id="#W1", new=True)]),
        ("list_all()", [call("list_all")]),
        ("list_all({})\n", [call("list_all")]),
        ('[TOOL] a.b-c({"x": {"y": [1]}})', [ToolCall("a.b-c", {"x": {"y": [1]}})]),
        ('search({"q":"x"})\nsearch( {"q":\n "y"} )', [X, Y]),
        ("search({'q': 'x'}); search({'q': 'y)'})".replace("; ", "\n").replace("y)", "y"), [X, Y]),
        ('run("ls -l")', [ToolCall("run", "ls -l")]),
        ('think({"thought": "a) b (c"})', [call("think", thought="a) b (c")]),
        ("think({'thought': \"'a) b'\"})", [call("think", thought="'a) b'")]),
    ],
)
def test_calls_written_as_text_are_read(text, calls):
    assert parse_call_text(text) == Action(tool_calls=tuple(calls))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Sure, I can help (really).",
        "get_order",
        "get_order(",
        'get_order({"id": 1}',
        'get_order({"id": 1}) and more',
        'I call get_order({"id": 1})',
        "f(1)",
        "f([1])",
        "f({'a': open('x')})",
        "f({'a': {1, 2}})",
        "f({" + "[" * 5000 + "})",
    ],
)
def test_anything_else_is_not_a_call(text):
    assert parse_call_text(text) is None


names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.:/-]{0,10}", fullmatch=True)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
any_call = st.builds(ToolCall, names, st.dictionaries(st.text(max_size=5), json_values, max_size=3))


@given(st.lists(any_call, min_size=1, max_size=3))
def test_the_canonical_text_of_calls_reads_back_as_those_calls(calls):
    text = action_text(Action(tool_calls=tuple(calls)))
    read = parse_call_text(text)
    assert read is not None
    assert action_text(read) == text


def test_python_text_of_a_list_or_an_object_is_that_value():
    assert literal("['a', 1.0, None]") == ["a", 1, None]
    assert literal("{'a': True}") == {"a": True}


@pytest.mark.parametrize("text", ["1", "'a'", "(1, 2)", "{1, 2}", "[1", "open('x')", "", "[" * 5000, "['\\d'"])
def test_anything_else_is_no_literal_and_no_warning(text):
    assert literal(text) is None


def test_values_sent_as_text_are_opened_at_any_depth():
    assert opened({"a": ["['x']", "[x]"], "b": "{'c': '1'}", "d": 1}) == {"a": [["x"], "[x]"], "b": {"c": "1"}, "d": 1}


def test_a_text_too_long_to_be_an_argument_list_stays_a_text():
    long = "[" + "1," * (LONGEST_LITERAL // 2) + "]"
    assert opened(long) == long
