"""The traces are built by hand after the conventions; the real files are read in tests/test_data_traces.py."""

import json

import pytest

from likewise.core.errors import RolloutFormatError, UnknownFormatError
from likewise.core.rollout import Action, Observation, StopReason, ToolCall, Turn
from likewise.formats import read_rollouts

T0 = 1_767_268_800  # 2026-01-01T12:00:00Z


def typed(value):
    """A value as OTLP types it: integers are strings."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [typed(item) for item in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": typed(item)} for key, item in value.items()]}}
    return {"stringValue": value}


def pairs(attributes):
    return [{"key": key, "value": typed(value)} for key, value in attributes.items()]


def span(identity, second, attributes, parent="", trace="t1", **more):
    events = [{"name": n, "timeUnixNano": "1", "attributes": pairs(a)} for n, a in more.pop("events", ())]
    return {
        "traceId": trace,
        "spanId": identity,
        "parentSpanId": parent,
        "name": identity,
        "startTimeUnixNano": str(int((T0 + second) * 1e9)),
        "endTimeUnixNano": str(int((T0 + second + 0.5) * 1e9)),
        "attributes": pairs(attributes),
        "events": events,
        "status": {},
    } | more


def otlp(*spans, **resource):
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": pairs({"service.name": "app"} | resource)},
                "scopeSpans": [{"spans": list(spans)}],
            }
        ]
    }


def text(content):
    return {"type": "text", "content": content}


QUESTION = {"role": "user", "parts": [text("Weather in Oslo?")]}
LOOKED = {
    "role": "assistant",
    "parts": [{"type": "tool_call", "id": "c", "name": "look", "arguments": {"city": "Oslo"}}],
}
FOUND = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "cold"}]}
COLD = {"role": "assistant", "parts": [text("It is cold.")]}
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1"}
SYSTEM = [text("Be kind.")]
TURNS = (
    Turn(
        (Observation("system", "Be kind."), Observation("user", "Weather in Oslo?")),
        Action("", (ToolCall("look", {"city": "Oslo"}),)),
    ),
    Turn((Observation("tool", "cold", "look"),), Action("It is cold.")),
)
GENAI = (
    span(
        "a",
        1,
        CHAT
        | {
            "gen_ai.system_instructions": json.dumps(SYSTEM),
            "gen_ai.input.messages": json.dumps([QUESTION]),
            "gen_ai.output.messages": json.dumps([LOOKED]),
            "gen_ai.response.id": "resp_1",
            "gen_ai.response.finish_reasons": ["tool_calls"],
        },
        "root",
    ),
    span(
        "tool",
        2,
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "look",
            "gen_ai.tool.call.arguments": '{"city": "Oslo"}',
            "gen_ai.tool.call.result": "cold",
        },
        "root",
    ),
    span(
        "b",
        3,
        CHAT
        | {
            "gen_ai.system_instructions": json.dumps(SYSTEM),
            "gen_ai.input.messages": json.dumps([QUESTION, LOOKED, FOUND]),
            "gen_ai.output.messages": json.dumps([COLD]),
            "gen_ai.response.id": "resp_2",
        },
        "root",
    ),
    span(
        "root",
        0.5,
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"},
        name="invoke_agent helper",
    ),
)


@pytest.fixture
def read_one(write):
    def _read(*spans, **resource):
        (rollout,) = read_rollouts(write("spans.json", otlp(*spans, **resource)))
        return rollout

    return _read


def test_a_trace_of_the_genai_conventions_is_one_run(write):
    path = write("spans.json", otlp(*GENAI))
    found = read_rollouts(path)
    assert found.files == ((str(path), "otel"),)
    (rollout,) = found
    assert (rollout.task_id, rollout.run_id, rollout.turns) == ("Weather in Oslo?", "spans#t1", TURNS)
    assert rollout.meta == {
        "record_id": "t1",
        "model": "m-1",
        "agent": "helper",
        "service": "app",
        "response_ids": ["resp_1", "resp_2"],
        "started": T0 + 0.5,
        "ended": T0 + 3.5,
    }


# Shapes of files


def sdk(each):
    """A span as the Python SDK prints it."""
    return {
        "name": each["name"],
        "context": {"trace_id": each["traceId"], "span_id": each["spanId"], "trace_state": "[]"},
        "parent_id": each["parentSpanId"] or None,
        "start_time": f"2026-01-01T12:00:0{float(each['startTimeUnixNano']) / 1e9 - T0:.6f}Z",
        "end_time": None,
        "status": {"status_code": "UNSET"},
        "attributes": {pair["key"]: plain(pair["value"]) for pair in each["attributes"]},
        "events": [],
        "resource": {"attributes": {"service.name": "app"}},
    }


def plain(value):
    ((kind, inner),) = value.items()
    if kind == "arrayValue":
        return [plain(item) for item in inner["values"]]
    return int(inner) if kind == "intValue" else inner


def row(each):
    """A span as a row of a table of spans."""
    printed = sdk(each)
    flat = {f"attributes.{key}": value for key, value in printed["attributes"].items()}
    start = int(float(each["startTimeUnixNano"]) / 1e6)
    names = {"name": each["name"], "parent_id": printed["parent_id"], "start_time": start, "end_time": start + 500}
    return names | flat | {"context.trace_id": each["traceId"], "context.span_id": each["spanId"]}


def javascript(each):
    parent = {"parentSpanContext": {"spanId": each["parentSpanId"]}} if each["parentSpanId"] else {}
    seconds, nanos = divmod(int(each["startTimeUnixNano"]), 10**9)
    return {
        "name": each["name"],
        "spanContext": {"traceId": each["traceId"], "spanId": each["spanId"]},
        "attributes": sdk(each)["attributes"],
        "startTime": [seconds, nanos],
        "endTime": [seconds + 1, nanos],
        "status": {"code": 0},
    } | parent


@pytest.mark.parametrize(
    "shape",
    [
        lambda spans: json.dumps(otlp(*spans)),
        lambda spans: "\n".join(json.dumps(otlp(each)) for each in spans),  # trap 52: NDJSON named .json
        lambda spans: json.dumps({"batches": otlp(*spans)["resourceSpans"]}),
        lambda spans: (
            json.dumps(otlp(*spans)).replace("resourceSpans", "resource_spans").replace("scopeSpans", "scope_spans")
        ),
        lambda spans: json.dumps(list(spans)),
        lambda spans: json.dumps({"spans": list(spans)}),
        lambda spans: "\n".join(json.dumps(sdk(each)) for each in spans),
        lambda spans: "\n".join(json.dumps(sdk(each), indent=4) for each in spans),
        lambda spans: json.dumps([javascript(each) for each in spans]),
        lambda spans: "\n".join(json.dumps(row(each)) for each in spans),
    ],
)
def test_every_exporters_file_holds_the_same_run(write, shape):
    found = read_rollouts(write("spans.json", shape(GENAI)))
    assert [name for _, name in found.files] == ["otel"]
    assert [(rollout.turns, rollout.run_id) for rollout in found] == [(TURNS, "spans#t1")]
    assert found.excluded == ()


# Conventions


def messages(prefix, *items):
    """Messages flattened in OpenInference's way."""
    flat = {}
    for index, item in enumerate(items):
        flat |= {f"{prefix}.{index}.message.{key}": value for key, value in item.items()}
    return flat


