"""Whether an OpenAI-compatible endpoint answers: asked for its models, with the client that judges would use."""

from __future__ import annotations

import os

from likewise.backends.chat_client import checked_url

__all__ = ["ask_endpoint"]

CAP = 200
"""Characters of what an endpoint says that are repeated."""


def ask_endpoint(url: str, seconds: float) -> tuple[str, str]:
    """Ask for the list of models.

    Args:
        url: Base URL.
        seconds: Longest wait.

    Returns:
        What was found, and what to do; "" for the second where all is well.
    """
    try:
        url = checked_url(url)
    except ValueError as problem:
        return str(problem), "set OPENAI_BASE_URL to a base URL, as in http://localhost:8000/v1"
    try:
        import openai
    except ImportError:
        return f"{url} cannot be asked: the client is not installed", "pip install 'likewise[llm]'"
    key = os.environ.get("OPENAI_API_KEY", "").strip()
    client = openai.OpenAI(api_key=key or "none", base_url=url, timeout=seconds, max_retries=0)
    try:
        with client:
            models = [str(model.id) for model in client.models.list().data]
    except openai.APIStatusError as refusal:
        return _refused(url, refusal.status_code, bool(key))
    except openai.APITimeoutError:
        return f"{url} gave no answer within {seconds:g} s", "see that it runs and is not overloaded"
    except openai.APIConnectionError as problem:
        words = _short(problem.__cause__ or problem, key)
        return f"{url} cannot be reached ({words})", "see that it runs, and that OPENAI_BASE_URL names it rightly"
    except (openai.OpenAIError, ValueError, TypeError, AttributeError) as problem:  # no JSON, or of another form
        return f"{url} answers, but with no list of models ({_short(problem, key)})", _PATH
    return _models(url, models)


_PATH = "see that the base URL has its path, mostly /v1"


def _refused(url: str, status: int, key: bool) -> tuple[str, str]:
    if status in (401, 403):
        words = "refuses the key" if key else "wants a key"
        return f"{url} {words} ({status})", "set OPENAI_API_KEY to a key of this endpoint"
    if status == 404:
        return f"{url} has no list of models (404)", _PATH
    return f"{url} answers {status}", "see its own log; the request was a plain GET of /models"


def _models(url: str, models: list[str]) -> tuple[str, str]:
    wanted = os.environ.get("LIKEWISE_LLM", "").strip()
    if wanted and wanted not in models:
        return f"{url} answers, but has no model {wanted!r}", f"set LIKEWISE_LLM to one of: {', '.join(models[:5])}"
    return f"{url} answers; {len(models)} model(s)", ""


def _short(problem: BaseException, key: str) -> str:
    words = " ".join(str(problem).split()) or type(problem).__name__
    return (words.replace(key, "***") if key else words)[:CAP]
