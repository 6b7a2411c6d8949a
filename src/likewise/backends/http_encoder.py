"""An encoder behind an embeddings endpoint: OpenAI-compatible, or Cohere's (v2)."""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from jaxtyping import Float32

from likewise.core.errors import BackendError

__all__ = ["HttpEncoder"]

URLS = {"openai": "https://api.openai.com/v1", "cohere": "https://api.cohere.com/v2"}
KEYS = {"openai": "OPENAI_API_KEY", "cohere": "COHERE_API_KEY"}
BATCH = 64
TRIES = 4
PASSING = {408, 409, 429, 500, 502, 503, 504}
LARGEST_ANSWER = 50_000_000
TIMEOUT = 60.0


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - the library's own
        """Follow nothing: the key would go with it."""


class HttpEncoder:
    """One model of one endpoint; the key comes from the environment and from nowhere else."""

    def __init__(self, kind: str, model: str, url: str | None = None, wait: float = 1.0) -> None:
        """Check what can be checked without asking.

        Args:
            kind: "openai" or "cohere".
            model: The model's name.
            url: Base URL; the provider's own where None.
            wait: Seconds before the second try, doubled for each further one.

        Raises:
            ValueError: A name or a URL that cannot be one.
            BackendError: There is no key, and the endpoint is the provider's own.
        """
        if not model or not model.isprintable() or any(c.isspace() or c == "|" for c in model):
            raise ValueError(f"{model!r} is no model's name")
        default = os.environ.get("OPENAI_BASE_URL") if kind == "openai" else None
        self._url = (url or default or URLS[kind]).rstrip("/")
        parts = urlsplit(self._url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
            raise ValueError(
                "the URL of an embeddings endpoint is http(s)://host/..., without a name or password in it"
            )
        self._kind, self._model, self._wait = kind, model, wait
        self._key = os.environ.get(KEYS[kind], "").strip()
        if not self._key and self._url == URLS[kind]:
            raise BackendError(
                f"{kind}:{model} needs a key: set {KEYS[kind]}, or name another endpoint with --encoder-url"
            )
        self._opener = urllib.request.build_opener(_NoRedirect)

    @property
    def endpoint(self) -> str:
        """Where texts are sent."""
        return self._url

    @property
    def encoder_id(self) -> str:
        """Provider and model; an endpoint may change what a name means, which nobody can see from here."""
        return f"{self._kind}-{self._model}"

    def encode(self, texts: Sequence[str]) -> Float32[np.ndarray, "texts dimensions"]:
        """One unit vector a text.

        Raises:
            BackendError: The endpoint does not answer, refuses, or answers something else than one vector a text.
        """
        rows: list[list[float]] = []
        for start in range(0, len(texts), BATCH):
            # An endpoint refuses the empty text; a space says as little.
            rows += self._ask([text or " " for text in texts[start : start + BATCH]])
        try:
            found = np.array(rows, dtype=np.float32)
        except ValueError:
            raise BackendError(f"{self._place}: vectors of different widths") from None
        norms = np.linalg.norm(found, axis=1, keepdims=True) if found.ndim == 2 else np.zeros(1)
        if found.ndim != 2 or not np.isfinite(found).all() or not (norms > 0).all():
            raise BackendError(f"{self._place}: an answer that holds no vectors of finite numbers")
        return np.asarray(found / norms, dtype=np.float32)

    @property
    def _place(self) -> str:
        return f"{self._kind}:{self._model} at {self._url}"

    def _ask(self, texts: list[str]) -> list[list[float]]:
        body: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "float"}
        path = "/embeddings"
        if self._kind == "cohere":
            body = {"model": self._model, "texts": texts, "input_type": "clustering", "embedding_types": ["float"]}
            path = "/embed"
        answer = self._send(path, json.dumps(body).encode())
        try:
            if self._kind == "cohere":
                rows = answer["embeddings"]["float"]
            else:
                rows = [each["embedding"] for each in sorted(answer["data"], key=lambda each: each.get("index", 0))]
            vectors = [[float(number) for number in row] for row in rows]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise BackendError(f"{self._place}: the answer is no list of embeddings") from None
        if len(vectors) != len(texts):
            raise BackendError(f"{self._place}: {len(vectors)} vector(s) for {len(texts)} texts")
        return vectors

    def _send(self, path: str, body: bytes) -> Any:  # noqa: ANN401 - anything from JSON
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        for attempt in range(TRIES):
            request = urllib.request.Request(self._url + path, data=body, headers=headers, method="POST")
            try:
                with self._opener.open(request, timeout=TIMEOUT) as response:
                    return json.loads(response.read(LARGEST_ANSWER))
            except urllib.error.HTTPError as problem:
                said = problem.read(300).decode("utf-8", "replace").replace(self._key or "\0", "***")
                fault = f"{self._place}: HTTP {problem.code} {said}"
                if problem.code not in PASSING:
                    raise BackendError(fault) from None
            except (OSError, ValueError) as problem:
                fault = f"{self._place}: {problem}"
            if attempt < TRIES - 1:
                time.sleep(self._wait * 2**attempt)
        raise BackendError(fault)
