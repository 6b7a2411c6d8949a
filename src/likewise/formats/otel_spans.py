"""Spans out of what exporters write: OTLP JSON, spans of the SDKs as they print them, and rows of span tables.

OTLP types its values (`{"stringValue": ...}`, integers as strings); lists of objects come flattened
(`llm.input_messages.0.message.role`), nested, or in between. Here they become plain JSON once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from likewise.core.rollout import Excluded, JsonValue
from likewise.formats.fields import FieldError, as_object, child, type_name

__all__ = ["Attributes", "Span", "nested", "spans_of"]

Attributes = dict[str, JsonValue]

_BATCHES: Final = ("resourceSpans", "resource_spans", "batches")
_SCOPES: Final = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")
_TRACE_KEYS: Final = ("traceId", "trace_id")
_SPAN_KEYS: Final = ("spanId", "span_id")
_PARENT_KEYS: Final = ("parentSpanId", "parent_span_id", "parentId", "parent_id")
_START_KEYS: Final = ("startTimeUnixNano", "start_time_unix_nano", "startTime", "start_time")
_END_KEYS: Final = ("endTimeUnixNano", "end_time_unix_nano", "endTime", "end_time")
_ERRORS: Final = frozenset({"2", "ERROR", "STATUS_CODE_ERROR"})
_NUMBERED: Final = re.compile(r"0|[1-9]\d{0,8}")
_DEEPEST: Final = 40


@dataclass(frozen=True, slots=True)
class Span:
    """One span, whatever exporter wrote it: times in seconds, events as (name, attributes), None for no error."""

    trace: str
    id: str
    parent: str | None
    name: str
    start: float
    end: float
    attributes: Attributes
    resource: Attributes
    events: tuple[tuple[str, Attributes], ...]
    error: str | None
    pointer: str
    line: int | None = None


@dataclass(slots=True)
class _Batch:
    path: str
    spans: list[Span] = field(default_factory=list)
    excluded: list[Excluded] = field(default_factory=list)


def spans_of(values: Iterable[tuple[JsonValue, int | None, str]], path: str) -> tuple[list[Span], list[Excluded]]:
    """All spans of a file's JSON values, in their order; a span that is none is excluded with its place."""
    batch = _Batch(path)
    for value, line, pointer in values:
        for record, resource, place in _records(value, pointer, {}, 0):
            try:
                span = _span(as_object(record, place), resource, place)
            except FieldError as error:
                batch.excluded.append(Excluded(None, None, error.problem, path, line, error.pointer))
            else:
                batch.spans.append(replace(span, line=line))
    return batch.spans, batch.excluded


def _records(
    value: JsonValue, pointer: str, resource: Attributes, depth: int
) -> Iterator[tuple[JsonValue, Attributes, str]]:
    """Each span record in a value, with the attributes of its resource and its pointer."""
    if isinstance(value, list) and depth < _DEEPEST:
        for index, item in enumerate(value):
            yield from _records(item, child(pointer, index), resource, depth + 1)
        return
    if isinstance(value, dict) and depth < _DEEPEST:
        own = value.get("resource")
        if isinstance(own, dict):
            resource = _attributes(own.get("attributes"))
        for key in (*_BATCHES, *_SCOPES, "spans"):
            if isinstance(inner := value.get(key), list):
                yield from _records(inner, child(pointer, key), resource, depth + 1)
                return
    yield value, resource, pointer


def _span(record: Attributes, resource: Attributes, pointer: str) -> Span:
    context = next((c for key in ("spanContext", "context") if isinstance(c := record.get(key), dict)), {})
    dotted = {key.removeprefix("context."): value for key, value in record.items() if key.startswith("context.")}
    places = (record, context, dotted)
    trace, identity = _text(places, _TRACE_KEYS), _text(places, _SPAN_KEYS)
    if trace is None or identity is None:
        missing = "traceId" if trace is None else "spanId"
        raise FieldError(child(pointer, missing), "missing (expected a span with traceId and spanId)")
    above = record.get("parentSpanContext")
    parent = _text((record,), _PARENT_KEYS) or _text((above if isinstance(above, dict) else {},), _SPAN_KEYS)
    table = {key.removeprefix("attributes."): v for key, v in record.items() if key.startswith("attributes.")}
    start = _time(_first(record, _START_KEYS), child(pointer, "startTime"))
    end = _first(record, _END_KEYS)
    events = tuple(_events(record.get("events")))
    name = record.get("name")
    return Span(
        trace=trace,
        id=identity,
        parent=parent,
        name=name if isinstance(name, str) else "",
        start=start,
        end=start if end is None else _time(end, child(pointer, "endTime")),
        attributes=_attributes(record.get("attributes")) | {k: v for k, v in table.items() if v is not None},
        resource=resource,
        events=events,
        error=_error(record, events),
        pointer=pointer,
    )


def _first(record: Attributes, keys: Iterable[str]) -> JsonValue:
    return next((record[key] for key in keys if record.get(key) is not None), None)


