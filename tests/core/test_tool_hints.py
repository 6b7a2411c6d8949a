from __future__ import annotations

import pytest

from likewise.core.tool_hints import hints_of, tool_hints

READ, WRITE = {"readOnlyHint": True}, {"readOnlyHint": False, "destructiveHint": True}


@pytest.mark.parametrize(
    ("annotations", "hints"),
    [
        ({"readOnlyHint": True, "title": "Look", "openWorldHint": False}, READ),
        (WRITE, WRITE),
        ({"readOnlyHint": "true", "destructiveHint": None}, {}),
        ({}, {}),
        (None, {}),
        ("readOnlyHint", {}),
    ],
)
def test_only_the_two_hints_count_and_only_as_booleans(annotations, hints):
    assert hints_of(annotations) == hints


def test_definitions_of_mcp_and_of_openai_give_their_hints_by_name():
    definitions = [
        {"name": "look", "annotations": READ},
        {"type": "function", "function": {"name": "cancel"}, "annotations": WRITE},
        {"type": "function", "function": {"name": "find", "annotations": READ}},
        {"name": "silent", "inputSchema": {}},
    ]
    assert tool_hints(definitions) == {"look": READ, "cancel": WRITE, "find": READ}


@pytest.mark.parametrize("definitions", [None, 3, "x", {}, [], [None, 3, {}, {"name": 3, "annotations": READ}]])
def test_a_log_with_anything_else_there_says_nothing(definitions):
    assert tool_hints(definitions) == {}


def test_a_name_of_blanks_is_none():
    assert tool_hints([{"name": " ", "annotations": READ}]) == {}
