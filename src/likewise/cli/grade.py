"""`likewise grade`: progress of runs by a chat model that reads grading notes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from likewise.cli.errors import ExitCode, plain_errors, say
from likewise.cli.judge_options import AnswerTokens, InputPrice, JudgeUrl, OutputPrice, Parallel, Timeout
from likewise.cli.options import Debug, Format, MapFile, NoStore, Paths, Quiet, Store, Strict, finite, open_store
from likewise.cli.targets import check_targets

if TYPE_CHECKING:
    from likewise.backends.budget import Budget
    from likewise.backends.progress_judge import ProgressJudge, SubGoalQuestion
    from likewise.evaluation.grading_notes import Graded

__all__ = ["grade"]

SHOWN = 10
"""Problems that are told; the rest is counted."""


def _model(name: str) -> str:
    kind, _, model = name.partition(":")
    if kind != "llm" or not model:
        raise typer.BadParameter(f"{name!r} is no chat model; name one as in llm:gpt-4.1")
    return model


def _odd(votes: int) -> int:
    if votes % 2 == 0:
        raise typer.BadParameter("a majority takes an odd number of votes")
    return votes


@plain_errors
def grade(
    runs: Paths,
    notes: Annotated[
        Path, typer.Option("--notes", help='Sub-goals (TOML): [notes], "task id" = ["sentence", ...].', metavar="FILE")
    ],
    judge: Annotated[
        str,
        typer.Option("--judge", help="A chat model, llm:MODEL; runs are sent to it.", metavar="NAME", callback=_model),
    ],
    out: Annotated[str, typer.Option("--out", "-o", help="JSON Lines to write; .gz compresses.", metavar="FILE")],
    votes: Annotated[
        int, typer.Option(help="How often each sub-goal is asked about; odd.", metavar="NUMBER", min=1, callback=_odd)
    ] = 5,
    judge_url: JudgeUrl = None,
    parallel: Parallel = 8,
    timeout: Timeout = 60.0,
    answer_tokens: AnswerTokens = 600,
    max_cost: Annotated[
        float | None,
        typer.Option(
            help="Stop asking before this is spent; the sub-goals left are not graded. Needs both prices.",
            metavar="NUMBER",
            min=0.0,
            callback=finite,
        ),
    ] = None,
    input_price: InputPrice = None,
    output_price: OutputPrice = None,
    store: Store = None,
    no_store: NoStore = False,
    format: Format = None,
    map_file: MapFile = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write over a file that holds runs; never over one that is read.")
    ] = False,
    strict: Strict = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Give runs a progress curve: a chat model says after which turn each sub-goal of the notes was met.

    The runs are written as JSON Lines of likewise's own, for `likewise tables`, which then asks nobody. Votes are kept
    in the label store: the same command goes on where it was stopped, and asks nothing twice.
    Exit codes: 0 fine, 2 usage, 3 input unreadable, 4 the model does not work or could grade no run.
    """
    del debug
    check_targets({"--out": out}, runs, overwrite=force)
    from likewise.backends.chat_client import ChatSettings
    from likewise.backends.progress_judge import TEMPERATURE, ProgressJudge
    from likewise.backends.vote_table import VoteTable
    from likewise.cli.progress import progress_display
    from likewise.evaluation.grading_notes import grade_progress, questions_of, read_notes
    from likewise.formats.native import write_rollouts
    from likewise.formats.registry import read_rollouts

    wanted = read_notes(notes)
    budget = _budget(max_cost, input_price, output_price)
    progress = progress_display(quiet)
    rollouts = read_rollouts(runs, format=format, mapping=map_file, strict=strict, progress=progress)
    settings = ChatSettings(judge_url, timeout, answer_tokens=answer_tokens, temperature=TEMPERATURE)
    with open_store(store, no_store) as label_store:
        table = None if label_store is None else VoteTable(label_store)
        try:
            model = ProgressJudge(judge, settings, votes=votes, parallel=parallel, budget=budget, table=table)
        except ValueError as problem:
            raise typer.BadParameter(str(problem)) from None
        if not quiet:
            _announce(model, questions_of(rollouts, wanted))
        graded = grade_progress(rollouts, wanted, model, progress)
    _tell(graded, model, quiet)
    if not graded.graded:
        say("error: no run could be graded; nothing is written")
        raise typer.Exit(ExitCode.BACKEND)
    write_rollouts(out, graded.rollouts)
    if not quiet:
        left = f"; {len(graded.without_notes)} task(s) without notes stay as they were" if graded.without_notes else ""
        say(f"graded {graded.graded} of {len(graded.rollouts)} run(s){left}; wrote {out}")


def _budget(max_cost: float | None, input_price: float | None, output_price: float | None) -> Budget:
    from likewise.backends.budget import Budget

    if max_cost is not None and None in (input_price, output_price):
        raise typer.BadParameter(
            "what a call costs is not known; give --input-price and --output-price, per million tokens",
            param_hint="--max-cost",
        )
    return Budget(input_price, output_price, max_cost)


def _announce(model: ProgressJudge, questions: list[SubGoalQuestion]) -> None:
    known = model.known(questions)
    before = f" ({known} answer(s) known from before)" if known else ""
    what = f"{len(questions)} sub-goal(s) of runs, {model.votes} question(s) each{before}"
    say(f"{what}: runs are sent to {model.endpoint}")


def _tell(graded: Graded, model: ProgressJudge, quiet: bool) -> None:
    """What was not graded and why, and what the asking took."""
    for line in graded.problems[:SHOWN]:
        say(f"not graded: {line}")
    if len(graded.problems) > SHOWN:
        say(f"not graded: {len(graded.problems) - SHOWN} more")
    if model.over_budget:
        say("the budget is spent; with a higher --max-cost (and --force) the same command goes on from here")
    for line in () if quiet else model.account():
        say(line)
