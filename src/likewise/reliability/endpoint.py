"""An OpenAI-compatible chat endpoint as an agent: k samples by one request where the endpoint can, else by k."""

from __future__ import annotations

import os
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from likewise.backends.chat_client import checked_url
from likewise.core.errors import MissingExtraError
from likewise.core.rollout import JsonValue
from likewise.reliability.fields import response_format
from likewise.reliability.runs import AgentOutput, Usage, as_output

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["Endpoint", "EndpointError"]


_MESSAGE_CAP = 400
"""Characters of what an endpoint says that an error repeats."""
MOST_BYTES = 32 * 2**20
"""Of one response: more than the longest outputs that are read, for all samples of a request."""


class _TooLongError(ValueError):
    """A response of more than MOST_BYTES."""


class EndpointError(RuntimeError):
    """An endpoint gave no answer; `status_code` and `response` as in the client's own errors, for the retries."""

    def __init__(self, message: str, status_code: int | None, response: object, retryable: bool | None) -> None:
        """Keep what tells whether another try can help."""
        super().__init__(message)
        self.status_code, self.response, self.retryable = status_code, response, retryable


class Endpoint:
    """One model of one endpoint (OpenAI, Groq, Ollama, vLLM and others, by their base URL).

    The key is read from OPENAI_API_KEY, or from the variable that `key_variable` names; it is never kept in a verdict.
    """

    def __init__(
        self,
        model: str,
        url: str | None = None,
        *,
        system: str | None = None,
        structured: bool = False,
        parameters: Mapping[str, Any] | None = None,
        key_variable: str = "OPENAI_API_KEY",
        by_n: bool = True,
    ) -> None:
        """Name the model.

        Args:
            model: The endpoint's name for it.
            url: Base URL; OPENAI_BASE_URL, else OpenAI's own, where None.
            system: A system message.
            structured: Ask for fields by JSON schema; given up for good where the endpoint refuses it.
            parameters: Further parts of the request (temperature, max_tokens, tools).
            key_variable: Environment variable that holds the key.
            by_n: Try `n=` for several samples.

        Raises:
            MissingExtraError: The official client is not installed.
            ValueError: A parameter that the layer sets itself, or a URL (OPENAI_BASE_URL's, too) that is none or holds
                a secret.
        """
        try:
            import openai  # noqa: F401 - the one place that finds out
        except ImportError as problem:
            raise MissingExtraError("an endpoint as agent", "llm") from problem
        taken = {"n", "model", "messages", "stream"} & set(parameters or {})
        if taken:
            raise ValueError(f"{', '.join(sorted(taken))}: set by the layer, not by parameters")
        self.model = model
        given = url if url is not None else os.environ.get("OPENAI_BASE_URL") or None
        self.url = None if given is None else checked_url(given, key_variable)
        self._system, self._structured = system, structured
        self._parameters = dict(parameters or {})
        self._key_variable = key_variable
        self.by_n = by_n

    def _client(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        key = os.environ.get(self._key_variable, "").strip() or "none"  # local servers take any
        # No retries and no time-out here: the runner has both, and one clock for them.
        http = DefaultAsyncHttpxClient(verify=_trusted(), event_hooks={"response": [_bound]})
        return AsyncOpenAI(api_key=key, base_url=self.url, max_retries=0, timeout=None, http_client=http)

    def _messages(self, query: Any) -> list[Any]:  # noqa: ANN401 - text, or a list of messages
        messages = [{"role": "user", "content": query}] if isinstance(query, str) else [dict(m) for m in query]
        if self._system is not None:
            messages.insert(0, {"role": "system", "content": self._system})
        return messages

    async def sample(self, query: Any, count: int) -> Sequence[AgentOutput]:  # noqa: ANN401 - as in _messages
        """`count` samples for one query (a text, or a list of messages), or one where the endpoint takes no `n`.

        Raises:
            EndpointError: The endpoint gave none.
        """
        async with self._client() as client:
            several = self.by_n and count > 1
            try:
                completion = await self._ask(client, query, count if several else 1)
            except EndpointError as problem:
                if not several or problem.status_code not in (400, 404, 422, 501):
                    raise
                completion = await self._ask(client, query, 1)
                self.by_n = False
        outputs = _outputs(completion)
        if several and len(outputs) < count:
            self.by_n = False  # it takes `n` and heeds it not: no use to ask again
        return outputs

    async def _ask(self, client: AsyncOpenAI, query: Any, count: int) -> Any:  # noqa: ANN401 - the client's types vary
        import openai

        body: dict[str, Any] = dict(self._parameters) | ({"n": count} if count > 1 else {})
        if self._structured:
            body.setdefault("response_format", response_format())
        try:
            return await client.chat.completions.create(model=self.model, messages=self._messages(query), **body)
        except openai.BadRequestError as refusal:
            if not self._structured or "response_format" not in str(refusal):
                raise self._told(refusal) from None
        except (openai.OpenAIError, ValueError) as problem:  # a body that is no JSON is a ValueError
            raise self._told(problem) from None
        self._structured = False  # it takes no schema: the tolerant parser reads what comes
        return await self._ask(client, query, count)

    def _told(self, problem: Exception) -> EndpointError:
        """The same without the key, should the endpoint repeat it: failures are kept in the audit trail."""
        key = os.environ.get(self._key_variable, "").strip()
        too_long = isinstance(problem.__cause__, _TooLongError)
        words = " ".join(str(problem.__cause__ if too_long else problem).split())
        words = (words.replace(key, "***") if len(key) > 3 else words)[:_MESSAGE_CAP]
        retryable = not too_long and type(problem).__name__ in ("APIConnectionError", "APITimeoutError")
        return EndpointError(
            f"{self.url or 'OpenAI'}: {words or type(problem).__name__}",
            getattr(problem, "status_code", None),
            getattr(problem, "response", None),
            True if retryable else None,
        )


async def _bound(response: Any) -> None:  # noqa: ANN401 - of the HTTP library that the client brings, whichever it is
    """Let a response's body end with an error where it is too long: a run's memory is not the endpoint's to fill."""
    stream = response.stream
    kind: Any = next(each for each in type(stream).__mro__ if each.__name__ == "AsyncByteStream")

    class Bounded(kind):  # type: ignore[misc]
        async def __aiter__(self) -> AsyncIterator[bytes]:
            read = 0
            async for piece in stream:
                read += len(piece)
                if read > MOST_BYTES:
                    raise _TooLongError(f"a response of more than {MOST_BYTES // 2**20} MiB")
                yield piece

        async def aclose(self) -> None:
            await stream.aclose()

    response.stream = Bounded()


@lru_cache(maxsize=1)
def _trusted() -> ssl.SSLContext:
    """The certificates that the client trusts by default, read once: reading them takes longer than a local answer."""
    if os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR"):
        return ssl.create_default_context()
    try:
        import certifi
    except ImportError:  # clients that trust the system's certificates bring none
        return ssl.create_default_context()
    return ssl.create_default_context(cafile=certifi.where())


_CUTS = {
    "length": "it reached the most tokens that were allowed (finish_reason length); allow more",
    "content_filter": "the endpoint's filter took a part of it (finish_reason content_filter)",
}


def _outputs(completion: Any) -> list[AgentOutput]:  # noqa: ANN401 - whatever the endpoint sent
    """One output a choice. The request's tokens are entered once: read with the first choice, written shared out."""
    choices = getattr(completion, "choices", None) or []
    usage = getattr(completion, "usage", None)
    read, written = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
    outputs = []
    for i, choice in enumerate(choices):
        message = choice.message
        calls = [call.model_dump() for call in (getattr(message, "tool_calls", None) or [])]
        text = message.content or getattr(message, "refusal", None) or ""
        output = as_output({"content": text, "tool_calls": calls})
        share = None if written is None else written // len(choices) + (i < written % len(choices))
        tokens = Usage(read if i == 0 or read is None else 0, share)
        meta: dict[str, JsonValue] = {
            "finish_reason": choice.finish_reason,
            "model": getattr(completion, "model", None),
            "response_id": getattr(completion, "id", None),
        }
        outputs.append(
            AgentOutput(output.text, output.tool_calls, None, tokens, meta, _CUTS.get(choice.finish_reason, ""))
        )
    return outputs
