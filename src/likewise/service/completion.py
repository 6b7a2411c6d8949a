"""The answer of a verified request: one real choice of the upstream, as a completion or a stream of chunks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from likewise.reliability.runs import RunRecord
from likewise.reliability.verdict import Verdict
from likewise.service.sampling import ChatSampler

__all__ = ["chunks", "completion_of", "consensus_record", "summary_of", "verdict_headers"]

PIECE = 80
"""Characters of a chunk's text."""
_NOT_IN_SUMMARY = ("query", "answer", "consensus_answer", "tool_calls", "audit_trail", "classes")


def consensus_record(verdict: Verdict) -> RunRecord:
    """The run that speaks for all; where answers could not be compared, the first good one, as it would be alone."""
    return verdict.chosen or next(record for record in verdict.records if record.good)


def summary_of(verdict: Verdict, identity: str) -> dict[str, Any]:
    """What stands in a completion's `likewise`: the verdict without texts that are in the completion, or are long.

    The runs themselves are to be had at /v1/verdicts/ID.
    """
    whole = verdict.as_json()
    return {"id": identity} | {name: value for name, value in whole.items() if name not in _NOT_IN_SUMMARY}


def verdict_headers(verdict: Verdict, identity: str) -> dict[str, str]:
    """The same for those who look at headers only."""
    headers = {
        "X-Likewise-Verdict-Id": identity,
        "X-Likewise-Decision": verdict.decision.value,
        "X-Likewise-Label": verdict.label.value,
        "X-Likewise-Runs-Agreed": verdict.runs_agreed,
        "X-Likewise-Runs-Failed": str(verdict.runs_failed),
        "X-Likewise-Contradiction": "critical" if verdict.has_critical_contradiction else "none",
    }
    if verdict.reliability is not None:
        headers["X-Likewise-Reliability"] = f"{verdict.reliability:.4f}"
    if verdict.contradiction_score is not None:
        headers["X-Likewise-Contradiction-Score"] = f"{verdict.contradiction_score:.4f}"
    return headers


def completion_of(verdict: Verdict, identity: str, sampler: ChatSampler, wanted: int = 1) -> dict[str, Any]:
    """The consensus choice as an ordinary completion, with the verdict beside it and the tokens of all runs.

    Args:
        verdict: What the runs came to.
        identity: Under which it is stored.
        sampler: Holds what the upstream gave.
        wanted: `n` of the caller: the consensus comes first, other runs follow in their order.
    """
    first = consensus_record(verdict)
    others = [record for record in verdict.records if record.good and record.index != first.index]
    records = [first, *others][:wanted]
    base = sampler.sample_of(first).completion
    choices = [{**sampler.sample_of(record).choice, "index": i} for i, record in enumerate(records)]
    usage = sampler.usage()
    body = {**base, "choices": choices} | ({} if usage is None else {"usage": usage})
    return body | {"likewise": summary_of(verdict, identity)}


def chunks(completion: Mapping[str, Any], include_usage: bool) -> Iterator[bytes]:
    """A whole completion as the server-sent events of one that is written as it goes."""
    head = {
        name: value for name, value in completion.items() if name not in ("choices", "usage", "likewise", "object")
    } | {"object": "chat.completion.chunk"}
    blank: dict[str, Any] = {"usage": None} if include_usage else {}

    def event(choices: Sequence[Mapping[str, Any]], more: Mapping[str, Any]) -> bytes:
        return b"data: " + json.dumps({**head, "choices": choices, **more}).encode("ascii") + b"\n\n"

    listed = completion["choices"]
    for place, choice in enumerate(listed):
        for delta, more in _deltas(choice):
            piece = {"index": choice["index"], "delta": delta, "logprobs": None, "finish_reason": None} | more
            yield event([piece], blank)
        last = {"index": choice["index"], "delta": {}, "logprobs": None, "finish_reason": choice.get("finish_reason")}
        final = place == len(listed) - 1
        yield event([last], blank | ({"likewise": completion["likewise"]} if final else {}))
    if include_usage:
        yield event([], {"usage": completion.get("usage")})
    yield b"data: [DONE]\n\n"


def _deltas(choice: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The parts of a message in the order in which an endpoint writes them, and what stands beside each."""
    message = choice.get("message") or {}
    content, calls, logprobs = message.get("content"), message.get("tool_calls"), choice.get("logprobs")
    rest = {name: value for name, value in message.items() if name not in ("role", "content", "tool_calls")}
    yield {"role": message.get("role", "assistant"), **rest}, {}
    if isinstance(content, str) and content:
        if logprobs is not None:  # they belong to tokens, whose bounds are not known here
            yield {"content": content}, {"logprobs": logprobs}
        else:
            for start in range(0, len(content), PIECE):
                yield {"content": content[start : start + PIECE]}, {}
    elif content is not None:
        yield {"content": content}, {} if logprobs is None else {"logprobs": logprobs}
    for number, call in enumerate(calls if isinstance(calls, list) else ()):
        yield {"tool_calls": [{"index": number, **call}]}, {}
