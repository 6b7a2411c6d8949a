"""One small file of every format, made by hand: what the checks over all formats start from."""

from __future__ import annotations

import io
import json
import zipfile

import pyarrow as pa
import pyarrow.parquet

from formats.fuzz import Seed

CALL = {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"city": "Oslo"}'}}
CHAT = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Weather in Oslo?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "name": "look", "tool_call_id": "c", "content": "cold"},
    {"role": "assistant", "content": "It is c\u00f6ld."},
    {"role": "user", "content": "###STOP###"},
]
TURN = {
    "observations": [{"source": "user", "text": "Weather?", "name": None}],
    "action": {"text": "It is cold.", "tool_calls": [{"name": "look", "arguments": {"city": "Oslo"}}]},
}
BLOCKS = [
    {"role": "user", "content": "Weather?"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "look", "input": {"city": "Oslo"}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "cold"}]},
]
TAU2 = {
    "info": {"git_commit": "a", "num_trials": 1, "agent_info": {"llm": "m"}, "environment_info": {"policy": "p"}},
    "tasks": [],
    "simulations": [
        {
            "id": f"s{trial}",
            "task_id": "1",
            "trial": trial,
            "termination_reason": "user_stop",
            "reward_info": {"reward": 1.0},
            "messages": CHAT,
        }
        for trial in (0, 1)
    ],
}
SAMPLES = [
    {
        "id": 1,
        "epoch": epoch,
        "input": "Weather in Oslo?",
        "messages": [
            {"role": "user", "content": "attachment://a", "source": "input"},
            {
                "id": f"m{epoch}",
                "role": "assistant",
                "source": "generate",
                "content": [{"type": "text", "text": "I look."}],
                "tool_calls": [{"id": "c", "function": "look", "arguments": {"city": "Oslo"}}],
            },
            {"role": "tool", "function": "look", "content": "", "error": {"type": "timeout", "message": "slow"}},
            {"role": "assistant", "content": "It is cold."},
        ],
        "output": {"choices": [{"stop_reason": "stop"}]},
        "scores": {"match": {"value": "C"}},
        "attachments": {"a": "Weather in Oslo?"},
        "events": [{"event": "model", "cache": None}],
        "uuid": f"u{epoch}",
    }
    for epoch in (1, 2)
]
INSPECT = {
    "version": 2,
    "status": "success",
    "eval": {
        "run_id": "r",
        "task": "weather",
        "task_id": "t",
        "model": "m",
        "dataset": {"sample_ids": [1]},
        "config": {"epochs": 2},
    },
    "results": {"scores": [{"name": "match", "metrics": {"accuracy": {"value": 1.0}}}]},
    "samples": SAMPLES,
}
OBSERVATION = {
    "traceId": "t1",
    "startTime": "2026-01-01T12:00:01.000Z",
    "endTime": "2026-01-01T12:00:02.000Z",
    "parentObservationId": "root",
    "metadata": "{}",
}
LANGFUSE = {
    "trace": {
        "id": "t1",
        "timestamp": "2026-01-01T12:00:00.000Z",
        "name": "weather",
        "input": json.dumps("Weather?"),
        "scores": [{"name": "success", "value": 1, "dataType": "BOOLEAN"}],
    },
    "observations": [
        OBSERVATION | {"id": "g", "type": "GENERATION", "input": json.dumps(CHAT[:2]), "output": json.dumps(CHAT[2])},
        OBSERVATION | {"id": "t", "type": "TOOL", "name": "look", "input": "{}", "output": '"cold"'},
    ],
}
SPAN = {
    "traceId": "t1",
    "spanId": "a",
    "name": "chat m",
    "startTimeUnixNano": "1767268800000000000",
    "endTimeUnixNano": "1767268801000000000",
    "attributes": [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
        {"key": "gen_ai.request.model", "value": {"stringValue": "m"}},
        {"key": "gen_ai.input.messages", "value": {"stringValue": json.dumps(CHAT[:2])}},
        {"key": "llm.output_messages.0.message.role", "value": {"stringValue": "assistant"}},
        {"key": "llm.output_messages.0.message.content", "value": {"stringValue": "It is cold."}},
        {"key": "gen_ai.response.finish_reasons", "value": {"arrayValue": {"values": [{"stringValue": "stop"}]}}},
    ],
    "events": [],
    "status": {"code": 1},
}
OTEL = {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"spans": [SPAN]}]}]}
SESSION = {"sessionId": "s", "isSidechain": False, "timestamp": "2026-01-01T12:00:00.000Z"}
CLAUDE_CODE = [
    SESSION | {"type": "user", "uuid": "1", "parentUuid": None, "message": {"role": "user", "content": "Weather?"}},
    SESSION | {"type": "assistant", "uuid": "2", "parentUuid": "1", "message": {"id": "m", "model": "m", **BLOCKS[1]}},
    SESSION | {"type": "user", "uuid": "3", "parentUuid": "2", "message": BLOCKS[2]},
]
ATIF = {
    "schema_version": "ATIF-v1.4",
    "session_id": "s",
    "agent": {"name": "a", "version": "1", "model_name": "m"},
    "steps": [
        {"step_id": 1, "source": "user", "message": "Weather?"},
        {
            "step_id": 2,
            "source": "agent",
            "message": "I look.",
            "tool_calls": [{"tool_call_id": "c", "function_name": "look", "arguments": {"city": "Oslo"}}],
            "observation": {"results": [{"source_call_id": "c", "content": "cold"}]},
        },
    ],
}
SWE_AGENT = {
    "environment": "swe_main",
    "trajectory": [{"action": "ls -a", "observation": "a.py\r\n", "response": "r", "thought": "look", "state": "{}"}],
    "history": [{"role": "system", "content": "Be kind.", "agent": "primary"}],
    "info": {"exit_status": "submitted", "submission": "diff", "model_stats": {}},
}
STEPS = {
    "trace_id": "x",
    "task_id": "7",
    "framework": "langgraph",
    "status": "success",
    "steps": [
        {"step_id": 1, "type": "llm", "name": "ChatOpenAI", "input": "Weather?", "output": "I look.", "tokens": 3},
        {"step_id": 2, "type": "tool", "name": "look", "input": "{'city': 'Oslo'}", "output": "cold", "tokens": 0},
    ],
}
PROMPTFOO = {
    "evalId": "e",
    "results": {
        "version": 3,
        "timestamp": "2026-01-01",
        "results": [
            {
                "promptIdx": 0,
                "testIdx": 0,
                "vars": {"q": "Weather?"},
                "response": {"output": "It is cold.", "cached": False},
                "success": True,
                "score": 1,
                "gradingResult": {"pass": True, "score": 1},
                "provider": {"id": "m"},
            }
        ],
    },
}
TOOLSANDBOX = {"per_scenario_results": [{"name": "weather", "similarity": 0.5, "traceback": None, "turn_count": 2}]}
UQLM = {"prompts": ["Weather?"], "responses": ["cold"], "sampled_responses": [["cold", "warm"]]}
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "model": "m",
    "output": [
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is cold."}]},
    ],
}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "stop_reason": "end_turn",
    "content": [{"type": "text", "text": "It is cold."}],
}


