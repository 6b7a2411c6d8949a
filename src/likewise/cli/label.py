"""`likewise label`: pairs of actions in, a relation for each distinct pair out, for more pairs than memory holds."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from likewise.cli.errors import ExitCode, plain_errors, say
from likewise.cli.judge_options import JudgeOptions, judge_from_options
from likewise.cli.option_groups import takes_groups
from likewise.cli.options import (
    AsJson,
    Debug,
    Format,
    MapFile,
    Quiet,
    RulesAndStore,
    Strict,
)
from likewise.cli.targets import STANDARD_OUTPUT, check_targets

if TYPE_CHECKING:
    from likewise.core.protocols import Judge, Progress
    from likewise.report.label_lines import LabelSummary
    from likewise.scoring.label import Labeller
    from likewise.scoring.label_sources import LabelInput

__all__ = ["label"]


class Engine(StrEnum):
    """Where the judge works."""

    LOCAL = "local"
    RAY = "ray"


@plain_errors
@takes_groups
def label(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Recorded runs (files or folders), or JSONL with a pair of texts a line; addresses (s3://) too.",
            metavar="FILES",
            show_default=False,
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            help="Write JSONL to this file (.gz: packed) or address; - for standard output.",
            metavar="FILE",
        ),
    ],
    *,
    engine: Annotated[Engine, typer.Option(help="Judge in this process, or on a Ray cluster.")] = Engine.LOCAL,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Cores (local) or Ray actors that judge; all there are if not given.", metavar="NUMBER", min=1
        ),
    ] = None,
    settle_by_classes: Annotated[
        bool,
        typer.Option("--settle-by-classes", help="If A=B and B~C, take A~C as settled. Saves judging, changes labels."),
    ] = False,
    judging: JudgeOptions,
    format: Format = None,
    map_file: MapFile = None,
    strict: Strict = False,
    kept: RulesAndStore,
    quiet: Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Label each distinct pair of actions: equivalent, neutral or contradictory, with probabilities, or a reason.

    Pairs are the actions of all pairs of runs of a task, turn by turn, or the lines of a JSONL file: a and b,
    action_a and action_b, or premise and hypothesis. Memory does not grow with the number of pairs.

    Judgements are kept in the label store: the same command goes on where it was stopped. The file is written when
    all labels are there.
    """
    del debug
    _check(files, out, kept.store, as_json)
    _check_engine(judging.judge, engine, workers)
    from likewise.cli.progress import progress_display
    from likewise.scoring.label import Labeller
    from likewise.scoring.label_sources import label_input
    from likewise.scoring.stored_judge import StoredJudge
    from likewise.scoring.tool_inventory import logged_hints

    rules = kept.rules(quiet=quiet)
    progress = progress_display(quiet)
    make = partial(judge_from_options, judging, quiet=quiet)
    with (
        label_input(files, format=format, mapping=map_file, strict=strict, progress=progress) as source,
        _judge(judging.judge, make, engine, workers) as (asked, chunk),
        kept.open_store() as label_store,
    ):
        hints = logged_hints(source.rollouts)
        labeller = Labeller(StoredJudge(asked, label_store), rules.with_hints(hints), by_classes=settle_by_classes)
        summary = _run(source, labeller, chunk, out, progress)
    _show(summary, quiet, as_json)


def _check(files: list[str], out: str, store: Path | None, as_json: bool) -> None:
    """Refuse what would only come to light when the work is done."""
    from likewise.backends.remote_files import check_address, is_address

    if STANDARD_OUTPUT in files:
        raise typer.BadParameter("standard input is not read; name a file (with `< FILE`, /dev/stdin is one)")
    if out == STANDARD_OUTPUT and as_json:
        raise typer.BadParameter(
            "both go to standard output; name a file for the labels", param_hint="--out and --json"
        )
    if store is not None and re.match(r"\w{2,}:/", store.as_posix()):
        raise typer.BadParameter("the label store is a file of this machine", param_hint="--store")
    if is_address(out):
        check_address(out)
    else:
        check_targets({"--out": out}, [Path(path) for path in files if not is_address(path)])


