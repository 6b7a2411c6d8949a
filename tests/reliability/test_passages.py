from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges import TableJudge
from likewise.reliability.layer import ReliabilityLayer
from likewise.reliability.passages import MOST_PASSAGES, Source, check_sources, passages_of

FLIGHT = (
    '{"id": "UM3", "cabin": "economy", "flights": [{"number": "HAT1", "price": 117}, {"number": "HAT2", "price": 9}]}'
)


def read(text):
    return [passage.text for passage in passages_of([Source("s", text)])[0]]


def test_prose_is_read_in_windows_of_up_to_three_sentences():
    assert read("A is so. B is so. C is so. D is so.") == [
        "A is so.",
        "A is so. B is so.",
        "A is so. B is so. C is so.",
        "B is so.",
        "B is so. C is so.",
        "B is so. C is so. D is so.",
        "C is so.",
        "C is so. D is so.",
        "D is so.",
    ]


def test_json_is_read_by_objects_alone_and_with_what_is_in_them():
    assert read(FLIGHT) == [
        "id: UM3; cabin: economy; flights: number: HAT1; price: 117, flights: number: HAT2; price: 9",
        "id: UM3; cabin: economy",
        "flights: number: HAT1; price: 117",
        "flights: number: HAT2; price: 9",
    ]
    assert read('{"seats_left": ["1A", "2B"], "open": true}') == ["seats left: 1A, 2B; open: true", "open: true"]


def test_what_is_quoted_stands_in_the_source():
    text = f"The tool said:\n{FLIGHT}\nThat is all. Thanks."
    passages, unread = passages_of([Source("s", text)])
    assert unread == []
    assert all(text[p.start : p.end] == p.quote for p in passages)
    assert (
        next(p for p in passages if p.text == "flights: number: HAT2; price: 9").quote
        == '{"number": "HAT2", "price": 9}'
    )
    assert {"The tool said:", "That is all."} <= {p.text for p in passages}
    assert {p.text for p in passages if p.record} == set(read(FLIGHT))


def test_a_large_object_is_read_by_its_parts_alone():
    rows = [{"row": i, "note": "x" * 30} for i in range(40)]
    found = read(json.dumps({"rows": rows, "name": "all"}))
    assert found[0] == "name: all"
    assert len(found) == 41


@pytest.mark.parametrize(
    "text", ["[1] is a reference.", '{"a": 1, broken', "{}", "[]", "[1, 2]", "{", '["a" "b"]', "{]"]
)
def test_what_is_no_object_with_facts_is_prose(text):
    assert "".join(read(text)).replace(" ", "").startswith(text.replace(" ", "")[:1])


def test_hostile_nesting_and_size_end_soon():
    began = time.monotonic()
    read("[" * 100_000)
    read('{"a":' * 5_000 + "1" + "}" * 5_000)
    passages, unread = passages_of([Source("s", json.dumps([{"a": i} for i in range(10_000)]))])
    assert len(passages) <= MOST_PASSAGES
    assert unread
    assert time.monotonic() - began < 30


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(JSON)
def test_every_json_is_walked_to_its_end_and_every_quote_is_its_own_text(value):
    text = json.dumps(value)
    for passage in passages_of([Source("s", text)])[0]:
        assert text[passage.start : passage.end] == passage.quote


BAD_SOURCES = [
    "The firm was founded in 1998.",
    b"bytes",
    7,
    {"report": 3},
    {"report": None},
    {3: "a text under a number"},
    [("report", "The firm was founded in 1998.")],
    ["The firm was founded in 1998."],
    [Source("report", None)],
    [Source("report", "fine"), None],
    (Source(name, "once") for name in "ab"),
]


@pytest.mark.parametrize("sources", BAD_SOURCES, ids=lambda sources: type(sources).__name__)
def test_sources_that_are_none_are_refused_before_any_run_of_the_agent(sources):
    asked = []

    def agent(query):
        asked.append(query)
        return "Paris."

    layer = ReliabilityLayer(2, judge=TableJudge())
    for call in (
        lambda: layer.wrap(agent, sources=sources),
        lambda: layer.wrap(agent).query("?", sources=sources),
        lambda: layer.score(["Paris."] * 2, sources=sources),
    ):
        with pytest.raises(TypeError, match="sources are texts by name"):
            call()
    assert asked == []


@pytest.mark.parametrize("sources", [None, {}, [], {"report": "text"}, [Source("report", "text")], (Source("a", "b"),)])
def test_sources_of_each_kind_are_taken(sources):
    check_sources(sources)
