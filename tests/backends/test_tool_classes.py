from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.backends.tool_classes import ClassSource, ToolClasses
from likewise.backends.tool_names import ToolClass

READS, CHANGES = ToolClass.READS, ToolClass.CHANGES
LOOKS, ACTS = {"readOnlyHint": True}, {"readOnlyHint": False}


def told(name, pins=None, hints=None):
    verdict = ToolClasses.of_names(pins or {}, hints or {}).of(name)
    return verdict.tool_class, str(verdict.source)


def test_a_pin_goes_before_an_annotation_and_that_before_the_verb():
    assert told("get_it") == (READS, "verb")
    assert told("get_it", hints={"get_it": ACTS}) == (CHANGES, "annotation")
    assert told("get_it", {"get_it": READS}, {"get_it": ACTS}) == (READS, "pin")
    assert told("get_it", {"get_it": "changes"}, {"get_it": LOOKS}) == (CHANGES, "pin")
    assert told("get_it", hints={"get_it": {}}) == (READS, "verb")


@pytest.mark.parametrize("name", ["mcp__shop__cancel", "shop.cancel", "shop/cancel", "cancel"])
def test_an_annotation_holds_for_its_tool_under_any_servers_name(name):
    assert told(name, hints={"cancel": LOOKS}) == (READS, "annotation")


def test_the_annotation_under_the_full_name_goes_before_that_under_the_tools_own():
    hints = {"cancel": LOOKS, "mcp__shop__cancel": ACTS}
    assert told("mcp__shop__cancel", hints=hints) == (CHANGES, "annotation")
    assert told("mcp__other__cancel", hints=hints) == (READS, "annotation")
    assert told("recancel", hints=hints) == (CHANGES, "verb")


def test_a_pin_holds_for_the_name_in_the_logs_alone():
    assert told("mcp__shop__cancel", {"cancel": READS}) == (CHANGES, "verb")
    assert told("run  it", {" run it ": READS}) == (READS, "pin")  # names are compared in canonical form


def test_every_verdict_says_why():
    classes = ToolClasses.of_names({"a": READS}, {"b": {"destructiveHint": True}})
    assert [
        classes.of(name).reason for name in ("a", "b", "get", "check_in", "get_or_create", "x_search", "x", "_")
    ] == [
        "pinned",
        "destructiveHint is true",
        "starts with 'get'",
        "starts with 'check in'",
        "'create' in the name",
        "ends in 'search'",
        "'x' is not known to read",
        "no verb in the name",
    ]


def test_what_is_no_class_is_refused():
    with pytest.raises(ValueError, match="reading"):
        ToolClasses.of_names({"x": "reading"}, {})


def test_further_annotations_leave_the_pins_and_the_original_alone():
    first = ToolClasses.of_names({"x": READS}, {"y": LOOKS})
    more = first.with_hints({"y": ACTS, "z": LOOKS, "x": ACTS})
    assert [str(more.of(name).tool_class) for name in "xyz"] == ["reads", "changes", "reads"]
    assert first.of("y").tool_class is READS


def test_what_says_nothing_new_is_no_part_of_the_content():
    assert ToolClasses.of_names({"get_it": READS, "x": CHANGES}, {"get_it": LOOKS, "y": {}}).content() == ([], [])
    assert ToolClasses.of_names({"get_it": READS}, {"get_it": ACTS}).content() == (
        [("get_it", "reads")],
        [("get_it", "changes")],
    )


names = st.sampled_from(["get", "cancel", "s__get", "s__cancel", "t.get"])
hints = st.dictionaries(names, st.sampled_from([LOOKS, ACTS, {}, {"destructiveHint": False}]))
pins = st.dictionaries(names, st.sampled_from(list(ToolClass)))


@given(pins, hints, pins, hints)
def test_equal_contents_decide_alike_on_every_name(pins_a, hints_a, pins_b, hints_b):
    a, b = ToolClasses.of_names(pins_a, hints_a), ToolClasses.of_names(pins_b, hints_b)
    if a.content() == b.content():
        for name in ("get", "cancel", "s__get", "s__cancel", "t.get", "t.cancel", "u/get"):
            assert a.of(name).tool_class is b.of(name).tool_class


def test_the_sources_are_named_in_order_of_precedence():
    assert list(ClassSource) == ["pin", "annotation", "verb"]
