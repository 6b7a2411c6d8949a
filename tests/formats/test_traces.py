"""From spans to turns: order, repeated history, calls reported twice, tools, errors. Built by hand."""

import pytest

from likewise.core.rollout import Action, Observation, StopReason, ToolCall, Turn
from likewise.formats.traces import RETRIED, SUBAGENT, Kind, Step, read_trace

GEN, TOOL, OTHER, JUDGE = Kind.GENERATION, Kind.TOOL, Kind.OTHER, Kind.JUDGE


def message(role, content, *calls, name=None):
    return {
        "role": role,
        "content": content,
        "tool_calls": [{"name": each, "arguments": {}} for each in calls],
        "name": name,
    }


def step(name, kind, start, parent=None, **more):
    return Step(id=name, parent=parent, kind=kind, start=start, end=more.pop("end", start + 0.5), name=name, **more)


def said(text, *calls):
    return [message("assistant", text, *calls)]


def acts(trace):
    """(what was seen, text, names of calls) of each turn."""
    return [
        ([f"{o.source}: {o.text}" for o in t.observations], t.action.text, [c.name for c in t.action.tool_calls])
        for t in trace.talk.turns
    ]


ASKED = [message("system", "Be kind."), message("user", "Weather?")]
FIRST = step("a", GEN, 1.0, input=ASKED, output=said("", "look"))
HISTORY = [*ASKED, message("assistant", "", "look"), message("tool", "cold", name="look")]
SECOND = step("b", GEN, 3.0, input=HISTORY, output=said("It is cold."))
TURNS = [(["system: Be kind.", "user: Weather?"], "", ["look"]), (["tool: cold"], "It is cold.", [])]


@pytest.mark.parametrize("order", [[FIRST, SECOND], [SECOND, FIRST]])
def test_trap_42_and_43_generations_come_by_time_and_only_what_is_new_is_seen(order):
    trace = read_trace(order, "")
    assert acts(trace) == TURNS
    assert trace.talk.turns[1] == Turn((Observation("tool", "cold", "look"),), Action("It is cold."))
    assert trace.asked == "Weather?"
    assert [each.id for each in trace.generations] == ["a", "b"]


def test_of_equal_starts_the_outer_span_comes_first_and_then_the_order_of_the_export():
    outer = step("chain", OTHER, 1.0)
    deep = step("x", GEN, 1.0, "inner", input=ASKED, output=said("third"))
    inner = step("inner", OTHER, 1.0, "chain")
    plain = [step(name, GEN, 1.0, input=[*ASKED], output=said(name)) for name in ("first", "second")]
    assert [turn.action.text for turn in read_trace([deep, *plain, inner, outer], "").talk.turns] == [
        "first",
        "second",
        "third",
    ]


def test_tool_spans_give_the_results_that_the_next_input_lacks():
    tool = step("look", TOOL, 2.0, result="cold", arguments={})
    blind = step("b", GEN, 3.0, output=said("It is cold."))
    assert acts(read_trace([FIRST, tool, blind], "")) == TURNS
    assert acts(read_trace([FIRST, tool, SECOND], "")) == TURNS  # told twice, seen once


def test_tools_that_ran_are_the_calls_of_an_output_that_shows_none():
    bare = step("a", GEN, 1.0, input=ASKED, output=None)
    tools = [
        step("look", TOOL, 2.0, result="cold", arguments={"city": "Oslo"}),
        step("save", TOOL, 2.5, error="disk full"),
    ]
    trace = read_trace([bare, *tools, step("b", GEN, 3.0, output=said("Done."))], "")
    assert trace.talk.turns[0].action == Action("", (ToolCall("look", {"city": "Oslo"}), ToolCall("save", {})))
    assert [(o.text, o.name) for o in trace.talk.turns[1].observations] == [
        ("cold", "look"),
        ("error: disk full", "save"),
    ]


def test_tools_after_the_last_generation_are_seen_last():
    trace = read_trace([FIRST, step("look", TOOL, 2.0, result="cold")], "")
    assert trace.talk.last_observations == (Observation("tool", "cold", "look"),)


def test_trap_46_parallel_calls_that_were_taken_apart_are_one_action():
    steps = [
        step("a", GEN, 1.0, input=ASKED[1:], output=said("I look.")),
        step("b", GEN, 1.2, output=said("", "look")),
        step("c", GEN, 1.4, output=said("", "ask")),
        step("look", TOOL, 1.6, result="cold"),
        step("ask", TOOL, 1.7, result="wet"),
        step("d", GEN, 2.0, output=said("Cold and wet.")),
    ]
    assert acts(read_trace(steps, "")) == [
        (["user: Weather?"], "I look.", ["look", "ask"]),
        (["tool: cold", "tool: wet"], "Cold and wet.", []),
    ]


