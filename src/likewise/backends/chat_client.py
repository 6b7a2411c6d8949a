"""A chat model behind any OpenAI-compatible endpoint, through the official client, asked for JSON of one form.

The client brings the retries: 408, 409, 429, 5xx, time-outs and broken connections, with growing waits, or the wait
that the endpoint names (Retry-After, up to two minutes). What endpoints disagree on, the form of the answer above all,
is settled with the first request.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from likewise.core.errors import BackendError, MissingExtraError

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI
    from openai.types.chat import ChatCompletionMessageParam

__all__ = ["OPENAI_URL", "Chat", "ChatAnswer", "ChatClient", "ChatSettings", "checked_url"]

OPENAI_URL = "https://api.openai.com/v1"
DOWN_AFTER = 3
"""Requests in a row that fail, each after all its retries, until the endpoint is taken to be down."""
MESSAGE_CAP = 300
"""Characters of what an endpoint says that an error repeats."""
ANSWER_CAP = 50_000
"""Characters of an answer that are looked at and kept."""


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """How to reach an endpoint.

    Attributes:
        url: Base URL; OPENAI_BASE_URL, else OpenAI's own, where None.
        timeout: Seconds to wait for each answer.
        retries: Further tries of a request that fails for a passing reason.
        answer_tokens: Longest answer, hidden reasoning included.
        temperature: Of the answers; above 0 where several answers to one question are to differ.
    """

    url: str | None = None
    timeout: float = 60.0
    retries: int = 5
    answer_tokens: int = 600
    temperature: float = 0.0


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """What came back for one request.

    Attributes:
        text: The model's words; whatever the endpoint said where it gave none; "" where it said nothing.
        problem: Why there is no answer; None where `text` is one.
        cut: Whether the answer ended at the limit of its length.
        input_tokens: Tokens read, as the endpoint counts them; None where it does not say.
        output_tokens: Tokens written, likewise.
        may_cost: Whether a request without an answer may have been charged all the same.
    """

    text: str
    problem: str | None = None
    cut: bool = False
    input_tokens: int | None = None
    output_tokens: int | None = None
    may_cost: bool = False


@dataclass(frozen=True, slots=True)
class _Dialect:
    """The optional parts of a request. Each step leaves out one that the endpoint does not take."""

    form: int = 0  # strict schema, any JSON, whatever comes
    limit: str | None = "max_tokens"
    temperature: bool = True

    def parameters(self, name: str, schema: Mapping[str, Any], settings: ChatSettings) -> dict[str, Any]:
        """The optional part of the request's body."""
        forms: tuple[dict[str, Any] | None, ...] = (
            {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}},
            {"type": "json_object"},
            None,
        )
        body: dict[str, Any] = {} if forms[self.form] is None else {"response_format": forms[self.form]}
        if self.limit is not None:
            body[self.limit] = settings.answer_tokens
        if self.temperature:
            body["temperature"] = settings.temperature
        return body

    def step(self, complaint: str, guess: bool) -> _Dialect | None:
        """The next to try after a refusal: without what the complaint names, else (`guess`) without the likeliest."""
        if self.limit is not None and self.limit in complaint:
            return replace(self, limit="max_completion_tokens" if self.limit == "max_tokens" else None)
        if self.temperature and "temperature" in complaint:
            return replace(self, temperature=False)
        if self.form < 2 and (guess or "response_format" in complaint or "json_schema" in complaint):
            return replace(self, form=self.form + 1)
        if self.temperature and guess:
            return replace(self, temperature=False)
        return replace(self, limit=None) if self.limit is not None and guess else None


