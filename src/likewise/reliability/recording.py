"""Verdicts and runs as files: the audit log of `likewise run`, and rollouts that `likewise report` reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from likewise.core.errors import RolloutFormatError
from likewise.core.rollout import Action, Observation, Rollout, StopReason, ToolCall, Turn
from likewise.core.state_text import canonical_json
from likewise.reliability.fields import AnswerFields, Confidence
from likewise.reliability.runs import Failure, FailureKind, RunRecord, Usage

__all__ = [
    "LOG_SCHEMA",
    "is_log",
    "query_key",
    "record_from_json",
    "records_of_rollouts",
    "rollouts_of_entry",
]

LOG_SCHEMA = "likewise.verdict/1"


def query_key(query: object, settings: Mapping[str, Any]) -> str:
    """What tells one query under one set of settings from others: a digest, so that a log can be gone on with."""
    content = canonical_json({"query": query, "settings": dict(settings)})  # type: ignore[dict-item]
    return sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def is_log(path: Path) -> bool:
    """Whether a file is an audit log of ours, by its first line."""
    with path.open("rb") as file:
        return f'"schema": "{LOG_SCHEMA}"'.encode() in file.read(200)


def rollouts_of_entry(entry: Mapping[str, Any], task_id: str) -> list[Rollout]:
    """One rollout a run of an entry of the audit log: what was asked, then what was done.

    A failed run is an invalid rollout with its reason.
    """
    records = [record_from_json(run, "audit log", 1, "") for run in entry["audit_trail"]]
    query = entry["query"]
    return _rollouts(query if isinstance(query, str) else repr(query), records, task_id)


def _rollouts(query: str, records: Sequence[RunRecord], task_id: str) -> list[Rollout]:
    asked = (Observation("user", query),)
    return [
        Rollout(
            task_id,
            f"{task_id}#{record.index}",
            (Turn(asked, Action(record.text, record.tool_calls)),) if record.good else (),
            StopReason.FINISHED if record.good else StopReason.INVALID,
            problem=None if record.good else str(record.failure),
            meta=dict(record.meta),
        )
        for record in records
    ]


def records_of_rollouts(rollouts: Sequence[Rollout]) -> list[RunRecord]:
    """The final answers of recorded runs; a run without one is a failed run."""
    records = []
    for index, rollout in enumerate(rollouts):
        answer = rollout.answer
        meta = {"run_id": rollout.run_id}
        if rollout.stop is StopReason.FINISHED and answer is not None:
            records.append(RunRecord(index, answer, AnswerFields(answer), meta=dict(meta)))
            continue
        if rollout.problem is not None:
            failure = Failure(FailureKind.EXCEPTION, rollout.problem)
        elif rollout.stop is StopReason.CUT:
            failure = Failure(FailureKind.TIMEOUT, "cut by a limit before it was done")
        else:
            failure = Failure(FailureKind.EMPTY, "no answer")
        records.append(RunRecord(index, failure=failure, meta=dict(meta)))
    return records


def record_from_json(entry: object, path: str, line: int, pointer: str) -> RunRecord:
    """One entry of an audit trail, as a run.

    Raises:
        RolloutFormatError: The entry is none.
    """
    if not isinstance(entry, dict) or not isinstance(entry.get("run"), int):
        raise RolloutFormatError(path, "no run of an audit trail", line=line, pointer=pointer, expected='{"run": ...}')
    try:
        return _record(entry)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise RolloutFormatError(path, f"no run of an audit trail ({problem!r})", line=line, pointer=pointer) from None


def _record(entry: dict[str, Any]) -> RunRecord:
    failure, fields = entry.get("failure"), entry.get("fields")
    usage = entry.get("usage") or {}
    return RunRecord(
        entry["run"],
        entry.get("text") or "",
        None if fields is None else _fields(fields),
        tuple(ToolCall(call["name"], call["arguments"]) for call in entry.get("tool_calls") or ()),
        None
        if failure is None
        else Failure(FailureKind(failure["kind"]), str(failure["message"]), str(failure.get("excerpt", ""))),
        float(entry.get("seconds") or 0.0),
        int(entry.get("attempts") or 1),
        Usage(usage.get("input_tokens"), usage.get("output_tokens")),
        int(entry.get("replayed") or 0),
        entry.get("meta") or {},
    )


def _fields(value: dict[str, Any]) -> AnswerFields:
    findings, sources, level = value.get("key_findings"), value.get("sources_used"), value.get("confidence")
    return AnswerFields(
        str(value["main_answer"]),
        None if findings is None else tuple(map(str, findings)),
        None if level is None else Confidence(level),
        None if sources is None else tuple(map(str, sources)),
    )
