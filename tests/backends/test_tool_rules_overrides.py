"""What a user says in a configuration, in effect: modes, list order, objects, annotations, and the id of the rules."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.backends.argument_modes import Mode, Tolerance
from likewise.backends.tool_rules import RULES, FreeText, ToolClass, ToolRules, ToolSettings
from likewise.core.config import Table
from likewise.core.errors import ConfigError
from likewise.core.labels import Judgement, Relation
from likewise.core.rollout import Action, ToolCall

EQ, NE, CO = Relation
SAME, UNRELATED, CLASH = (Judgement.certain(relation, "nli") for relation in Relation)
CENT = Tolerance(absolute=0.01)


def call(name, **arguments):
    return ToolCall(name, arguments)


def decided(a, b, rules):
    there, back = rules.compare_calls(a, b), rules.compare_calls(b, a)
    assert isinstance(there, Judgement), there
    assert there == back
    return there.relation, there.rule.removeprefix("tool:")


def with_modes(tool="set", **modes):
    return ToolRules(tools={tool: ToolSettings(arguments=modes)})


# Modes


@pytest.mark.parametrize(
    ("modes", "a", "b", "expected"),
    [
        ({}, {"id": 1, "p": 1.0}, {"id": 1, "p": 1.01}, (CO, "same-object-write")),
        ({"p": CENT}, {"id": 1, "p": 1.0}, {"id": 1, "p": 1.01}, (EQ, "same-call")),
        ({"p": CENT}, {"id": 1, "p": 1.0}, {"id": 1, "p": 1.02}, (CO, "same-object-write")),
        ({"p": Mode.IGNORE}, {"id": 1, "p": 1}, {"id": 1, "p": 2}, (EQ, "same-call")),
        ({"p": Mode.IGNORE}, {"id": 1, "p": 1}, {"id": 2}, (NE, "other-object")),
        ({"id": Mode.IGNORE}, {"id": 1, "p": 1}, {"id": 2, "p": 2}, (CO, "same-object-write")),
        ({"t": Mode.SET}, {"id": 1, "t": [1, 2]}, {"id": 1, "t": [2, 1, 1]}, (EQ, "same-call")),
        ({"t": Mode.SET}, {"id": 1, "t": "['a','b']"}, {"id": 1, "t": ["b", "a"]}, (EQ, "same-call")),
        ({"t": Mode.SET}, {"id": 1, "t": [1]}, {"id": 1, "t": [2]}, (CO, "same-object-write")),
        ({"ids": Mode.SET}, {"ids": [1, 2]}, {"ids": [2, 1]}, (EQ, "same-call")),
        ({}, {"ids": [1, 2]}, {"ids": [2, 1]}, (NE, "other-object")),
        ({"note": Mode.EXACT}, {"note": "a"}, {"note": "b"}, (CO, "same-object-write")),
        ({"t": Mode.EXACT}, {"id": 1, "t": [1, 2]}, {"id": 1, "t": [2, 1]}, (CO, "same-object-write")),
        ({"id": CENT}, {"id": 1, "p": 1}, {"id": 1.01, "p": 2}, (CO, "same-object-write")),
    ],
)
def test_modes_decide_as_worked_out_by_hand(modes, a, b, expected):
    assert decided(ToolCall("set", a), ToolCall("set", b), with_modes(**modes)) == expected
    other = ToolCall("put", a), ToolCall("put", b)  # of which nothing was said
    assert with_modes(**modes).compare_calls(*other) == ToolRules().compare_calls(*other)


def test_text_by_mode_goes_to_the_judge_and_an_id_that_is_text_names_nothing():
    found = with_modes(id=Mode.TEXT).compare_calls(call("set", id="a"), call("set", id="b"))
    assert found == FreeText((("a", "b"),), EQ, CO)
    reads = with_modes("get", id=Mode.TEXT).compare_calls(call("get", id="a"), call("get", id="b"))
    assert reads == FreeText((("a", "b"),), EQ, NE)


def test_parallel_calls_that_differ_only_in_what_is_ignored_are_the_same_set():
    rules = with_modes(stamp=Mode.IGNORE)
    a = [call("set", id=1, stamp=1), call("set", id=2, stamp=2)]
    b = [call("set", id=2, stamp=3), call("set", id=1, stamp=4)]
    assert rules.plan(a, b).resolve() == Judgement.certain(EQ, "tool:same-call")
    assert rules.call_key(a[0]) == rules.call_key(b[1]) != rules.call_key(a[1])


def test_the_tools_own_word_on_an_argument_goes_before_the_word_on_all_tools():
    rules = ToolRules(arguments={"p": Mode.IGNORE}, tools={"set": ToolSettings(arguments={"p": Mode.EXACT})})
    assert decided(call("set", id=1, p=1), call("set", id=1, p=2), rules) == (CO, "same-object-write")
    assert decided(call("put", id=1, p=1), call("put", id=1, p=2), rules) == (EQ, "same-call")


# List order, for all tools, for one, for one argument

A, B = call("set", id=1, t=[1, 2]), call("set", id=1, t=[2, 1])


@pytest.mark.parametrize("relation", list(Relation))
def test_list_order_is_a_matter_of_the_table_then_of_the_tool_then_of_the_argument(relation):
    everywhere = ToolRules(overrides={"list-order": relation})
    assert decided(A, B, everywhere) == (relation, "list-order")
    for other in Relation:
        rules = ToolRules(overrides={"list-order": other}, tools={"set": ToolSettings(list_order=relation)})
        assert decided(A, B, rules) == (relation, "list-order")
    argument = ToolSettings(arguments={"t": Mode.UNORDERED}, list_order=relation)
    assert decided(A, B, ToolRules(tools={"set": argument})) == (EQ, "same-call")


def test_where_order_does_not_matter_the_rest_decides():
    rules = ToolRules(overrides={"list-order": EQ})
    assert decided(A, call("set", id=1, t=[2, 1], x=1), rules) == (NE, "extra-argument")
    assert decided(call("set", ids=[1, 2]), call("set", ids=[2, 1]), rules) == (EQ, "list-order")  # one object
    assert decided(call("set", ids=[1, 2], x=1), call("set", ids=[2, 1], x=2), rules) == (CO, "same-object-write")
    found = rules.compare_calls(call("set", id=1, t=[1, 2], note="a"), call("set", id=1, t=[2, 1], note="b"))
    assert found == FreeText((("a", "b"),), EQ, CO)


def test_free_text_does_not_make_up_for_what_the_table_holds_against_the_rest():
    a, b = call("set", id=1, note="a", x=1), call("set", id=1, note="b")
    strict = ToolRules(overrides={"extra-argument": CO})
    assert strict.compare_calls(a, b) == FreeText((("a", "b"),), CO, CO)
    assert decided(a, b, ToolRules(overrides={"free-text": EQ})) == (NE, "free-text")
    assert decided(a, b, ToolRules(overrides={"free-text": EQ, "extra-argument": EQ})) == (EQ, "free-text")


# Objects


def test_the_user_says_which_arguments_name_the_object():
    a, b = call("close", room="A", until=1), call("close", room="B", until=2)
    assert decided(a, b, ToolRules()) == (CO, "same-object-write")
    assert decided(a, b, ToolRules(tools={"close": ToolSettings(objects=frozenset(["room"]))})) == (NE, "other-object")
    by_id = call("close", id=1, until=1), call("close", id=2, until=2)
    assert decided(*by_id, ToolRules()) == (NE, "other-object")
    assert decided(*by_id, ToolRules(tools={"close": ToolSettings(objects=frozenset())})) == (CO, "same-object-write")


def test_opposite_writes_know_the_objects_too():
    a, b = call("open_valve", room="A"), call("close_valve", room="A")
    assert decided(a, b, ToolRules()) == (NE, "different-tools")
    for tool in ("open_valve", "close_valve"):
        rules = ToolRules(tools={tool: ToolSettings(objects=frozenset(["room"]))})
        assert decided(a, b, rules) == (CO, "opposite-writes")
        assert decided(a, call("close_valve", room="B"), rules) == (NE, "different-tools")


# Annotations


def test_annotations_decide_which_rule_applies_and_a_pin_goes_before_them():
    a, b = call("run", id=1, v=1), call("run", id=1, v=2)
    rules = ToolRules(hints={"run": {"readOnlyHint": True}})
    assert decided(a, b, rules) == (NE, "other-look-up")
    pinned = ToolRules(tool_classes={"run": ToolClass.CHANGES}, hints={"run": {"readOnlyHint": True}})
    assert decided(a, b, pinned) == (CO, "same-object-write")
    assert decided(a, b, ToolRules().with_hints({"run": {"readOnlyHint": True}})) == (NE, "other-look-up")
    assert decided(a, b, rules.with_hints({"run": {"destructiveHint": True}})) == (CO, "same-object-write")
    assert rules.with_hints({}) is rules


# From a configuration

CONFIG = """
[rules]
extra-argument = "equivalent"
[tools]
run = "reads"
[tools.set]
list-order = "equivalent"
object = ["room"]
[tools.set.arguments]
price = { absolute = 0.01 }
[arguments]
stamp = "ignore"
"""


def test_a_configuration_file_makes_the_rules_it_describes(tmp_path):
    path = tmp_path / "likewise.toml"
    path.write_text(CONFIG)
    rules = ToolRules.from_config(path)
    assert decided(call("set", room=1, price=1, stamp=1), call("set", room=1, price=1.01), rules) == (EQ, "same-call")
    assert decided(call("set", room=1, price=1), call("set", room=2, price=1), rules) == (NE, "other-object")
    assert decided(call("run", v=1), call("run", v=2), rules) == (NE, "other-look-up")
    assert decided(call("put", v=1), call("put"), rules) == (EQ, "extra-argument")
    same_by_hand = ToolRules(
        {"extra-argument": EQ},
        {"run": ToolClass.READS},
        ["stamp"],
        tools={"set": ToolSettings({"price": CENT}, EQ, frozenset(["room"]))},
    )
    assert rules.rules_id == same_by_hand.rules_id
    assert ToolRules.from_config(str(path)).rules_id == rules.rules_id


def test_no_configuration_is_the_default_table():
    assert ToolRules.from_config().rules_id == ToolRules.from_config(Table()).rules_id == ToolRules().rules_id


def test_tools_files_bring_annotations(tmp_path):
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"tools": [{"name": "run", "annotations": {"readOnlyHint": True}}]}))
    rules = ToolRules.from_config(tools_files=[path])
    assert rules.tool_class("mcp__it__run") is ToolClass.READS
    assert rules.hinted_tools == {"run"}
    with pytest.raises(ConfigError, match="gone"):
        ToolRules.from_config(tools_files=[tmp_path / "gone"])


# The id


def test_the_id_names_everything_that_changes_a_decision():
    hint = {"run": {"readOnlyHint": True}}
    different = [
        ToolRules(),
        ToolRules(overrides={"list-order": EQ}),
        ToolRules(tool_classes={"run": ToolClass.READS}),
        ToolRules(hints=hint),
        ToolRules(ignored_arguments=["x"]),
        ToolRules(arguments={"x": Mode.SET}),
        ToolRules(arguments={"x": Tolerance(absolute=0.1)}),
        ToolRules(arguments={"x": Tolerance(relative=0.1)}),
        ToolRules(arguments={"x": Tolerance(absolute=0.1000001)}),
        ToolRules(tools={"t": ToolSettings(arguments={"x": Mode.SET})}),
        ToolRules(tools={"u": ToolSettings(arguments={"x": Mode.SET})}),
        ToolRules(tools={"t": ToolSettings(list_order=EQ)}),
        ToolRules(tools={"t": ToolSettings(list_order=CO)}),
        ToolRules(tools={"t": ToolSettings(objects=frozenset())}),
        ToolRules(tools={"t": ToolSettings(objects=frozenset(["x"]))}),
        ToolRules(tool_classes={"run": ToolClass.READS}, hints={"run": {"readOnlyHint": False}}),
    ]
    assert len({rules.rules_id for rules in different}) == len(different) - 1  # the last: a pin, in other words
    assert different[-1].rules_id == different[2].rules_id


def test_the_id_is_silent_on_what_changes_nothing():
    plain = ToolRules().rules_id
    for rules in (
        ToolRules(tools={"t": ToolSettings()}),
        ToolRules(tool_classes={"get_it": ToolClass.READS}),
        ToolRules(hints={"get_it": {"readOnlyHint": True}, "x": {}}),
        ToolRules().with_hints({"set": {"readOnlyHint": False}}),
    ):
        assert rules.rules_id == plain


# Properties, whatever the overrides say

scalars = st.sampled_from([0, 1, 1.01, 1.5, "a", "b", None])
values = scalars | st.lists(scalars, max_size=3) | st.dictionaries(st.sampled_from("xy"), scalars, max_size=2)
arguments = st.dictionaries(st.sampled_from(["id", "t", "note", "o", "stamp"]), values, max_size=4)
calls = st.builds(ToolCall, st.sampled_from(["get", "set", "open_it", "close_it"]), arguments)
call_lists = st.lists(calls, max_size=4)
modes = st.dictionaries(
    st.sampled_from(["id", "t", "note", "o.x", "stamp", "x"]), st.sampled_from([*Mode, CENT, Tolerance(relative=0.3)])
)
overrides = st.dictionaries(
    st.sampled_from([rule.name for rule in RULES if not rule.fixed and rule.name != "free-text"]),
    st.sampled_from(Relation),
)
rule_sets = st.builds(
    lambda table, free, common, own, order, objects, pins: ToolRules(
        {**table, "free-text": free},
        pins,
        arguments=common,
        tools={"set": ToolSettings(own, order, objects)},
        hints={"open_it": {"readOnlyHint": True}},
    ),
    overrides,
    st.sampled_from([None, *Relation]),
    modes,
    modes,
    st.sampled_from([None, *Relation]),
    st.sampled_from([None, frozenset(), frozenset(["t"]), frozenset(["o.x"])]),
    st.dictionaries(st.sampled_from(["get", "set"]), st.sampled_from(list(ToolClass))),
)


class Clashing(dict):
    """Judges every two texts that differ as contradictory."""

    def __contains__(self, pair):
        return True

    def __getitem__(self, pair):
        return CLASH


@given(rule_sets, call_lists, st.randoms(use_true_random=False))
def test_identical_calls_are_equivalent_whatever_the_overrides_say(rules, a, random):
    for each in a:
        found = rules.compare_calls(each, copy.deepcopy(each))
        assert found == Judgement.certain(EQ, "tool:same-call")
    again = random.sample([copy.deepcopy(each) for each in a], len(a))
    assert rules.plan(a, again).resolve() == Judgement.certain(EQ, "tool:same-call")
    action, other = Action("Words.", tuple(a)), Action(" Words. ", tuple(again))
    assert rules.plan_action(action, other).resolve() == Judgement.certain(EQ, "identical")


@settings(max_examples=200)
@given(rule_sets, call_lists, call_lists, st.randoms(use_true_random=False))
def test_sets_are_symmetric_and_blind_to_the_order_of_parallel_calls(rules, a, b, random):
    judge = Clashing()
    expected = rules.plan(a, b).resolve(judge).relation
    assert rules.plan(b, a).resolve(judge).relation == expected
    assert rules.plan(random.sample(a, len(a)), random.sample(b, len(b))).resolve(judge).relation == expected


@given(rule_sets, calls, calls)
def test_equal_keys_are_the_same_call_and_a_tolerance_only_brings_calls_nearer(rules, a, b):
    if rules.call_key(a) == rules.call_key(b):
        assert rules.compare_calls(a, b) == Judgement.certain(EQ, "tool:same-call")
    plain = ToolRules().compare_calls(a, b)
    near = ToolRules(arguments={"t": CENT}).compare_calls(a, b)
    if isinstance(plain, Judgement) and isinstance(near, Judgement) and "id" not in a.arguments:
        assert near.relation <= plain.relation


@given(rule_sets)
def test_rules_travel_between_processes(rules):
    assert pickle.loads(pickle.dumps(rules)).rules_id == rules.rules_id
