from __future__ import annotations

import pytest

from likewise.backends.argument_modes import Mode
from likewise.backends.tool_names import ToolClass
from likewise.backends.tool_rules import ToolRules, ToolSettings
from likewise.core.rollout import Action, Rollout, StopReason, ToolCall, Turn
from likewise.core.tool_hints import META_KEY
from likewise.scoring.tool_inventory import MAX_ARGUMENTS, logged_hints, tool_inventory


def call(name, **arguments):
    return ToolCall(name, arguments)


def run(task, run_id, *calls, **changes):
    return Rollout(task, run_id, tuple(Turn((), Action(tool_calls=(each,))) for each in calls), **changes)


RUNS = [
    run("t1", "1", call("get_order", order_id=1), call("get_order", order_id=2), call("note", text="x", n=1)),
    run("t1", "2", call("get_order", order_id=1)),
    run("t2", "1", call("get_order", order_id=1, size=5), call("cancel", order_id=1)),
    run("t3", "1", call("cancel", order_id=1), stop=StopReason.INVALID, problem="crash"),
]


def found(runs=RUNS, rules=None):
    return {tool.name: tool for tool in tool_inventory(runs, rules or ToolRules())}


def arguments(tool):
    return {each.path: (each.calls, str(each.role), each.mode) for each in tool.arguments}


def test_calls_rollouts_and_tasks_are_counted_invalid_runs_included():
    tools = tool_inventory(RUNS, ToolRules())
    assert [(tool.name, tool.calls, tool.rollouts, tool.tasks) for tool in tools] == [
        ("get_order", 4, 3, 2),
        ("cancel", 2, 2, 2),
        ("note", 1, 1, 1),
    ]


def test_each_tool_has_its_class_and_why():
    assert {name: (tool.verdict.tool_class, tool.verdict.reason) for name, tool in found().items()} == {
        "get_order": (ToolClass.READS, "starts with 'get'"),
        "cancel": (ToolClass.CHANGES, "'cancel' is not known to read"),
        "note": (ToolClass.CHANGES, "'note' is not known to read"),
    }
    pinned = found(rules=ToolRules(tool_classes={"note": ToolClass.READS}))["note"].verdict
    assert (pinned.tool_class, pinned.source) == (ToolClass.READS, "pin")


def test_arguments_have_the_role_that_the_rules_give_them():
    tools = found()
    assert arguments(tools["get_order"]) == {
        "order_id": (4, "names the object", None),
        "size": (1, "value", None),
    }
    assert arguments(tools["note"]) == {"n": (1, "value", None), "text": (1, "free text", None)}


def test_values_that_read_like_sentences_in_half_of_the_calls_are_free_text():
    runs = [run("t", "1", call("do", a="make it so please", b="make it so please", c=1), call("do", a="x", b="y", c=2))]
    runs += [run("t", "2", call("do", b="z", ticket_id="a b c d"))]
    assert {path: role for path, (_, role, _) in arguments(found(runs)["do"]).items()} == {
        "a": "free text",
        "b": "value",
        "c": "value",
        "ticket_id": "names the object",
    }


def test_what_the_user_says_is_shown_inside_lists_too_and_what_no_call_has_is_named():
    runs = [run("t", "1", call("set", id=1, note="x", items=[{"price": 1, "tag": "a"}], o={"p": 1}))]
    own = {"id": Mode.IGNORE, "note": Mode.EXACT, "items.price": Mode.IGNORE, "items.tag": Mode.TEXT, "prize": Mode.SET}
    rules = ToolRules(arguments={"o": Mode.EXACT}, tools={"set": ToolSettings(own, objects=frozenset(["o.p", "q.r"]))})
    tool = found(runs, rules)["set"]
    assert arguments(tool) == {
        "id": (1, "ignored", "ignore"),
        "note": (1, "value", "exact"),
        "items": (1, "value", None),
        "items.price": (1, "ignored", "ignore"),
        "items.tag": (1, "free text", "text"),
        "o.p": (1, "names the object", "exact"),
    }
    assert tool.unknown_arguments == ("'prize' (did you mean 'price'?)", "'q.r'")


def test_arguments_that_could_not_be_parsed_and_none_at_all():
    runs = [run("t", "1", ToolCall("sh", "rm -r the whole thing"), ToolCall("sh", {}), ToolCall("list", {}))]
    assert arguments(found(runs)["sh"]) == {"": (1, "free text", None)}
    assert found(runs)["list"].arguments == ()


def test_a_tool_with_a_key_of_its_own_in_each_call_is_cut_short_with_a_count():
    runs = [run("t", "1", call("set", **{f"k{i}": 1 for i in range(MAX_ARGUMENTS + 7)}))]
    tool = found(runs)["set"]
    assert (len(tool.arguments), tool.more_arguments) == (MAX_ARGUMENTS, 7)


def test_names_are_counted_in_canonical_form():
    assert list(found([run("t", "1", call("get  it"), call("get it "))])) == ["get it"]


LOOKS, ACTS = {"readOnlyHint": True}, {"readOnlyHint": False}


def test_hints_of_all_logs_are_merged_and_nonsense_in_them_says_nothing():
    runs = [
        run("t", "1", meta={META_KEY: {"a": LOOKS, "b": LOOKS}}),
        run("t", "2", meta={META_KEY: {"a": LOOKS, "b": ACTS}}),
        run("t", "3", meta={META_KEY: [1]}),
        run("t", "4", meta={META_KEY: {"c": 3, "d": {"readOnlyHint": "yes"}}}),
        run("t", "5"),
    ]
    assert {name: hints for name, hints in logged_hints(runs).items() if hints} == {"a": LOOKS, "b": ACTS}


@pytest.mark.parametrize("runs", [[], [run("t", "1")]])
def test_without_calls_there_are_no_tools(runs):
    assert tool_inventory(runs, ToolRules()) == ()