def _text(places: Iterable[Attributes], keys: Iterable[str]) -> str | None:
    wanted = tuple(keys)
    found = (place.get(key) for place in places for key in wanted)
    return next((value for value in found if isinstance(value, str) and value.strip()), None)


def _time(value: JsonValue, pointer: str) -> float:
    """Seconds of a time given as nanoseconds, [seconds, nanoseconds], a number of any usual unit, or ISO text."""
    try:
        if isinstance(value, list) and len(value) == 2:
            return float(str(value[0])) + float(str(value[1])) / 1e9
        if isinstance(value, str) and not value.strip().lstrip("-").isdigit():
            moment = datetime.fromisoformat(value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            number = float(value)
            for size in (1e17, 1e14, 1e11):  # nanoseconds, microseconds, milliseconds since 1970
                if abs(number) > size:
                    return number / (size / 1e8)
            return number
    except (ValueError, OverflowError):
        pass
    raise FieldError(pointer, f"{'missing' if value is None else type_name(value)} (expected a time)")


def _attributes(value: JsonValue) -> Attributes:
    """Attributes as plain JSON, out of OTLP's typed list or an object."""
    if isinstance(value, list):
        pairs = (item for item in value if isinstance(item, dict))
        return {key: _untyped(pair.get("value"), 0) for pair in pairs if isinstance(key := pair.get("key"), str)}
    return dict(value) if isinstance(value, dict) else {}


def _untyped(value: JsonValue, depth: int) -> JsonValue:
    """A typed value of OTLP as plain JSON; anything else stays."""
    if not isinstance(value, dict) or len(value) != 1 or depth > _DEEPEST:
        return value
    ((kind, inner),) = value.items()
    kind = kind.replace("_", "").lower()
    if kind == "intvalue":
        return int(inner) if isinstance(inner, str) and re.fullmatch(r"-?\d{1,19}", inner) else inner
    if kind in ("stringvalue", "boolvalue", "doublevalue", "bytesvalue"):
        return inner
    items = inner.get("values") if isinstance(inner, dict) else None
    listed = items if isinstance(items, list) else []
    if kind == "arrayvalue":
        return [_untyped(item, depth + 1) for item in listed]
    if kind == "kvlistvalue":
        pairs = (item for item in listed if isinstance(item, dict))
        return {str(pair.get("key")): _untyped(pair.get("value"), depth + 1) for pair in pairs}
    return value


def _events(value: JsonValue) -> Iterator[tuple[str, Attributes]]:
    for event in value if isinstance(value, list) else []:
        if isinstance(event, dict) and isinstance(name := event.get("name"), str):
            yield name, _attributes(event.get("attributes"))


def _error(record: Attributes, events: tuple[tuple[str, Attributes], ...]) -> str | None:
    """Why a span failed; None where it did not."""
    status = record.get("status")
    fields = status if isinstance(status, dict) else {}
    code = _first({**record, **fields}, ("code", "status_code", "statusCode"))
    if str(code).upper().removeprefix("STATUSCODE.") not in _ERRORS:
        return None
    attributes = _attributes(record.get("attributes"))
    exception = next((found for name, found in events if name == "exception"), {})
    texts = (
        fields.get("message"),
        fields.get("description"),
        record.get("status_message"),
        exception.get("exception.message"),
        exception.get("exception.type"),
        attributes.get("error.type"),
    )
    return next((text for text in texts if isinstance(text, str) and text.strip()), "error")


def nested(attributes: Attributes, prefix: str) -> JsonValue:
    """The value at a prefix, built of its flattened keys: `a.0.b` of prefix `a` is the `b` of the first of a list."""
    if attributes.get(prefix) is not None:
        return _unfolded(attributes[prefix], 0)
    tree: Attributes = {}
    for key, value in attributes.items():
        if not key.startswith(f"{prefix}."):
            continue
        node, steps = tree, key[len(prefix) + 1 :].split(".")[:_DEEPEST]
        for step in steps[:-1]:
            inner = node.get(step)
            if not isinstance(inner, dict):
                inner = node[step] = {}
            node = inner
        node[steps[-1]] = value
    return _lists(tree) if tree else None


def _unfolded(value: JsonValue, depth: int) -> JsonValue:
    """A nested value whose keys may still be dotted (`{"message.role": "user"}`), as nested objects."""
    if depth > _DEEPEST:
        return value
    if isinstance(value, list):
        return [_unfolded(item, depth + 1) for item in value]
    if isinstance(value, dict):
        if not any("." in key for key in value):
            return {key: _unfolded(item, depth + 1) for key, item in value.items()}
        roots = dict.fromkeys(key.split(".")[0] for key in value)
        return {root: _unfolded(nested(value, root), depth + 1) for root in roots}
    return value


def _lists(value: JsonValue) -> JsonValue:
    """Objects whose keys are all numbers, as lists in the order of the numbers."""
    if not isinstance(value, dict):
        return value
    inner = {key: _lists(item) for key, item in value.items()}
    if inner and all(_NUMBERED.fullmatch(key) for key in inner):
        return [inner[key] for key in sorted(inner, key=int)]
    return inner
