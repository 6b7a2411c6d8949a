"""Agents that act in an environment: a chat model behind an OpenAI-compatible endpoint, or a function."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import urlsplit

import anyio.to_thread

from likewise.core.errors import BackendError, MissingExtraError
from likewise.core.rollout import Action, JsonValue
from likewise.formats.fields import FieldError
from likewise.formats.messages import read_messages

__all__ = ["Agent", "EndpointAgent", "FunctionAgent", "action_of"]

_TOLD = 300
"""Characters of what an endpoint says that an error repeats."""


class Agent(Protocol):
    """Gives the next action of a conversation."""

    @property
    def agent_id(self) -> str:
        """Names the agent and its settings."""
        ...

    async def act(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, JsonValue]]) -> Action:
        """The next action.

        Raises:
            Exception: The agent failed; the run is then recorded as failed.
            BackendError: It will fail for every run.
        """
        ...


def action_of(answer: object) -> Action:
    """What an agent gave as an action: a text, a chat message of the assistant, or an `Action`.

    Raises:
        ValueError: It is none of these.
    """
    if isinstance(answer, Action):
        return answer
    message = {"role": "assistant", "content": answer} if isinstance(answer, str) else answer
    if not isinstance(message, Mapping):
        raise ValueError(f"an agent gives a text, a message or an Action, not {type(answer).__name__}")
    try:
        turns = read_messages([{"role": "user", "content": ""}, {**message, "role": "assistant"}], "").turns
    except FieldError as problem:
        raise ValueError(f"the agent's message cannot be read: {problem}") from None
    return turns[0].action


class FunctionAgent:
    """A function of messages and tools, sync or async; a sync one runs in a thread."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        """Take the function and what it is called."""
        self._function, self._name = function, name

    @property
    def agent_id(self) -> str:
        """The name it was given."""
        return self._name

    async def act(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, JsonValue]]) -> Action:
        """Call it; see `Agent`."""
        if inspect.iscoroutinefunction(self._function):
            return action_of(await self._function(list(messages), list(tools)))
        answer = await anyio.to_thread.run_sync(self._function, list(messages), list(tools))
        return action_of(await answer if inspect.isawaitable(answer) else answer)


class EndpointAgent:
    """One model of one endpoint; the key is read from OPENAI_API_KEY, and kept nowhere."""

    def __init__(
        self, model: str, url: str | None = None, *, temperature: float = 1.0, timeout: float = 120.0, retries: int = 5
    ) -> None:
        """Check what can be checked without asking.

        Args:
            model: Its name at the endpoint.
            url: Base URL; OPENAI_BASE_URL, else OpenAI's own, where None.
            temperature: Of the sampling; RSD is about a policy as it acts, which is at 1 in the paper.
            timeout: Seconds to wait for each answer.
            retries: Further tries of a request that fails for a passing reason.

        Raises:
            ValueError: A URL that is none, or one with a secret in it.
            MissingExtraError: The official client is not installed.
        """
        try:
            import openai  # noqa: F401 - the one place that finds out
        except ImportError as problem:
            raise MissingExtraError("an endpoint as agent", "llm") from problem
        self._url = url or os.environ.get("OPENAI_BASE_URL") or None
        if self._url is not None:
            parts = urlsplit(self._url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError(f"{self._url!r} is no endpoint's URL (expected as in http://localhost:8000/v1)")
            if parts.username or parts.password or parts.query or parts.fragment:
                raise ValueError("an endpoint's URL with a user, a query or a fragment; the key is in OPENAI_API_KEY")
        self._model, self._temperature = model, temperature
        self._timeout, self._retries = timeout, retries

    @property
    def agent_id(self) -> str:
        """Model, endpoint and temperature."""
        return f"{self._model} at {self._url or 'OpenAI'}, temperature {self._temperature:g}"

    async def act(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, JsonValue]]) -> Action:
        """Ask for one completion; see `Agent`.

        Raises:
            BackendError: The endpoint refuses the key, or has no such model.
            RuntimeError: It gave no answer this time.
        """
        import openai

        key = os.environ.get("OPENAI_API_KEY", "").strip()
        body: dict[str, Any] = {"model": self._model, "messages": list(messages), "temperature": self._temperature}
        if tools:
            body["tools"] = list(tools)
        client = openai.AsyncOpenAI(
            api_key=key or "none",  # local servers take any
            base_url=self._url,
            timeout=self._timeout,
            max_retries=self._retries,
        )
        async with client:
            try:
                completion = await client.chat.completions.create(**body)
            except (openai.AuthenticationError, openai.NotFoundError, openai.PermissionDeniedError) as refusal:
                raise BackendError(f"{self.agent_id}: {_told(refusal, key)}") from None
            except (openai.OpenAIError, ValueError) as problem:  # a body that is no JSON is a ValueError
                raise RuntimeError(_told(problem, key)) from None
        choices = getattr(completion, "choices", None)
        if not choices:
            raise RuntimeError("the endpoint answered no chat completion")
        message = choices[0].message
        calls = [call.model_dump() for call in (getattr(message, "tool_calls", None) or [])]
        said = message.content or getattr(message, "refusal", None) or ""
        return action_of({"content": said, **({"tool_calls": calls} if calls else {})})


def _told(problem: Exception, key: str) -> str:
    """What an error says, on one line, without the key."""
    words = " ".join(str(problem).split())
    return (words.replace(key, "***") if len(key) > 3 else words)[:_TOLD] or type(problem).__name__