def _lines(*records: object) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def _json(record: object) -> bytes:
    return json.dumps(record).encode()


def _archive() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        members = {"header.json": {key: value for key, value in INSPECT.items() if key != "samples"}}
        members |= {f"samples/1_epoch_{each['epoch']}.json": each for each in SAMPLES}
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), json.dumps(content))
    return target.getvalue()


def _parquet() -> bytes:
    target = io.BytesIO()
    pyarrow.parquet.write_table(pa.table({"task_id": ["1", "1"], "response": ["cold", "warm"]}), target)
    return target.getvalue()


SEEDS: dict[str, list[Seed]] = {
    "native": [
        Seed(
            "n.jsonl",
            _lines(*({"schema": "likewise.rollout/1", "task_id": "t", "run_id": r, "turns": [TURN]} for r in "12")),
        )
    ],
    "tau-bench": [
        Seed(
            "tb.json",
            _json(
                [{"task_id": 1, "trial": t, "reward": 1.0, "info": {"reward_info": {}}, "traj": CHAT} for t in (0, 1)]
            ),
        )
    ],
    "tau2": [Seed("t2.json", _json(TAU2))],
    "inspect": [Seed("i.json", _json(INSPECT)), Seed("i.eval", _archive())],
    "langfuse": [Seed("l.json", _json(LANGFUSE)), Seed("l.jsonl", _lines(*LANGFUSE["observations"]))],
    "otel": [Seed("o.json", _json(OTEL)), Seed("o.jsonl", _lines(OTEL, OTEL))],
    "claude-code": [Seed("c.jsonl", _lines(*CLAUDE_CODE))],
    "atif": [Seed("a.json", _json(ATIF))],
    "swe-agent": [Seed("s.traj", _json(SWE_AGENT))],
    "langchain-steps": [Seed("trace_langgraph_7_trial1_1700000000.json", _json(STEPS))],
    "promptfoo": [Seed("p.json", _json(PROMPTFOO))],
    "toolsandbox": [Seed("result_summary.json", _json(TOOLSANDBOX))],
    "uqlm": [Seed("u.json", _json(UQLM))],
    "openai-responses": [
        Seed(
            "r.jsonl",
            _lines(RESPONSE | {"task_id": "t"}, {"task_id": "t", "request": {"input": "?"}, "response": RESPONSE}),
        )
    ],
    "anthropic-messages": [Seed("m.jsonl", _lines(MESSAGE | {"task_id": "t"}, {"task_id": "t", "messages": BLOCKS}))],
    "openai-chat": [
        Seed("ch.jsonl", _lines(*({"task_id": "t", "run_id": r, "messages": CHAT, "reward": 0.5} for r in "12")))
    ],
    "table": [
        Seed("t.csv", b'task_id,response\n1,"cold, wet"\n1,warm\n'),
        Seed("t.jsonl", _lines({"task_id": "1", "response": "cold"}, {"task_id": "1", "response": "warm"})),
        Seed("t.parquet", _parquet()),
    ],
}
"""Format -> files of it."""