def _check_engine(judge: str, engine: Engine, workers: int | None) -> None:
    if engine is Engine.RAY and judge.startswith(("llm", "cascade")):
        raise typer.BadParameter(
            "a chat model works elsewhere already; --parallel says how many requests are under way",
            param_hint="--engine ray with --judge",
        )
    if engine is Engine.LOCAL and workers is not None and judge != "embedded":
        raise typer.BadParameter("counts cores of the embedded judge, or Ray actors", param_hint="--workers")


@contextmanager
def _judge(name: str, make: Callable[[], Judge], engine: Engine, workers: int | None) -> Iterator[tuple[Judge, int]]:
    """The judge, and how many pairs it should be asked for at once."""
    from likewise.backends import judges

    if engine is Engine.LOCAL:
        from likewise.scoring.label_stream import CHUNK

        yield judges.embedded_judge(workers) if name == "embedded" else make(), CHUNK
        return
    from likewise.backends.ray_judge import CHUNK, RayJudge

    there = partial(judges.embedded_judge, 1) if name == "embedded" else partial(judges.judge_from_name, name)
    with RayJudge(there, workers) as judge:
        yield judge, CHUNK


def _run(source: LabelInput, labeller: Labeller, chunk: int, out: str, progress: Progress) -> LabelSummary:
    from likewise.core.protocols import Accountable, no_progress
    from likewise.report.label_lines import LabelSummary, label_line
    from likewise.scoring.label_stream import StreamCounts, label_signature, label_stream

    judge = labeller.judge.judge
    counts, signature, began = StreamCounts(), label_signature(labeller), monotonic()
    total = None if progress is no_progress else source.count()  # counting the lines of a file takes a reading
    with _lines_to(out) as write, progress("labelling pairs", total) as task:
        for settled in label_stream(source, labeller, chunk=chunk, progress=task, counts=counts):
            write(label_line(settled, signature))
        seconds = monotonic() - began
        if not counts.distinct:
            say(
                "error: there is no pair to label: no task has two runs that can be scored; `likewise inspect` says why"
            )
            raise typer.Exit(ExitCode.INPUT)
    return LabelSummary(
        signature=signature,
        counts=counts,
        from_store=labeller.judge.from_store,
        from_judge=labeller.judge.from_judge,
        by_class=labeller.by_class,
        excluded=source.excluded_count,
        warnings=source.warnings,
        notes=judge.account() if isinstance(judge, Accountable) else (),
        seconds=seconds,
        out=out,
    )


@contextmanager
def _lines_to(out: str) -> Iterator[Callable[[str], None]]:
    """Takes lines; a file or address is written at the end of the context, unless an error ends it."""
    if out == STANDARD_OUTPUT:
        yield lambda line: typer.echo(line)
        return
    from likewise.backends.remote_files import is_address, publish
    from likewise.report.label_lines import spooled_lines
    from likewise.report.write import copy_atomically

    elsewhere = is_address(out) or (Path(out).exists() and not Path(out).is_file())
    with spooled_lines(None if elsewhere else Path(out).absolute().parent, packed=out.endswith(".gz")) as lines:
        yield lines.write
        lines.close()
        if is_address(out):
            publish(lines.content, out)
        else:
            copy_atomically(lines.content, out)


def _show(summary: LabelSummary, quiet: bool, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(summary.as_json(), indent=2))
    elif not quiet:
        from rich.console import Console

        from likewise.report.label_table import render_label_summary

        render_label_summary(summary, Console(file=sys.stderr if summary.out == STANDARD_OUTPUT else sys.stdout))
        if summary.out != STANDARD_OUTPUT:
            say(f"wrote {summary.out}")
    if not summary.counts.relations:  # labels of nothing must not pass in CI
        say("error: no pair could be labelled")
        raise typer.Exit(ExitCode.BACKEND)
