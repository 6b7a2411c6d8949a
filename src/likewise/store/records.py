"""What is written of one query: its verdict or why there is none, its runs as rollouts, and where it came from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from likewise.core.rollout import JsonValue, Rollout
from likewise.core.version import VERSION
from likewise.formats.native import rollout_to_json
from likewise.reliability.recording import query_key, rollouts_of_entry
from likewise.reliability.runs import RunRecord, Usage
from likewise.reliability.variance import VarianceForm
from likewise.reliability.verdict import Label, RemediationReport, Verdict
from likewise.store.redaction import Redactor

__all__ = ["FAILED", "Origin", "VerdictRecord", "VerdictRows", "full_entry", "join_body"]

FAILED = "failed"
"""The decision of a query that got no answer in any run."""
LONGEST_NAME = 200
EXCERPT = 500
"""Characters of query and answer that lists show; the whole texts are in the body."""
LARGEST = 32_000_000
"""Characters of JSON that one record may have."""

_APART = ("audit_trail", "critical_pairs", "finding_clashes")
"""Parts of a verdict with tables of their own."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a verdict comes from.

    Attributes:
        agent: Name of the agent; verdicts of one agent form a trend.
        version: Its version, where known.
        model: Model behind it, where known.
        task: What it was asked to do; verdicts of one task are compared. "" makes a name of the query.
        route: Way in ("/v1/analyze").
        caller: Prefix of the API key that asked; never the key.
    """

    agent: str
    version: str = ""
    model: str = ""
    task: str = ""
    route: str = ""
    caller: str = ""

    def __post_init__(self) -> None:
        """Refuse names that an index cannot hold."""
        if not self.agent.strip():
            raise ValueError("a verdict needs the name of its agent")
        for name, text in _names(self):
            if len(text) > LONGEST_NAME:
                raise ValueError(f"{name} has more than {LONGEST_NAME} characters")


@dataclass(frozen=True, slots=True)
class VerdictRows:
    """One record as rows of the tables."""

    verdict: dict[str, Any]
    runs: tuple[dict[str, Any], ...]
    clashes: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class VerdictRecord:
    """One query, ready to be written.

    Attributes:
        id: Names it; written twice it is there once, and the first stays.
        created: When it was decided, in UTC.
        origin: Where it comes from.
        body: The verdict as JSON, audit trail included.
        rollouts: Its runs in our own format, one for each entry of the audit trail.
        signature: How its numbers were made, in one line.
        size: Characters of its JSON: what it takes in a queue.
        secrets: Secrets by value that only this query knew, such as its caller's key; taken out, and never written.
    """

    id: str
    created: datetime
    origin: Origin
    body: Mapping[str, Any]
    rollouts: tuple[Mapping[str, Any], ...]
    signature: str = ""
    size: int = field(default=0, compare=False)
    secrets: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def of(
        cls,
        verdict: Verdict,
        origin: Origin,
        *,
        id: str | None = None,
        created: datetime | None = None,
        rollouts: Sequence[Rollout] | None = None,
        signature: str = "",
    ) -> VerdictRecord:
        """The record of a verdict.

        Args:
            verdict: What the layer said.
            origin: Where it comes from.
            id: A name that stays the same when the caller tries again; a new one where None.
            created: Now where None.
            rollouts: The runs with all their turns, where there are more than the last; one for each of its records.
            signature: How its numbers were made; judge, rules and thresholds of the metadata where "".

        Raises:
            ValueError: Something that cannot be stored; it says what.
        """
        return _record(verdict.as_json(), origin, id, created, rollouts, signature)

    @classmethod
    def of_failure(
        cls,
        query: str,
        error: str,
        records: Sequence[RunRecord],
        origin: Origin,
        *,
        id: str | None = None,
        created: datetime | None = None,
    ) -> VerdictRecord:
        """The record of a query whose runs all failed: data as much as a verdict is.

        Raises:
            ValueError: Something that cannot be stored; it says what.
        """
        return _record(_failure_body(query, error, records), origin, id, created, None, "")

    def rows(self, redactor: Redactor) -> VerdictRows:
        """The rows to be written, without secrets."""
        redactor = redactor.also(self.secrets) if self.secrets else redactor
        body: Any = redactor.value(dict(self.body))
        rollouts: list[Any] = [redactor.value(dict(rollout)) for rollout in self.rollouts]
        origin = replace(
            self.origin, **{name: redactor.text(value)[:LONGEST_NAME] for name, value in _names(self.origin)}
        )
        verdict = {"id": self.id, "created": self.created, "day": self.created.date()} | _columns(origin, body)
        verdict["signature"] = self.signature or _signature(body["metadata"])
        verdict["body"] = {key: value for key, value in body.items() if key not in _APART}
        runs = [
            {"verdict_id": self.id, "position": position, "rollout": rollout, "entry": _short_entry(entry, rollout)}
            for position, (rollout, entry) in enumerate(zip(rollouts, body["audit_trail"], strict=True))
        ]
        pairs = [("answer", pair) for pair in body["critical_pairs"]]
        pairs += [("finding", pair) for pair in body["finding_clashes"]]
        clashes = [
            {"verdict_id": self.id, "position": position, "kind": kind, "pair": pair}
            for position, (kind, pair) in enumerate(pairs)
        ]
        return VerdictRows(verdict, tuple(runs), tuple(clashes))


def join_body(
    body: Mapping[str, Any], entries: Sequence[Mapping[str, Any]], clashes: Sequence[tuple[str, Mapping[str, Any]]]
) -> dict[str, Any]:
    """The verdict's JSON, put together again from its rows."""
    return {
        **body,
        "critical_pairs": [dict(pair) for kind, pair in clashes if kind == "answer"],
        "finding_clashes": [dict(pair) for kind, pair in clashes if kind == "finding"],
        "audit_trail": [dict(entry) for entry in entries],
    }


