from __future__ import annotations

import io
import json

from rich.console import Console

from likewise.backends.argument_modes import Mode
from likewise.backends.tool_names import ToolClass
from likewise.backends.tool_rules import ToolRules, ToolSettings
from likewise.core.rollout import Action, Rollout, ToolCall, Turn
from likewise.report.tool_list import ToolReport, render_tools, tools_as_json
from likewise.scoring.tool_inventory import tool_inventory


def report(rules=None, name="cancel_order", config=None, warnings=()):
    rules = rules or ToolRules()
    calls = tuple(ToolCall(name, {"order_id": i, "reason": "late", **({"x": 1} if i else {})}) for i in range(2))
    runs = [Rollout("t", "1", (Turn((), Action(tool_calls=calls)), Turn((), Action("Done."))))]
    return ToolReport(tool_inventory(runs, rules), rules, config, warnings)


def shown(each, width=80):
    stream = io.StringIO()
    render_tools(each, Console(file=stream, width=width))
    return stream.getvalue()


def test_a_tool_is_shown_with_calls_class_reason_and_arguments_by_role():
    assert shown(report()).splitlines()[:5] == [
        "cancel_order       2 calls in   1 task   changes state",
        "    verb: 'cancel' is not known to read",
        "    names the object: order_id",
        "    free text: reason",
        "    value: x (1 of 2 calls)",
    ]


def test_a_name_is_never_shortened_nor_run_together_with_what_follows():
    name = "mcp__a_server_with_a_long_name__cancel_the_whole_order_at_once"
    assert f"{name}  " in shown(report(name=name)).replace("\n", "  ")


def test_pins_modes_and_settings_that_no_run_has_are_named():
    rules = ToolRules(
        tool_classes={"cancel_order": ToolClass.READS, "cancel_ordr": ToolClass.READS},
        tools={"cancel_order": ToolSettings({"x": Mode.SET, "y": Mode.IGNORE, "reason": Mode.IGNORE})},
    )
    text = " ".join(shown(report(rules, config="likewise.toml", warnings=["a file was odd"])).split())
    assert "reads pinned" in text
    assert "ignored: reason" in text
    assert "value: x (set, 1 of 2 calls)" in text
    assert (
        "warning: likewise.toml speaks of what no run has: tool 'cancel_ordr' (did you mean 'cancel_order'?), "
        "argument 'y' of 'cancel_order'"
    ) in text
    assert "warning: a file was odd" in text
    assert f"settings: likewise.toml rules: {rules.rules_id}" in text


def test_a_hostile_name_drives_no_terminal():
    text = shown(report(name="\x1b[2Jcancel[bold]x[/bold]\x9b31m"))
    assert "\x1b" not in text
    assert "\x9b" not in text
    assert "[bold]" in text


def test_the_json_holds_the_same():
    content = tools_as_json(report(config="c.toml", warnings=["w"]))
    assert json.loads(json.dumps(content)) == {
        "schema": "likewise.tools/1",
        "rules": ToolRules().rules_id,
        "config": "c.toml",
        "tools": [
            {
                "name": "cancel_order",
                "calls": 2,
                "rollouts": 1,
                "tasks": 1,
                "class": "changes",
                "source": "verb",
                "reason": "'cancel' is not known to read",
                "arguments": [
                    {"path": "order_id", "calls": 2, "role": "names the object", "mode": None},
                    {"path": "reason", "calls": 2, "role": "free text", "mode": None},
                    {"path": "x", "calls": 1, "role": "value", "mode": None},
                ],
                "more_arguments": 0,
            }
        ],
        "unused": [],
        "warnings": ["w"],
    }