CALL = {
    "tool_calls.0.tool_call.id": "c",
    "tool_calls.0.tool_call.function.name": "look",
    "tool_calls.0.tool_call.function.arguments": '{"city": "Oslo"}',
}
OPENINFERENCE = (
    span(
        "a",
        1,
        {"openinference.span.kind": "LLM", "llm.model_name": "m-1"}
        | messages(
            "llm.input_messages",
            {"role": "system", "content": "Be kind."},
            {
                "role": "user",
                "contents.0.message_content.type": "text",
                "contents.0.message_content.text": "Weather in Oslo?",
            },
        )
        | messages("llm.output_messages", {"role": "assistant", **CALL}),
    ),
    span("look", 2, {"openinference.span.kind": "TOOL", "tool.name": "look", "output.value": "cold"}),
    span(
        "b",
        3,
        {"openinference.span.kind": "LLM", "llm.model_name": "m-1"}
        | messages(
            "llm.input_messages",
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Weather in Oslo?"},
            {"role": "assistant", **CALL},
            {"role": "tool", "content": "cold", "name": "look", "tool_call_id": "c"},
        )
        | messages("llm.output_messages", {"role": "assistant", "content": "It is cold."}),
    ),
)
OPENLLMETRY = (
    span(
        "a",
        1,
        {
            "llm.request.type": "chat",
            "gen_ai.request.model": "m-1",
            "gen_ai.prompt.0.role": "system",
            "gen_ai.prompt.0.content": "Be kind.",
            "gen_ai.prompt.1.role": "user",
            "gen_ai.prompt.1.content": "Weather in Oslo?",
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.tool_calls.0.name": "look",
            "gen_ai.completion.0.tool_calls.0.arguments": '{"city": "Oslo"}',
        },
    ),
    span(
        "t",
        2,
        {"traceloop.span.kind": "tool", "traceloop.entity.name": "look", "traceloop.entity.output": "cold"},
    ),
    span(
        "b",
        3,
        {
            "llm.request.type": "chat",
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.content": "It is cold.",
        },
    ),
)
EVENTS = (
    span(
        "a",
        1,
        {"gen_ai.system": "x", "gen_ai.request.model": "m-1", "gen_ai.response.model": "m-1"},
        events=[
            ("gen_ai.system.message", {"content": "Be kind."}),
            ("gen_ai.user.message", {"content": "Weather in Oslo?"}),
            (
                "gen_ai.choice",
                {
                    "index": 0,
                    "message": json.dumps(
                        {"tool_calls": [{"id": "c", "function": {"name": "look", "arguments": '{"city": "Oslo"}'}}]}
                    ),
                },
            ),
        ],
    ),
    span(
        "b",
        3,
        CHAT
        | {
            "events": json.dumps(
                [
                    {"event.name": "gen_ai.system.message", "content": "Be kind."},
                    {"event.name": "gen_ai.user.message", "content": "Weather in Oslo?"},
                    {
                        "event.name": "gen_ai.assistant.message",
                        "content": "",
                        "tool_calls": [{"id": "c", "function": {"name": "look", "arguments": "{}"}}],
                    },
                    {"event.name": "gen_ai.tool.message", "content": "cold", "name": "look", "id": "c"},
                    {"event.name": "gen_ai.choice", "message": {"content": "It is cold."}},
                ]
            )
        },
    ),
)
DETAILS = "gen_ai.client.inference.operation.details"
DETAILED = tuple(
    {
        **each,
        "attributes": [
            pair for pair in each["attributes"] if "messages" not in pair["key"] and "instr" not in pair["key"]
        ],
        "events": [
            {
                "name": DETAILS,
                "attributes": [
                    pair for pair in each["attributes"] if "messages" in pair["key"] or "instr" in pair["key"]
                ],
            }
        ],
    }
    for each in GENAI
)