@pytest.mark.parametrize(
    ("outer", "inner", "kept"),
    [
        ({"output": said("x"), "structured": True}, [{"output": said("None"), "structured": False}], ["outer"]),
        ({"output": said("x"), "structured": True}, [{"output": said("x"), "structured": True}], ["i0"]),
        ({"output": said("x"), "structured": False}, [{"output": said("x"), "structured": False}], ["i0"]),
        ({"output": said("x")}, [{"output": None}], ["outer"]),
        ({"output": None}, [{"output": None}], ["i0"]),
        ({"output": said("y")}, [{"output": said("x")}, {"output": said("y")}], ["i0", "i1"]),
    ],
)
def test_a_call_that_is_reported_twice_counts_once(outer, inner, kept):
    steps = [step("outer", GEN, 1.0, input=ASKED, **outer)]
    steps += [step(f"i{n}", GEN, 1.1 + n, "outer", input=ASKED, **each) for n, each in enumerate(inner)]
    assert [each.id for each in read_trace(steps, "").generations] == kept


def test_generations_inside_a_tool_or_a_judge_are_not_the_agents():
    steps = [
        FIRST,
        step("look", TOOL, 2.0, result="cold"),
        step("sub", GEN, 2.1, "look", input=ASKED, output=said("I am another.")),
        step("subtool", TOOL, 2.2, "look", result="no"),
        SECOND,
        step("grader", JUDGE, 4.0),
        step("graded", GEN, 4.1, "grader", input=ASKED, output=said("PASS")),
    ]
    trace = read_trace(steps, "")
    assert acts(trace) == TURNS
    assert trace.talk.notes == (SUBAGENT,)


def test_what_an_assistant_said_before_the_trace_is_no_action():
    history = [message("user", "2+2?"), message("assistant", "4"), message("user", "3+3?")]
    trace = read_trace([step("a", GEN, 1.0, input=history, output=said("6"))], "")
    assert acts(trace) == [(["user: 2+2?", "assistant: 4", "user: 3+3?"], "6", [])]
    assert trace.asked == "2+2?\n3+3?"


def test_another_agent_of_the_trace_sees_what_is_new_to_it():
    other = [message("system", "Check it."), message("user", "Weather?")]
    steps = [FIRST, step("b", GEN, 3.0, input=other, output=said("Fine."))]
    assert acts(read_trace(steps, ""))[1] == (["system: Check it."], "Fine.", [])


def test_a_history_that_was_shortened_is_seen_from_its_last_answer_on():
    short = [message("assistant", "", "look"), message("tool", "cold", name="look"), message("user", "And?")]
    steps = [FIRST, step("b", GEN, 3.0, input=short, output=said("It is cold."))]
    assert acts(read_trace(steps, ""))[1] == (["tool: cold", "user: And?"], "It is cold.", [])


FAILED = {"input": ASKED, "output": None, "error": "429 Too Many Requests\nat x"}


@pytest.mark.parametrize(
    ("steps", "stop", "problem", "notes"),
    [
        ([FIRST, SECOND], StopReason.FINISHED, None, ()),
        ([FIRST, step("b", GEN, 3.0, **FAILED)], StopReason.INVALID, "infra_error: 429 Too Many Requests", ()),
        ([step("a", GEN, 3.0, **FAILED)], StopReason.INVALID, "infra_error: 429 Too Many Requests", ()),
        ([step("z", GEN, 0.5, **FAILED), FIRST, SECOND], StopReason.FINISHED, None, (RETRIED,)),
        ([step("r", OTHER, 0.0, error="boom"), FIRST, SECOND], StopReason.INVALID, "infra_error: boom", ()),
        ([step("r", OTHER, 0.0, "gone", error="caught"), FIRST, SECOND], StopReason.FINISHED, None, ()),
        ([FIRST, step("t", TOOL, 2.0, error="no such city"), SECOND], StopReason.FINISHED, None, ()),
        ([FIRST, step("b", GEN, 3.0, output=said("half"), error="cancelled")], StopReason.FINISHED, None, ()),
    ],
)
def test_a_failed_model_call_or_root_is_the_harness_and_a_failed_tool_is_not(steps, stop, problem, notes):
    trace = read_trace(steps, "")
    assert (trace.ending.stop, trace.ending.problem, trace.talk.notes) == (stop, problem, notes)


@pytest.mark.parametrize("error", ["Recursion limit of 25 reached", "MaxTurnsExceeded: Max turns (10) exceeded"])
def test_a_root_that_ran_into_a_limit_is_cut_and_valid(error):
    ending = read_trace([step("r", OTHER, 0.0, error=error), FIRST, SECOND], "").ending
    assert (ending.stop, ending.notes) == (StopReason.CUT, (f"stopped by a limit: {error}",))


def test_a_last_answer_at_the_models_length_limit_is_cut():
    ending = read_trace([step("a", GEN, 1.0, input=ASKED, output=said("and so"), finish="length")], "").ending
    assert (ending.stop, ending.notes) == (StopReason.CUT, ("stopped by the model's length limit",))


def test_spans_that_are_each_others_parents_end_somewhere():
    steps = [
        step("a", OTHER, 1.0, "b"),
        step("b", OTHER, 1.0, "a"),
        step("c", GEN, 1.0, "a", input=ASKED, output=said("x")),
    ]
    assert len(read_trace(steps, "").talk.turns) == 1


def test_no_generation_gives_no_turns():
    trace = read_trace([step("t", TOOL, 1.0, result="x")], "")
    assert (trace.talk.turns, trace.talk.last_observations) == ((), ())