class ChatClient:
    """One model of one endpoint, asked for answers of one JSON schema."""

    def __init__(self, model: str, schema_name: str, schema: Mapping[str, Any], settings: ChatSettings) -> None:
        """Check what can be checked without asking; the key comes from OPENAI_API_KEY and from nowhere else.

        Raises:
            ValueError: A model's name or a URL that cannot be one.
            BackendError: There is no key, and the endpoint is OpenAI's own.
            MissingExtraError: The official client is not installed.
        """
        try:
            import openai  # noqa: F401 - the one place that finds out
        except ImportError as problem:
            raise MissingExtraError("a chat model as judge", "llm") from problem
        if not model or not model.isprintable() or any(c.isspace() or c == "|" for c in model):
            raise ValueError(f"{model!r} is no model's name")
        self.model, self._settings = model, settings
        self.url = checked_url(settings.url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL)
        self._key = os.environ.get("OPENAI_API_KEY", "").strip()
        if not self._key and self.url.startswith(OPENAI_URL):
            raise BackendError(
                f"llm:{model} at {self.url} needs a key: set OPENAI_API_KEY, or name another endpoint with --judge-url"
            )
        self._schema_name, self._schema = schema_name, schema
        self._dialect, self._settled = _Dialect(), False
        self._failures = 0

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Chat]:
        """Connections for the running event loop, closed at the end."""
        from openai import AsyncOpenAI

        client = AsyncOpenAI(
            api_key=self._key or "none",  # local servers take any
            base_url=self.url,
            timeout=self._settings.timeout,
            max_retries=self._settings.retries,
        )
        async with client:
            yield Chat(self, client)

    async def ask(self, client: AsyncOpenAI, system: str, user: str) -> ChatAnswer:
        """One question; see `Chat.ask`."""
        import openai

        messages: list[ChatCompletionMessageParam] = [
            {"role": "system", "content": system},
            {"role": "user", "content": user},
        ]
        dialect = self._dialect
        patience = self._settings.timeout * (self._settings.retries + 1) + 120
        while True:
            body = dialect.parameters(self._schema_name, self._schema, self._settings)
            try:
                async with asyncio.timeout(patience):  # an endpoint that drips bytes passes every other limit
                    completion = await client.chat.completions.create(model=self.model, messages=messages, **body)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as refusal:
                following = dialect.step(_said(refusal), guess=not self._settled)
                if following is None:
                    return ChatAnswer("", f"the endpoint refused the request ({self._told(refusal)})")
                dialect = following
            except openai.APIStatusError as refusal:
                return self._refused(refusal)
            except (openai.APITimeoutError, TimeoutError):
                return self._failed(f"no answer within {self._settings.timeout:g} s", may_cost=True)
            except openai.APIConnectionError as problem:
                return self._failed(f"the connection failed ({self._told(problem.__cause__ or problem)})")
            except (openai.OpenAIError, ValueError) as problem:  # a body that is no JSON, or not of the API's form
                return self._failed(f"the endpoint answered no chat completion ({self._told(problem)})", may_cost=True)
            else:
                return self._read(completion, dialect)

    def _refused(self, refusal: APIStatusError) -> ChatAnswer:
        """A status that is no success, after all retries: fatal, passing, or the fault of this one request."""
        status, told = refusal.status_code, self._told(refusal)
        new = not self._settled  # later, a 403 or 404 is about one text: a firewall that dislikes what it says
        if status == 401 or (status == 403 and new):
            raise BackendError(f"llm:{self.model}: {self.url} refuses the key ({told}); set OPENAI_API_KEY")
        if status == 404 and new:
            raise BackendError(f"llm:{self.model}: {self.url} has no such model, or is no such endpoint ({told})")
        if status == 402 or getattr(refusal, "code", None) == "insufficient_quota":
            raise BackendError(f"llm:{self.model}: {self.url} wants to be paid ({told})")
        if status in (408, 409, 429) or status >= 500:
            return self._failed(f"the endpoint failed ({told})")
        return ChatAnswer("", f"the endpoint refused the request ({told})")

    def _failed(self, problem: str, *, text: str = "", may_cost: bool = False) -> ChatAnswer:
        self._failures += 1
        if self._failures >= DOWN_AFTER:
            raise BackendError(f"llm:{self.model}: {self.url} does not work: {problem}, {DOWN_AFTER} requests in a row")
        return ChatAnswer(text, problem, may_cost=may_cost)

    def _read(self, completion: object, dialect: _Dialect) -> ChatAnswer:
        choices = getattr(completion, "choices", None)
        message = getattr(choices[0], "message", None) if isinstance(choices, list) and choices else None
        if message is None:
            shown = self._safe(completion if isinstance(completion, str) else repr(completion))
            return self._failed("the endpoint answered no chat completion", text=shown, may_cost=True)
        self._failures = 0
        if not self._settled:
            self._dialect, self._settled = dialect, True
        usage = getattr(completion, "usage", None)
        read, written = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
        reason = getattr(choices[0], "finish_reason", None) if isinstance(choices, list) else None
        text, refusal = getattr(message, "content", None), getattr(message, "refusal", None)
        if refusal:
            return ChatAnswer(self._safe(str(refusal)), "the model refused to answer", False, read, written)
        if reason == "content_filter":
            return ChatAnswer(
                self._safe(str(text or "")), "the endpoint's filter held the answer back", False, read, written
            )
        cut = reason == "length"
        if not isinstance(text, str) or not text.strip():
            why = "an empty answer, cut at its longest; --answer-tokens allows more" if cut else "an empty answer"
            return ChatAnswer("", why, cut, read, written)
        return ChatAnswer(self._safe(text), None, cut, read, written)

    def _safe(self, text: str) -> str:
        """Without the key, should the endpoint repeat it, and no longer than anyone will read."""
        text = text.replace(self._key, "***") if self._key else text
        return text[:ANSWER_CAP]

    def _told(self, problem: BaseException) -> str:
        """What an error says, short, on one line, without the key."""
        status = getattr(problem, "status_code", None)
        words = " ".join(self._safe(_said(problem)).split())[:MESSAGE_CAP]
        return f"{status}: {words}" if status else words or type(problem).__name__


class Chat:
    """A connected client."""

    def __init__(self, client: ChatClient, connection: AsyncOpenAI) -> None:
        """Made by `ChatClient.connect`."""
        self._client, self._connection = client, connection

    async def ask(self, system: str, user: str) -> ChatAnswer:
        """One question, answered or with the reason why not.

        Raises:
            BackendError: The endpoint refuses the key, has no such model, wants to be paid, or is down: three requests
                in a row failed, each after all its retries.
        """
        return await self._client.ask(self._connection, system, user)


def checked_url(url: str, key_variable: str = "OPENAI_API_KEY") -> str:
    """An endpoint's base URL, which ids and messages repeat: it must hold no secret.

    Raises:
        ValueError: It is no http(s) URL, or has a user, a query or a fragment.
    """
    try:
        parts = urlsplit(url.strip())
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        secret = bool(parts.username or parts.password or parts.query or parts.fragment)
    except ValueError:  # a port or host that cannot be: what it may hold is not repeated either
        sound, secret = False, "@" in url or "?" in url or "#" in url
    if secret:
        raise ValueError(f"an endpoint's URL with a user, a query or a fragment; a key belongs in {key_variable}")
    if not sound:
        raise ValueError(f"{url!r} is no endpoint's URL (expected as in http://localhost:8000/v1)")
    return url.strip().rstrip("/")


def _count(usage: object, name: str) -> int | None:
    value = getattr(usage, name, None)
    return value if isinstance(value, int) and value >= 0 else None


def _said(problem: BaseException) -> str:
    """The endpoint's own message where there is one."""
    body = getattr(problem, "body", None)
    message = body.get("message") if isinstance(body, dict) else body
    return str(message or getattr(problem, "message", None) or problem)