@pytest.mark.parametrize(
    "spans", [OPENINFERENCE, OPENLLMETRY, EVENTS, DETAILED], ids=["openinference", "openllmetry", "events", "details"]
)
def test_every_convention_tells_the_same_run(read_one, spans):
    assert read_one(*spans).turns == TURNS


def test_openinference_messages_may_be_nested_objects(write):
    printed = sdk(span("a", 1, {})) | {
        "attributes": {
            "openinference.span.kind": "LLM",
            "llm.input_messages": [{"message": {"role": "user", "content": "Weather in Oslo?"}}],
            "llm.output_messages": [{"message.role": "assistant", "message.content": "It is cold."}],
        }
    }
    (rollout,) = read_rollouts(write("spans.json", [printed]))
    assert rollout.turns == (Turn((Observation("user", "Weather in Oslo?"),), Action("It is cold.")),)


def vercel(operation, second, trace, parent="", function="f", **attributes):
    facts = {"ai.operationId": operation, "ai.telemetry.functionId": function, "ai.model.id": "m-1"}
    return span(f"{trace}-{operation}", second, facts | attributes, parent, trace)


INNER = {
    "ai.prompt.messages": json.dumps([{"role": "user", "content": [{"type": "text", "text": "Weather?"}]}]),
    "ai.response.text": "",
    "ai.response.toolCalls": json.dumps([{"toolCallId": "c", "toolName": "look", "input": "{}"}]),
    "ai.response.id": "resp_1",
}
OUTER = {"ai.prompt": json.dumps({"prompt": "Weather?"}), "ai.response.text": "It is cold."}


@pytest.mark.parametrize(("trace", "parent"), [("t1", "t1-ai.generateText"), ("t2", "")])
def test_trap_52_a_call_that_vercel_reports_twice_counts_once_even_in_traces_of_its_own(write, trace, parent):
    outer = vercel("ai.generateText", 1, "t1", **OUTER)
    inner = vercel("ai.generateText.doGenerate", 1.1, trace, parent, **INNER) | {
        "endTimeUnixNano": str(int((T0 + 1.4) * 1e9))
    }
    found = read_rollouts(write("spans.json", otlp(inner, outer)))
    assert [rollout.run_id for rollout in found] == ["spans#t1"]
    assert found.rollouts[0].actions == (Action("", (ToolCall("look", {}),)),)
    assert found.rollouts[0].meta["agent"] == "f"


