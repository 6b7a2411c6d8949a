"""The judges there are, by name."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from likewise.backends.action_judge import embedded_judge as _unguarded
from likewise.backends.budget import Budget
from likewise.backends.chat_client import ChatSettings
from likewise.backends.english_only import EnglishOnly
from likewise.backends.onnx_nli import embedded_nli as _directed
from likewise.core.protocols import Judge

__all__ = ["EMBEDDED", "FORMS", "JudgeSettings", "embedded_judge", "embedded_nli", "judge_from_name"]

EMBEDDED = "embedded"
FORMS = {
    EMBEDDED: "the judge in the package: offline, English",
    "hf:FOLDER": "a 3-class NLI cross-encoder: a local folder, or organisation/model of the Hugging Face hub",
    "llm:MODEL": "a chat model at an OpenAI-compatible endpoint: agents' texts are sent there",
    "cascade:JUDGE": "embedded first, JUDGE (hf:... or llm:...) where embedded is uncertain or the text is not English",
}
"""Forms of a judge's name and what they mean; `llm` and `cascade` alone take the chat model that LIKEWISE_LLM names."""


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """What a judge may need besides its name; each uses what concerns it.

    Attributes:
        chat: The endpoint of a chat model.
        parallel: Requests under way at once.
        swap: Whether a chat model reads each pair a second time with its sides exchanged.
        budget: Prices and limit of a chat model.
        sure_from: Confidence from which the first judge of a cascade decides.
    """

    chat: ChatSettings = field(default_factory=ChatSettings)
    parallel: int = 8
    swap: bool = False
    budget: Budget = field(default_factory=Budget)
    sure_from: float = 0.9


def embedded_judge(workers: int | None = None) -> Judge:
    """The judge that ships inside the package, asked for English only; `workers` as in `OnnxNli`."""
    return EnglishOnly(_unguarded(workers))


def embedded_nli(workers: int | None = None) -> Judge:
    """The NLI of the embedded judge alone, both directions, asked for English only; `workers` as in `OnnxNli`."""
    return EnglishOnly(_directed(workers))


def judge_from_name(name: str, settings: JudgeSettings | None = None) -> Judge:
    """The judge that a name means.

    Args:
        name: One of the forms in `FORMS`, as in "embedded", "hf:./my-model", "llm:gpt-4.1", "cascade:llm:gpt-4.1".
        settings: What the judge may need besides.

    Raises:
        ValueError: No judge has such a name, or a setting that cannot be.
        BackendError: The judge cannot be loaded, or is refused.
        MissingExtraError: A library that it needs is not installed.
    """
    settings = settings or JudgeSettings()
    model = os.environ.get("LIKEWISE_LLM", "").strip()
    if model and name.strip() in ("llm", "cascade"):
        name = {"llm": f"llm:{model}", "cascade": f"cascade:llm:{model}"}[name.strip()]
    kind, colon, rest = name.strip().partition(":")
    if kind == EMBEDDED and not colon:
        return embedded_judge()
    if kind == "hf" and rest:
        from likewise.backends.hf_nli import hf_judge

        return hf_judge(rest)
    if kind == "llm" and rest:
        from likewise.backends.llm_judge import LlmJudge

        return LlmJudge(rest, settings.chat, parallel=settings.parallel, swap=settings.swap, budget=settings.budget)
    if kind == "cascade" and rest.partition(":")[0] in ("hf", "llm"):
        from likewise.backends.cascade import Cascade

        return Cascade(embedded_judge(), judge_from_name(rest, settings), sure_from=settings.sure_from)
    if name.strip() in ("llm", "cascade"):
        raise ValueError(f"{name.strip()} needs a model, as in {name.strip()}:{'llm:' * (kind == 'cascade')}MODEL")
    chat = f"; the chat model {name.strip()} is llm:{name.strip()}" if name.strip() and not colon else ""
    raise ValueError(f"no judge {name!r}; there are {', '.join(FORMS)}{chat}")
