"""Langfuse exports: a trace with its observations, as downloaded or as the API gives it, one, a list or one a line.

Decisions:
- One trace is one run; the turns are read off its generations (see `traces`). Times order them, not the export.
- A trace without observations holds no turns that could be read: it is excluded, never a run of no tool calls.
- The task is `task_id`, `taskId`, `dataset_item_id` or `datasetItemId` in the trace's metadata; else what the
  user said in the trace's input or before the first action, so that runs of one prompt are repeats of one task.
- `meta["record_id"]` is the trace's id: one trace exported twice counts once.
- Scores are kept in `meta["scores"]`. Of a boolean one named success, passed, pass, correct or correctness, the run
  has its success; of a numeric one named reward, score or correctness, its reward.
- A last generation that failed without output, or a failed root, makes the run invalid; a limit in the root's error
  (recursion limit, max turns) cuts it instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from likewise.core.errors import RolloutFormatError
from likewise.core.rollout import Excluded, JsonValue, Rollout
from likewise.formats.assemble import assemble, task_of
from likewise.formats.fields import FieldError, as_object, child, collect, identifier, scalars, type_name
from likewise.formats.files import outline, read_values
from likewise.formats.message_shapes import Messages, messages_of, parsed, text_of
from likewise.formats.rollout_set import Parsed
from likewise.formats.traces import Kind, Step, read_trace

__all__ = ["DESCRIPTION", "NAME", "read", "sniff"]

NAME = "langfuse"
DESCRIPTION = "Langfuse export, traces with their observations"

_KINDS: Final = {"GENERATION": Kind.GENERATION, "TOOL": Kind.TOOL, "EVALUATOR": Kind.JUDGE, "GUARDRAIL": Kind.JUDGE}
_TASK_KEYS: Final = ("task_id", "taskId", "dataset_item_id", "datasetItemId")
_SUCCESS: Final = ("success", "passed", "pass", "correct", "correctness")
_REWARD: Final = ("reward", "score", "correctness")
_TRACE: Final = frozenset({"id", "timestamp", "userId", "sessionId", "tags"})
_SNAKE: Final = {
    "trace_id": "traceId",
    "start_time": "startTime",
    "end_time": "endTime",
    "parent_observation_id": "parentObservationId",
    "status_message": "statusMessage",
    "trace_name": "traceName",
    "session_id": "sessionId",
    "provided_model_name": "model",
    "providedModelName": "model",
}


def sniff(head: str, path: Path) -> str | None:
    """None where the first value is a trace or an observation of Langfuse, else why not."""
    del path
    seen = outline(head)
    if seen.kind == "other":
        return "the file does not start with a JSON object or list"
    keys = seen.keys
    for prefix in ("", "[].", "data[].", "traces[]."):
        if f"{prefix}trace.id" in keys and {f"{prefix}trace.timestamp", f"{prefix}observations"} & keys:
            return None
        if {f"{prefix}{key}" for key in _TRACE} <= keys:
            return None
        if any(f"{prefix}{key}" in keys for key in ("parentObservationId", "parent_observation_id")):
            return None
    return "no trace and no observation of Langfuse"


def read(path: Path, label: str) -> Parsed:
    """Read an export; run ids are `label#trace id`.

    Raises:
        RolloutFormatError: The file cannot be read, or holds nothing of Langfuse.
    """
    lines = read_values(path)
    if len(lines.values) == 1 and not isinstance(lines.values[0][0], dict | list):
        kind = type_name(lines.values[0][0])
        raise RolloutFormatError(str(path), kind, pointer="", expected="a trace, or a list of traces or observations")
    excluded: list[Excluded] = list(lines.excluded)
    records, rows = _sorted_out(lines.values, str(path), excluded)
    records += [({"trace": {"id": trace}, "observations": found}, None, "") for trace, found in rows.items()]
    rollouts, refused = collect(records, lambda record, pointer: _rollout(record, pointer, path, label), str(path))
    return Parsed(tuple(rollouts), (*excluded, *refused))


def _sorted_out(
    values: Iterable[tuple[JsonValue, int | None, str]], path: str, excluded: list[Excluded]
) -> tuple[list[tuple[JsonValue, int | None, str]], dict[str, list[JsonValue]]]:
    """Records of whole traces, and rows of observations by trace."""
    records: list[tuple[JsonValue, int | None, str]] = []
    rows: dict[str, list[JsonValue]] = {}
    waiting = list(values)[::-1]
    while waiting:
        value, line, pointer = waiting.pop()
        inner = _inner(value)
        if inner is not None:
            key, items = inner
            place = child(pointer, key) if key else pointer
            waiting += [(item, line, child(place, index)) for index, item in enumerate(items)][::-1]
            continue
        trace_id = _camel(value).get("traceId") if isinstance(value, dict) else None
        if isinstance(trace_id, str) and isinstance(value, dict) and "observations" not in value:
            rows.setdefault(trace_id, []).append(value)
        elif isinstance(value, dict):
            records.append((value, line, pointer))
        else:
            excluded.append(Excluded(None, None, f"{type_name(value)} (expected an object)", path, line, pointer))
    return records, rows


def _inner(value: JsonValue) -> tuple[str, list[JsonValue]] | None:
    """The list that a page of the API, a session or a list of exports is."""
    if isinstance(value, list):
        return "", value
    if isinstance(value, dict) and "trace" not in value and "observations" not in value:
        for key in ("data", "traces"):
            if isinstance(items := value.get(key), list):
                return key, items
    return None


def _camel(record: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {_SNAKE.get(key, key): value for key, value in record.items()}


def _rollout(record: dict[str, JsonValue], pointer: str, path: Path, label: str) -> Rollout:
    trace = as_object(record["trace"], child(pointer, "trace")) if "trace" in record else record
    at = child(pointer, "trace") if "trace" in record else pointer
    trace_id = identifier(trace.get("id"), child(at, "id"))
    place = child(pointer, "observations")
    listed = record.get("observations")
    observations = [_camel(each) for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    if not observations:
        raise FieldError(place, "the export holds the trace without its observations, so nothing is known of its turns")
    steps = [_step(each, child(place, index)) for index, each in enumerate(observations)]
    if not any(step.kind is Kind.GENERATION or (step.error and step.parent is None) for step in steps):
        raise FieldError(place, "no generation among the observations")
    found = read_trace(steps, place)
    given = messages_of(trace.get("input"), "user") or []
    asked = "\n".join(str(each["content"]) for each in given if each["role"] == "user") or found.asked
    facts = _attributes(trace)
    named = next((facts[key] for key in _TASK_KEYS if isinstance(facts.get(key), str | int)), None)
    name = trace.get("name") or observations[0].get("traceName")
    task_id = str(named) if named is not None else task_of(asked) or task_of(str(name or trace_id))
    scores = {str(each["name"]): each for each in _scores(trace)}
    success = next((value for n in _SUCCESS if (value := _boolean(scores.get(n))) is not None), None)
    reward = next((scores[n].get("value") for n in _REWARD if n in scores and _boolean(scores[n]) is None), None)
    return assemble(
        task_id,
        f"{label}#{trace_id}",
        found.talk,
        found.ending,
        path=str(path),
        reward=reward,
        success=success,
        meta=_meta(trace, name, observations, [step.id for step in found.generations], scores),
    )


def _meta(
    trace: dict[str, JsonValue],
    name: JsonValue,
    observations: list[dict[str, JsonValue]],
    counted: list[str],
    scores: dict[str, dict[str, JsonValue]],
) -> dict[str, JsonValue]:
    by_id = {str(each.get("id")): each for each in observations}
    generations = [by_id[each] for each in counted]
    models = list(dict.fromkeys(each["model"] for each in generations if isinstance(each.get("model"), str)))
    meta: dict[str, JsonValue] = {"record_id": str(trace["id"])}
    meta |= {"trace_name": name} if isinstance(name, str) else {}
    meta |= scalars(trace, ("sessionId", "release", "version", "environment"))
    meta |= {"model": models[0]} if models else {}
    meta |= {"models": list[JsonValue](models)} if len(models) > 1 else {}
    ids: list[JsonValue] = [each for row in generations if (each := _response_id(row))]
    meta |= {"response_ids": ids} if ids else {}
    meta |= {"cached": True} if any(_attributes(row).get("cache_hit") is True for row in generations) else {}
    times = sorted(str(each[key]) for each in observations for key in ("startTime", "endTime") if each.get(key))
    meta |= {"started": times[0], "ended": times[-1]} if times else {}
    values = {each: row["value"] for each, row in scores.items() if isinstance(row.get("value"), str | int | float)}
    return meta | ({"scores": dict[str, JsonValue](values)} if values else {})


def _step(record: dict[str, JsonValue], pointer: str) -> Step:
    kind = _KINDS.get(str(record.get("type")).upper(), Kind.OTHER)
    start = _seconds(record.get("startTime"), child(pointer, "startTime"))
    end = record.get("endTime")
    parent = record.get("parentObservationId")
    output = parsed(record.get("output"))
    error = record.get("statusMessage") or "error" if record.get("level") == "ERROR" else None
    said = messages_of(output, "assistant") if kind is Kind.GENERATION and output != "None" else None
    if said and not any(message["tool_calls"] for message in said):
        said[-1]["tool_calls"] = _tool_calls(record)
    elif kind is Kind.GENERATION and not said and (calls := _tool_calls(record)):
        said = [{"role": "assistant", "content": "", "tool_calls": calls}]
    arguments = parsed(record.get("input"))
    if isinstance(arguments, dict) and list(arguments) == ["input"]:
        arguments = arguments["input"]
    return Step(
        id=identifier(record.get("id"), child(pointer, "id")),
        parent=parent if isinstance(parent, str) and parent else None,
        kind=kind,
        start=start,
        end=start if end is None else _seconds(end, child(pointer, "endTime")),
        name=str(record.get("name") or "").removeprefix("execute_tool "),
        input=_given(record.get("input"), output) if kind is Kind.GENERATION else None,
        output=said,
        structured=not isinstance(output, str),
        arguments=arguments if kind is Kind.TOOL else None,
        result=text_of(output) if kind is Kind.TOOL else "",
        error=str(error) if error else None,
        finish=_finish(output),
    )


def _given(value: JsonValue, output: JsonValue) -> Messages | None:
    """What a generation was given; the Responses API repeats its instructions in the answer only."""
    messages = messages_of(value, "user")
    instructions = output.get("instructions") if isinstance(output, dict) else None
    if messages and isinstance(instructions, str) and not any(each["role"] == "system" for each in messages):
        return [{"role": "system", "content": instructions, "tool_calls": []}, *messages]
    return messages


def _tool_calls(record: dict[str, JsonValue]) -> list[JsonValue]:
    """Calls that Langfuse itself took out of the output, where the output shows none that we read."""
    names, calls = record.get("toolCallNames"), record.get("toolCalls")
    if not isinstance(names, list) or not isinstance(calls, list):
        return []
    bodies = [parsed(each) for each in calls]
    return [
        {"name": name, "arguments": body.get("arguments") if isinstance(body, dict) else None}
        for name, body in zip(names, bodies, strict=False)
        if isinstance(name, str) and name.strip()
    ]


def _finish(output: JsonValue) -> str | None:
    if not isinstance(output, dict):
        return None
    choices = output.get("choices")
    last = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else output
    reason = last.get("finish_reason") or last.get("stop_reason")
    return reason.lower() if isinstance(reason, str) else None


def _seconds(value: JsonValue, pointer: str) -> float:
    """Seconds since 1970 of an ISO time; times without a zone are UTC."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            pass
    raise FieldError(pointer, f"{type_name(value)} (expected a time such as 2026-01-31T12:00:00Z)")


def _attributes(record: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The metadata, with the attributes of the span that it may hold."""
    metadata = parsed(record.get("metadata"))
    if not isinstance(metadata, dict):
        return {}
    attributes = parsed(metadata.get("attributes"))
    return metadata | (attributes if isinstance(attributes, dict) else {})


def _response_id(record: dict[str, JsonValue]) -> str | None:
    """The id that the provider gave the answer."""
    facts, output = _attributes(record), parsed(record.get("output"))
    candidates = [facts.get("gen_ai.response.id"), facts.get("ai.response.id")]
    if isinstance(output, dict) and {"choices", "object", "model"} & output.keys():
        candidates.append(output.get("id"))
    return next((each for each in candidates if isinstance(each, str) and each), None)


def _scores(trace: dict[str, JsonValue]) -> list[dict[str, JsonValue]]:
    listed = trace.get("scores")
    found = listed if isinstance(listed, list) else []
    return [each for each in found if isinstance(each, dict) and isinstance(each.get("name"), str)]


def _boolean(score: dict[str, JsonValue] | None) -> bool | None:
    if score is None or score.get("dataType") != "BOOLEAN":
        return None
    value = score.get("value")
    return bool(value) if isinstance(value, int | float) else str(score.get("stringValue")).lower() == "true"
