from __future__ import annotations

import json

import pytest

from likewise.backends.tool_names import ToolClass
from likewise.backends.tools_file import hinted_class, merged_hints, read_tools_file
from likewise.core.errors import ConfigError

READS, CHANGES = ToolClass.READS, ToolClass.CHANGES
LOOK = {"name": "look", "annotations": {"readOnlyHint": True, "title": "Look"}}
CANCEL = {"name": "cancel", "annotations": {"readOnlyHint": False, "destructiveHint": True}}


@pytest.fixture
def written(tmp_path):
    def _written(content):
        path = tmp_path / "tools.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    return _written


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        ({"readOnlyHint": True}, (READS, "readOnlyHint is true")),
        ({"readOnlyHint": False}, (CHANGES, "readOnlyHint is false")),
        ({"destructiveHint": True}, (CHANGES, "destructiveHint is true")),
        ({"destructiveHint": False}, (CHANGES, "destructiveHint is false")),  # it adds, it destroys nothing
        ({"readOnlyHint": True, "destructiveHint": True}, (READS, "readOnlyHint is true")),
        ({}, None),
    ],
)
def test_hints_say_whether_a_tool_changes_state(hints, expected):
    assert hinted_class(hints) == expected


def test_where_two_sources_disagree_a_tool_changes_state_in_any_order():
    reads, changes = {"a": {"readOnlyHint": True}}, {"a": {"destructiveHint": False}}
    assert merged_hints(reads, changes) == merged_hints(changes, reads) == changes
    assert merged_hints({"a": {}}, reads) == merged_hints(reads, {"a": {}}) == reads
    assert merged_hints() == {}


@pytest.mark.parametrize(
    "wrap",
    [
        lambda tools: {"tools": tools},
        lambda tools: {"tools": tools, "nextCursor": "x"},
        lambda tools: {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}},
        lambda tools: tools,
    ],
)
def test_the_answer_to_tools_list_is_read_in_every_wrapping(written, wrap):
    path = written(wrap([LOOK, CANCEL, {"name": "silent", "annotations": None}, {"name": "plain"}]))
    assert read_tools_file(path) == {
        "look": {"readOnlyHint": True},
        "cancel": {"readOnlyHint": False, "destructiveHint": True},
        "silent": {},
        "plain": {},
    }


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["tools.json: not JSON"]),
        (b"\xff\xfe{}", ["not UTF-8"]),
        (b"[" * 100_000, ["nested too deeply"]),
        ({"error": {"code": -32601}}, ["no list of tools", "tools/list"]),
        ({"tools": {}}, ["no list of tools"]),
        ({"tools": []}, ["empty"]),
        ({"tools": [LOOK, "cancel"]}, ["at /tools/1: a tool without a name"]),
        ({"result": {"tools": [{"name": " "}]}}, ["at /result/tools/0: a tool without a name"]),
        ([{"name": "x", "annotations": []}], ["at /0/annotations: not an object"]),
        ([{"name": "x", "annotations": {"readOnlyHint": "no"}}], ['at /0/annotations/readOnlyHint: "no"', "'x'"]),
        ([{"name": "x", "annotations": {"destructiveHint": 1}}], ["destructiveHint: 1", "true or false"]),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_the_place(written, content, words):
    with pytest.raises(ConfigError) as caught:
        read_tools_file(written(content))
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(ConfigError, match=r"gone\.json: no such file"):
        read_tools_file(tmp_path / "gone.json")
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        read_tools_file(tmp_path)