def full_entry(entry: Mapping[str, Any], rollout: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of the audit trail, with what its rollout holds for it."""
    return {**_said(rollout), **entry}


def _short_entry(entry: Mapping[str, Any], rollout: Mapping[str, Any]) -> dict[str, Any]:
    """The entry without what its rollout holds too: texts are long, and once is enough."""
    said = _said(rollout)
    return {key: value for key, value in entry.items() if key not in said or said[key] != value}


def _said(rollout: Mapping[str, Any]) -> dict[str, Any]:
    if not rollout["turns"]:
        return {"text": "", "tool_calls": []}
    action = rollout["turns"][-1]["action"]
    return {"text": action["text"], "tool_calls": action["tool_calls"]}


def _record(
    body: dict[str, Any],
    origin: Origin,
    id: str | None,
    created: datetime | None,
    rollouts: Sequence[Rollout] | None,
    signature: str,
) -> VerdictRecord:
    name = uuid4().hex if id is None else id
    if not name or len(name) > 64 or not name.isascii() or not name.isprintable():
        raise ValueError(f"an id of a verdict has 1 to 64 printable ASCII characters, got {name[:80]!r}")
    moment = datetime.now(UTC) if created is None else created
    if moment.tzinfo is None:
        raise ValueError(f"a verdict's time needs a time zone, got {moment.isoformat()}")
    placed = origin if origin.task else replace(origin, task=f"query-{query_key(body['query'], {})[:12]}")
    if rollouts is None:
        rollouts = rollouts_of_entry(body, placed.task)
    if len(rollouts) != len(body["audit_trail"]):
        raise ValueError(f"{len(rollouts)} rollouts for {len(body['audit_trail'])} runs")
    natives = tuple(_native(rollout, position, name, placed) for position, rollout in enumerate(rollouts))
    try:
        text = json.dumps([body, natives], allow_nan=False)
    except (TypeError, ValueError, RecursionError) as problem:
        raise ValueError(f"a verdict that is no JSON cannot be stored: {problem}") from None
    if len(text) > LARGEST:
        raise ValueError(f"a verdict of {len(text):,} characters cannot be stored; at most {LARGEST:,}")
    copied, runs = json.loads(text)  # what the caller does to its objects after this is not what is written
    return VerdictRecord(name, moment.astimezone(UTC), placed, copied, tuple(runs), signature, len(text))


def _native(rollout: Rollout, position: int, id: str, origin: Origin) -> dict[str, JsonValue]:
    """The rollout under the task of its verdict, with a run id that no other verdict's run has."""
    whence: dict[str, JsonValue] = {
        "verdict": id,
        "agent": origin.agent,
        "version": origin.version,
        "model": origin.model,
    }
    if rollout.task_id != origin.task:
        whence |= {"task_id": rollout.task_id, "run_id": rollout.run_id}
    meta = {**rollout.meta, "likewise": whence}
    return rollout_to_json(replace(rollout, task_id=origin.task, run_id=f"{id}#{position}", meta=meta, path=""))


def _names(origin: Origin) -> list[tuple[str, str]]:
    return [(name, getattr(origin, name)) for name in ("agent", "version", "model", "task", "route", "caller")]


def _columns(origin: Origin, body: Mapping[str, Any]) -> dict[str, Any]:
    """What lists and trends are made of."""
    reliability, answer = body["reliability_interval"], body["consensus_answer"]
    entries, metadata = body["audit_trail"], body["metadata"]
    tokens = [entry["usage"] for entry in entries]
    return {
        **dict(_names(origin)),
        "query": body["query"][:EXCERPT],
        "answer": None if answer is None else answer[:EXCERPT],
        "decision": str(body["decision"]),
        "label": str(body["label"]),
        "reliability": reliability["value"],
        "reliability_low": reliability.get("low"),
        "reliability_high": reliability.get("high"),
        "reliability_reason": reliability.get("reason"),
        "contradiction": body["contradiction_score"],
        "contradictory": body["has_critical_contradiction"],
        "divergence": body["divergence"]["value"],
        "runs": len(entries),
        "runs_failed": body["runs_failed"],
        "runs_agreed": body["runs_agreed"],
        "needs_review": body["remediation_report"]["needs_human_review"],
        "seconds": metadata.get("seconds_running"),
        "input_tokens": _sum(each["input_tokens"] for each in tokens),
        "output_tokens": _sum(each["output_tokens"] for each in tokens),
    }


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _signature(metadata: Mapping[str, Any]) -> str:
    """How the numbers were made, in the form of `core.signature`."""
    names = {
        "likewise": "likewise",
        "judge": "judge",
        "rules": "tool_rules",
        "tv": "tv",
        "critical": "critical_threshold",
    }
    return "|".join(f"{name}:{metadata[key]}" for name, key in names.items() if key in metadata)


def _failure_body(query: str, error: str, records: Sequence[RunRecord]) -> dict[str, Any]:
    """The same shape as a verdict's JSON; every number is missing, with the reason."""
    missing = {"value": None, "reason": "no run gave an answer"}
    field_missing = {**missing, "form": VarianceForm.CANONICAL.value}
    usage = sum((record.usage for record in records), Usage())
    return {
        "query": query,
        "answer": None,
        "tool_calls": [],
        "consensus_answer": None,
        "decision": FAILED,
        "reasons": [error],
        "reliability": None,
        "reliability_interval": missing,
        "label": Label.NOT_MEASURED.value,
        "contradiction_score": None,
        "contradiction_mean": missing,
        "has_critical_contradiction": False,
        "critical_pairs": [],
        "finding_clashes": [],
        "runs_agreed": "0/0",
        "runs_failed": len(records),
        "majority": False,
        "tie": False,
        "classes": {},
        "divergence": missing,
        "agreement": missing,
        "semantic_entropy": missing,
        "grounding": None,
        "variance_report": dict.fromkeys(("answer", "findings", "citations"), field_missing)
        | dict.fromkeys(("answer_embedding", "findings_volume", "citations_volume"), missing),
        "remediation_report": RemediationReport().as_json(),
        "audit_trail": [record.as_json() for record in records],
        "metadata": {
            "likewise": VERSION,
            "runs_started": len(records),
            "runs_good": 0,
            "usage": {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens},
        },
    }
