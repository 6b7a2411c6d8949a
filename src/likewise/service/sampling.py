"""An upstream as an agent: samples of one chat request, each kept as the upstream gave it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from likewise.core.rollout import JsonValue
from likewise.reliability.runs import AgentOutput, RunRecord, Usage, as_output
from likewise.service.upstream import HeaderList, Upstream, UpstreamError

__all__ = ["ChatSampler", "Sample", "output_of"]

_SET_BY_US = ("n", "stream", "stream_options")
_NO_N = (400, 404, 422, 501)
"""What endpoints answer that know no `n`."""
SAMPLE = "sample"
"""Name, in a run's further facts, of the place of its choice among the samples."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One choice, and the completion it is of; both exactly as the upstream gave them."""

    completion: Mapping[str, Any]
    choice: Mapping[str, Any]


@dataclass
class ChatSampler:
    """Takes samples of one request; made for one query of one caller.

    Attributes:
        upstream: Where they come from.
        body: The caller's request.
        headers: Headers of each call.
        path: Path below the upstream's base URL.
        query: Query string of each call.
        samples: All choices so far.
        calls: Calls begun.
    """

    upstream: Upstream
    body: Mapping[str, Any]
    headers: HeaderList
    path: str = "chat/completions"
    query: bytes = b""
    samples: list[Sample] = field(default_factory=list)
    calls: int = 0

    def __post_init__(self) -> None:
        """Take over the answer's encoding and content type: it is read here."""
        own = (b"accept-encoding", b"content-type", b"accept", b"content-encoding")
        self.headers = [pair for pair in self.headers if pair[0].lower() not in own]
        self.headers += [
            (b"content-type", b"application/json"),
            (b"accept", b"application/json"),
            (b"accept-encoding", b"gzip, deflate"),
        ]

    @property
    def model(self) -> str:
        """The model that is asked for."""
        return str(self.body.get("model", ""))

    @property
    def by_n(self) -> bool:
        """Whether several samples are asked for at once."""
        return self.upstream.heeds_n(self.model)

    async def sample(self, query: Any, count: int) -> Sequence[AgentOutput]:  # noqa: ANN401 - the layer's signature
        """`count` outputs, or fewer where the upstream gives fewer; the query is the request itself.

        Raises:
            UpstreamError: The upstream gave none.
        """
        del query
        several = count > 1 and self.by_n
        try:
            completion = await self._ask(count if several else 1)
        except UpstreamError as problem:
            if not several or problem.status not in _NO_N:
                raise
            completion = await self._ask(1)  # where this one is refused as well, the fault is the request's
            self.upstream.remember_no_n(self.model)
        choices = completion["choices"]
        if several and len(choices) < count:
            self.upstream.remember_no_n(self.model)
        return [self._output(completion, choice, i) for i, choice in enumerate(choices[:count])]

    async def _ask(self, count: int) -> dict[str, Any]:
        """One call. Calls beyond the first ask with another seed: with the same one they would be one sample, twice."""
        body = {name: value for name, value in self.body.items() if name not in _SET_BY_US}
        if count > 1:
            body["n"] = count
        seed = body.get("seed")
        number, self.calls = self.calls, self.calls + 1
        if isinstance(seed, int) and not isinstance(seed, bool) and number > 0:
            body["seed"] = seed + number
        return await self.upstream.chat(self.path, self.query, self.headers, body)

    def _output(self, completion: Mapping[str, Any], choice: object, place: int) -> AgentOutput:
        whole = choice if isinstance(choice, Mapping) else {}
        self.samples.append(Sample(completion, whole))
        return output_of(completion, whole, place, len(self.samples) - 1)

    def sample_of(self, record: RunRecord) -> Sample:
        """The sample that a run is."""
        number = record.meta.get(SAMPLE)
        return self.samples[number if isinstance(number, int) else 0]

    def usage(self) -> dict[str, Any] | None:
        """Tokens of all completions together, number by number; None where none says."""
        seen: dict[int, Mapping[str, Any]] = {id(sample.completion): sample.completion for sample in self.samples}
        told = [c["usage"] for c in seen.values() if isinstance(c.get("usage"), Mapping)]
        return _sum(told) if told else None


def output_of(completion: Mapping[str, Any], choice: Mapping[str, Any], place: int, number: int) -> AgentOutput:
    """What a choice says and calls, in our words. A completion's tokens are entered once, written ones shared out."""
    message = choice.get("message")
    message = message if isinstance(message, Mapping) else {}
    output = as_output({"content": _text(message), "tool_calls": _calls(message)})
    usage = completion.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    read, written = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    choices = max(len(completion["choices"]), 1)
    share = None if written is None else written // choices + (place < written % choices)
    meta: dict[str, JsonValue] = {
        SAMPLE: number,
        "finish_reason": _plain(choice.get("finish_reason")),
        "model": _plain(completion.get("model")),
        "response_id": _plain(completion.get("id")),
    }
    return AgentOutput(
        output.text, output.tool_calls, None, Usage(0 if read is not None and place else read, share), meta
    )


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):  # parts, as some endpoints answer in
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    audio = message.get("audio")
    spoken = audio.get("transcript") if isinstance(audio, Mapping) else None
    return str(content or message.get("refusal") or spoken or "")


def _calls(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Tool calls of all three shapes: functions, custom tools, and the function call of old."""
    found: list[Mapping[str, Any]] = []
    listed = message.get("tool_calls")
    for call in listed if isinstance(listed, list) else ():
        custom = call.get("custom") if isinstance(call, Mapping) else None
        if isinstance(custom, Mapping):
            found.append({"name": custom.get("name"), "arguments": custom.get("input", "")})
        else:
            found.append(call)
    old = message.get("function_call")
    if isinstance(old, Mapping):
        found.append(old)
    return found


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _plain(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _sum(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Field by field: numbers are added, objects are summed in turn, of anything else the first is kept."""
    total: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            known = total.get(name)
            if isinstance(value, Mapping):
                total[name] = _sum([known if isinstance(known, Mapping) else {}, value])
            elif isinstance(value, int | float) and not isinstance(value, bool):
                total[name] = value + (known if isinstance(known, int | float) else 0)
            elif known is None:
                total[name] = value
    return total