def test_vercel_calls_of_other_functions_or_times_stay_apart(write):
    outer = vercel("ai.generateText", 1, "t1", **OUTER)
    others = [
        vercel("ai.generateText.doGenerate", 1.1, "t2", function="g", **INNER),
        vercel("ai.generateText.doGenerate", 9, "t3", **INNER),
        vercel("ai.streamText.doStream", 1.1, "t4", **INNER),
    ]
    assert len(read_rollouts(write("spans.json", otlp(outer, *others)))) == 4


def test_an_object_that_was_generated_is_the_answer(read_one):
    one = vercel("ai.generateObject", 1, "t1", **{"ai.prompt": '{"prompt": "x"}', "ai.response.object": '{"a": 1}'})
    assert [action.text for action in read_one(one).actions] == ['{"a": 1}']


# Runs


def chat(name, second, said, trace="t1", parent="", **more):
    facts = CHAT | {"gen_ai.input.messages": json.dumps([QUESTION]), "gen_ai.output.messages": json.dumps([said])}
    return span(name, second, facts | more.pop("facts", {}), parent, trace, **more)


def test_traces_are_runs_and_traces_of_one_conversation_are_one(write):
    talk = {"facts": {"gen_ai.conversation.id": "conv"}}
    later = {"role": "user", "parts": [text("And in Rome?")]}
    second = CHAT | {
        "gen_ai.conversation.id": "conv",
        "gen_ai.input.messages": json.dumps([QUESTION, COLD, later]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [text("Warm.")]}]),
    }
    spans = [span("b", 5, second, trace="t2"), chat("a", 1, COLD, "t1", **talk), chat("c", 7, COLD, "t3")]
    found = read_rollouts(write("spans.json", otlp(*spans)))
    assert [rollout.run_id for rollout in found] == ["spans#t2", "spans#t3"]
    assert [action.text for action in found.rollouts[0].actions] == ["It is cold.", "Warm."]
    assert found.rollouts[0].turns[1].observations == (Observation("user", "And in Rome?"),)


def test_traces_without_a_model_call_are_left_out_together_with_their_number(write):
    spans = [span(f"s{n}", n, {"http.route": "/"}, trace=f"http{n}") for n in range(3)]
    spans += [span("e", 9, {"gen_ai.operation.name": "embeddings"}, trace="emb"), chat("a", 1, COLD)]
    found = read_rollouts(write("spans.json", otlp(*spans)))
    assert [rollout.run_id for rollout in found] == ["spans#t1"]
    assert [item.reason for item in found.excluded] == ["4 traces without a model call, the first 'http0'"]


def test_a_trace_whose_content_was_not_captured_is_invalid_and_no_run_of_no_calls(read_one):
    assert (
        read_one(span("a", 1, CHAT), span("b", 2, CHAT)).problem == "no text and no tool call of the agent is recorded"
    )


def test_calls_are_known_by_their_tool_spans_where_messages_were_not_captured(read_one):
    tool = span("t", 2, {"gen_ai.operation.name": "execute_tool"}, name="execute_tool look")
    assert read_one(span("a", 1, CHAT), tool).actions == (Action("", (ToolCall("look", {}),)),)


@pytest.mark.parametrize(
    ("facts", "resource", "task"),
    [
        ({"task_id": "t-7"}, {}, "t-7"),
        ({"task.id": 7}, {}, "7"),
        ({"metadata": '{"task_id": "m"}'}, {}, "m"),
        ({"ai.telemetry.metadata.taskId": "v"}, {}, "v"),
        ({}, {"task_id": "r"}, "r"),
        ({"task_id": True, "metadata": "{"}, {}, "Weather in Oslo?"),
    ],
)
def test_the_task_is_named_by_an_attribute_else_by_what_was_asked(read_one, facts, resource, task):
    assert read_one(chat("a", 1, COLD, facts=facts), **resource).task_id == task


@pytest.mark.parametrize("code", [2, "STATUS_CODE_ERROR", "ERROR", "StatusCode.ERROR"])
def test_a_model_call_that_failed_makes_the_run_invalid(read_one, code):
    failed = span("a", 1, CHAT, status={"code": code, "message": "503 overloaded\nat x"})
    rollout = read_one(failed)
    assert (rollout.stop, rollout.problem) == (StopReason.INVALID, "infra_error: 503 overloaded")


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"events": [("exception", {"exception.message": "boom"})]}, "boom"),
        ({"events": [("exception", {"exception.type": "ValueError"})]}, "ValueError"),
        ({"facts": {"error.type": "timeout"}}, "timeout"),
        ({}, "error"),
    ],
)
def test_the_error_is_told_by_whatever_tells_it(read_one, more, problem):
    facts = CHAT | more.pop("facts", {})
    assert read_one(span("a", 1, facts, status={"code": 2}, **more)).problem == f"infra_error: {problem}"


