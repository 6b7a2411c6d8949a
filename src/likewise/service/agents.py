"""Endpoints of agents that /v1/analyze runs: OpenAI-compatible, or plain ones that take a query and give an answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx2

from likewise.reliability.agents import Agent, SamplingAgent
from likewise.reliability.fields import AnswerFields
from likewise.reliability.runs import AgentOutput, as_output
from likewise.service.credentials import credentials_of
from likewise.service.errors import ServiceError
from likewise.service.sampling import ChatSampler
from likewise.service.schemas import AgentIn
from likewise.service.security.allow_list import BlockedAddressError
from likewise.service.service import Service
from likewise.service.settings import AgentSettings, KeyFrom, UpstreamSettings
from likewise.service.upstream import Upstream, UpstreamError

__all__ = ["Endpoint", "JsonAgent", "endpoint_of"]

METRIC_NAME = "agent"
"""Agents' name among upstreams in metrics: callers name them, and names of callers make no label."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An agent's endpoint, whoever named it.

    Attributes:
        name: For the history.
        version: For the history.
        url: Where it is.
        protocol: "chat" or "json".
        model: Of a chat endpoint.
        system: Of a chat endpoint.
        parameters: Of a chat endpoint.
        authorization: Authorization header; never kept.
        headers: Further headers.
        client: Connections: guarded where a caller named the address.
    """

    name: str
    version: str
    url: str
    protocol: str
    model: str
    system: str | None
    parameters: Mapping[str, Any]
    authorization: str | None
    headers: Mapping[str, str]
    client: httpx2.AsyncClient

    @property
    def secrets(self) -> tuple[str, ...]:
        """Credentials that it is called with, and may repeat."""
        pairs = [(name.encode(), value.encode()) for name, value in self.headers.items()]
        pairs.append((b"authorization", (self.authorization or "").encode("latin-1", "replace")))
        return credentials_of(pairs, urlsplit(self.url).query.encode())

    def agent(self, service: Service, query: str | list[dict[str, Any]]) -> Agent | SamplingAgent:
        """What the layer runs."""
        settings = UpstreamSettings.model_construct(
            base_url=self.url.rstrip("/"), key_from=KeyFrom.CALLER, by_n=True, timeout=600.0, connect_timeout=10.0
        )
        upstream = Upstream(
            METRIC_NAME, settings, self.client, service.metrics, service.tracing, service.settings.max_response_bytes
        )
        given = [(name.encode(), value.encode()) for name, value in self.headers.items()]
        headers = upstream.headers(given, self.authorization)
        if self.protocol == "json":
            return JsonAgent(upstream, self.url, headers)
        messages: list[dict[str, Any]] = (
            [{"role": "user", "content": query}] if isinstance(query, str) else [dict(each) for each in query]
        )
        if self.system is not None:
            messages.insert(0, {"role": "system", "content": self.system})
        body = {**self.parameters, "model": self.model, "messages": messages}
        return ChatSampler(upstream, body, headers)


@dataclass(frozen=True, slots=True)
class JsonAgent:
    """Posts `{"query": ...}` and reads what comes: a text, JSON with an answer or fields, or a message."""

    upstream: Upstream
    url: str
    headers: list[tuple[bytes, bytes]]

    async def __call__(self, query: Any) -> AgentOutput:  # noqa: ANN401 - text or messages
        """One run.

        Raises:
            UpstreamError: The endpoint gave no answer.
        """
        headers = [*self.headers, (b"content-type", b"application/json"), (b"accept-encoding", b"gzip, deflate")]
        body = json.dumps({"query": query}).encode("ascii")
        request = httpx2.Request(
            "POST", self.url, headers=headers, content=body, extensions={"timeout": self.upstream.timeout.as_dict()}
        )
        answer = await self.upstream.whole(request)
        if answer.status >= 300:
            raise UpstreamError(f"the agent answered with status {answer.status}", answer.status, "agent_error", answer)
        text = answer.body.decode("utf-8", "replace")
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return AgentOutput(text)
        if isinstance(value, Mapping):
            only = value.get("answer") if set(value) == {"answer"} else None
            return AgentOutput(only, fields=AnswerFields(only.strip())) if isinstance(only, str) else as_output(value)
        return AgentOutput(value if isinstance(value, str) else text)


def endpoint_of(service: Service, agent: str | AgentIn, *, name: str, version: str) -> Endpoint:
    """The endpoint that a request means.

    Args:
        service: Knows the named agents and the allow-list.
        agent: A name, or an endpoint of the caller's.
        name: The agent's name in the history, where the caller gives one.
        version: Its version there.

    Raises:
        ServiceError: No agent has that name, or the address is not allowed.
    """
    if isinstance(agent, str):
        known = service.settings.agents.get(agent)
        if known is None:
            names = ", ".join(sorted(service.settings.agents)) or "none"
            raise ServiceError(400, f"no agent {agent!r}; the settings have {names}", "unknown_agent", param="agent")
        return _named(service, agent, known, name, version)
    if agent.protocol == "chat" and not agent.model:
        raise ServiceError(400, "agent.model: a chat endpoint needs a model", "invalid_request", param="agent.model")
    try:
        service.allow.check(agent.url)
    except BlockedAddressError as problem:
        raise ServiceError(
            403, str(problem), "address_not_allowed", type="permission_error", param="agent.url"
        ) from None
    return Endpoint(
        name=name or urlsplit(agent.url).hostname or "agent",
        version=version,
        url=agent.url,
        protocol=agent.protocol,
        model=agent.model,
        system=agent.system,
        parameters=agent.parameters,
        authorization=None if agent.authorization is None else agent.authorization.get_secret_value(),
        headers={},
        client=service.guarded,
    )


def _named(service: Service, key: str, known: AgentSettings, name: str, version: str) -> Endpoint:
    return Endpoint(
        name=name or key,
        version=version or known.version,
        url=known.url,
        protocol=known.protocol,
        model=known.model,
        system=known.system,
        parameters=known.parameters,
        authorization=None if known.key is None else f"Bearer {known.key}",
        headers=known.own_headers,
        client=service.http,
    )
