"""Options that name the judge, for every command that judges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from likewise.cli.errors import say
from likewise.cli.options import finite

if TYPE_CHECKING:
    from likewise.core.protocols import Judge

__all__ = [
    "AnswerTokens",
    "InputPrice",
    "JudgeName",
    "JudgeOptions",
    "JudgeUrl",
    "MaxCost",
    "OutputPrice",
    "Parallel",
    "SureFrom",
    "Swap",
    "Timeout",
    "UncertainBelow",
    "finite",
    "judge_from_options",
]


def _base_url(url: str | None) -> str | None:
    """Refused under its own name, and not under that of the judge."""
    if url is not None:
        from likewise.backends.chat_client import checked_url

        try:
            checked_url(url)
        except ValueError as problem:
            raise typer.BadParameter(str(problem)) from None
    return url


JudgeName: TypeAlias = Annotated[
    str,
    typer.Option(
        "--judge",
        help="embedded (offline, English), hf:FOLDER or hf:HUB-ID (an NLI cross-encoder), llm:MODEL (a chat model; "
        "texts are sent to it), or cascade:llm:MODEL / cascade:hf:... (embedded, and where it is unsure the other).",
        metavar="NAME",
    ),
]
JudgeUrl: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--judge-url",
        help="Base URL of an OpenAI-compatible endpoint. Default: OPENAI_BASE_URL, else OpenAI's. The key is read from "
        "OPENAI_API_KEY only.",
        metavar="URL",
        callback=_base_url,
    ),
]
Parallel: TypeAlias = Annotated[
    int, typer.Option("--parallel", help="Requests to a chat model under way at once.", metavar="NUMBER", min=1)
]
Timeout: TypeAlias = Annotated[
    float,
    typer.Option(
        "--timeout",
        help="Seconds to wait for each answer of a chat model.",
        metavar="NUMBER",
        min=0.001,
        callback=finite,
    ),
]
AnswerTokens: TypeAlias = Annotated[
    int,
    typer.Option(
        "--answer-tokens",
        help="Longest answer of a chat model, hidden reasoning included.",
        metavar="NUMBER",
        min=1,
    ),
]
Swap: TypeAlias = Annotated[
    bool,
    typer.Option("--swap", help="Let a chat model read each pair twice, the second time with its sides exchanged."),
]
MaxCost: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--max-cost",
        help="Stop asking a chat model before this is spent; the pairs left are not measured. Needs both prices.",
        metavar="NUMBER",
        min=0.0,
        callback=finite,
    ),
]
InputPrice: TypeAlias = Annotated[
    float | None,
    typer.Option("--input-price", help="Price of a million tokens read.", metavar="NUMBER", min=0.0, callback=finite),
]
OutputPrice: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--output-price", help="Price of a million tokens written.", metavar="NUMBER", min=0.0, callback=finite
    ),
]
SureFrom: TypeAlias = Annotated[
    float,
    typer.Option(
        "--sure-from",
        help="Confidence from which the embedded judge decides in a cascade.",
        metavar="NUMBER",
        min=0.0,
        max=1.0,
        callback=finite,
    ),
]
UncertainBelow: TypeAlias = Annotated[
    float,
    typer.Option(
        "--uncertain-below",
        help="Confidence below which a judgement is listed as uncertain.",
        metavar="NUMBER",
        min=0.0,
        max=1.0,
        callback=finite,
    ),
]


@dataclass(frozen=True)
class JudgeOptions:
    """What every command that judges takes to say which judge, and what it may cost."""

    judge: JudgeName = "embedded"
    judge_url: JudgeUrl = None
    parallel: Parallel = 8
    timeout: Timeout = 60.0
    answer_tokens: AnswerTokens = 600
    swap: Swap = False
    max_cost: MaxCost = None
    input_price: InputPrice = None
    output_price: OutputPrice = None
    sure_from: SureFrom = 0.9


def judge_from_options(given: JudgeOptions, *, quiet: bool) -> Judge:
    """The judge that the options name; says where texts are sent, if anywhere.

    Raises:
        BadParameter: A name or a combination of options that cannot be.
        BackendError: The judge cannot be loaded, or is refused.
        MissingExtraError: A library that it needs is not installed.
    """
    from likewise.backends.budget import Budget
    from likewise.backends.chat_client import ChatSettings
    from likewise.backends.judges import JudgeSettings, judge_from_name

    if given.max_cost is not None and None in (given.input_price, given.output_price):
        raise typer.BadParameter(
            "what a call costs is not known; give --input-price and --output-price, per million tokens",
            param_hint="--max-cost",
        )
    try:
        settings = JudgeSettings(
            ChatSettings(given.judge_url, timeout=given.timeout, answer_tokens=given.answer_tokens),
            given.parallel,
            given.swap,
            Budget(given.input_price, given.output_price, given.max_cost),
            given.sure_from,
        )
        judge = judge_from_name(given.judge, settings)
    except ValueError as problem:
        raise typer.BadParameter(str(problem), param_hint="--judge") from None
    endpoint = getattr(judge, "endpoint", None)
    if endpoint and not quiet:
        say(f"texts of the runs are sent to {endpoint}")
    return judge