def test_a_last_answer_at_its_length_limit_is_cut(read_one):
    rollout = read_one(chat("a", 1, COLD, facts={"gen_ai.response.finish_reasons": ["length"]}))
    assert rollout.stop is StopReason.CUT


@pytest.mark.parametrize(
    ("name", "fields", "reward", "success"),
    [
        ("Correctness", {"gen_ai.evaluation.score.label": "pass", "gen_ai.evaluation.score.value": 0.8}, None, True),
        ("correct", {"gen_ai.evaluation.score.label": "fail"}, None, False),
        ("success", {"gen_ai.evaluation.score.value": 1.0}, None, True),
        ("success", {"gen_ai.evaluation.score.value": 0.5}, None, None),
        ("reward", {"gen_ai.evaluation.score.value": 0.5}, 0.5, None),
        ("relevance", {"gen_ai.evaluation.score.value": 1.0}, None, None),
    ],
)
def test_an_evaluation_gives_success_or_reward_by_its_name(read_one, name, fields, reward, success):
    event = ("gen_ai.evaluation.result", {"gen_ai.evaluation.name": name} | fields)
    rollout = read_one(chat("a", 1, COLD, events=[event]))
    assert (rollout.reward, rollout.success) == (reward, success)


def test_two_traces_that_share_a_response_id_are_noted(write):
    facts = {"facts": {"gen_ai.response.id": "resp_1"}}
    found = read_rollouts(
        write("spans.json", otlp(chat("a", 1, COLD, "t1", **facts), chat("b", 9, COLD, "t2", **facts)))
    )
    assert [rollout.notes for rollout in found] == [(), ("the same generation as run 'spans#t1' (same response id)",)]


# What cannot be read


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"traceId": ""}, "/resourceSpans/0/scopeSpans/0/spans/1/traceId"),
        ({"spanId": None}, "/resourceSpans/0/scopeSpans/0/spans/1/spanId"),
        ({"startTimeUnixNano": "soon"}, "/resourceSpans/0/scopeSpans/0/spans/1/startTime"),
        ({"endTimeUnixNano": []}, "/resourceSpans/0/scopeSpans/0/spans/1/endTime"),
    ],
)
def test_a_span_that_is_none_is_excluded_with_its_pointer(write, changes, pointer):
    found = read_rollouts(write("spans.json", otlp(chat("a", 1, COLD), chat("b", 2, COLD, "t2") | changes)))
    assert len(found) == 1
    assert [item.pointer for item in found.excluded] == [pointer]


def test_a_span_that_is_no_object_is_excluded(write):
    found = read_rollouts(write("spans.json", otlp(chat("a", 1, COLD), "span")))
    assert [item.reason for item in found.excluded] == ["a string (expected an object)"]


@pytest.mark.parametrize(
    "content", [{}, [], {"resourceSpans": []}, {"resourceSpans": [{"scopeSpans": [{"spans": []}]}]}, 3]
)
def test_a_file_without_spans_is_an_error(write, content):
    with pytest.raises(RolloutFormatError):
        read_rollouts(write("spans.json", json.dumps(content)), format="otel")


def test_logs_and_metrics_are_not_ours(write):
    for name in ("resourceLogs", "resourceMetrics"):
        with pytest.raises(UnknownFormatError):
            read_rollouts(write("x.json", {name: []}))


def test_a_list_is_built_of_its_members_however_large_their_indexes(read_one):
    facts = {"openinference.span.kind": "LLM", "llm.output_messages.99999999.message.role": "assistant"}
    facts |= {"llm.output_messages.99999999.message.content": "Hi.", "llm.input_messages." + "0." * 500: "z"}
    assert [action.text for action in read_one(span("a", 1, facts)).actions] == ["Hi."]


def test_an_index_that_is_no_number_of_a_message_leaves_the_answer_unknown(read_one):
    facts = {"openinference.span.kind": "LLM", f"llm.output_messages.{'9' * 400}.message.content": "Hi."}
    assert read_one(span("a", 1, facts)).problem == "no text and no tool call of the agent is recorded"
