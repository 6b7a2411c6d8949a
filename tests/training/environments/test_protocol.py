from __future__ import annotations

from likewise.core.tool_hints import tool_hints
from likewise.training.environments.protocol import Step, Tool

TOOL = Tool("get_seat", "Get a seat.", {"type": "object", "properties": {"row": {"type": "string"}}}, True)


def test_a_tool_is_defined_as_chat_endpoints_take_it():
    assert TOOL.definition == {
        "type": "function",
        "function": {"name": "get_seat", "description": "Get a seat.", "parameters": TOOL.parameters},
    }


def test_a_tool_says_of_itself_what_the_comparison_of_calls_reads():
    definition = {**TOOL.definition, "annotations": TOOL.hints}
    assert tool_hints([definition]) == {"get_seat": {"readOnlyHint": True}}


def test_a_step_goes_on_unless_it_says_otherwise():
    assert Step(()).stop is None
