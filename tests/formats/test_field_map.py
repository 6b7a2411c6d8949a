from pathlib import Path

import pytest

from likewise.formats.field_map import FieldMap, Turns, find, has, is_set, text_of

RECORD = {
    "id": 7,
    "a": {"b": [{"c": "deep"}, None]},
    "a.b": "whole",
    "url": "http://host:8080/fhir/Observation?patient=S1&code=GLU&code=HB&_format=json",
    "json": '["S1"]',
    "none": None,
    "odd@name": "odd",
    "bad": "{not json",
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("id", 7),
        ("a.b", "whole"),
        ("a.b.0.c", "deep"),
        ("a.b.1", None),
        ("missing", None),
        ("id.x", None),
        ("none", None),
        ("odd@name", "odd"),
        ("url@path", "/fhir/Observation"),
        ("url@query", {"patient": "S1", "code": ["GLU", "HB"], "_format": "json"}),
        ("json@json", ["S1"]),
        ("bad@json", "{not json"),
        ("id@json", 7),
        ("missing@query", None),
    ],
)
def test_a_path_leads_to_a_value_or_to_nothing(path, value):
    assert find(RECORD, path) == value


def test_positions_count_from_the_start_or_from_the_end():
    record = {"list": [{"x": 1}, {"x": 2}]}
    assert [find(record, path) for path in ("list.0.x", "list.-1.x", "list.2.x", "list.x")] == [1, 2, None, None]


def test_null_is_there_and_a_missing_key_is_not():
    assert [has(RECORD, path) for path in ("none", "none@json", "missing", "a.c", "a.b")] == [
        True,
        True,
        False,
        False,
        True,
    ]


def test_folder_and_file_come_from_where_the_record_lies():
    source = Path("/data/model-x/run 1.json")
    assert (find({}, "@folder", source), find({}, "@file", source)) == ("model-x", "run 1")
    assert find({}, "@folder") is None


def test_a_broken_url_stays_text():
    assert find({"u": "http://[half"}, "u@path") == "http://[half"
    assert find({"u": "http://[half"}, "u@query") == "http://[half"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("x", "x"),
        (1.0, "1"),
        (True, "true"),
        (["x"], "x"),
        ([-1], "-1"),
        ([-1, "x"], '[-1,"x"]'),
        ([["x"]], '[["x"]]'),
        ({"b": 1, "a": 2}, '{"a":2,"b":1}'),
    ],
)
def test_a_value_as_text(value, text):
    assert text_of(value) == text


def test_what_says_nothing_is_not_set():
    assert [is_set(value) for value in (None, False, "", " ", [], {}, 0)] == [False] * 7
    assert [is_set(value) for value in (True, "x", [0], 1)] == [True] * 4


def test_a_map_lists_its_paths():
    fields = FieldMap(
        task=("a",), run=("@file",), answers=("b",), facts=(("model", "@folder"),), turns=Turns("t", ("x",))
    )
    assert sorted(fields.paths()) == ["a", "b", "t"]
