"""`likewise run`: ask an agent several times a question, serve what holds, and say how far to trust it."""

from __future__ import annotations

import importlib
import json
import sys
import traceback
from contextlib import redirect_stdout
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.errors import ExitCode, plain_errors, say
from likewise.cli.judge_options import InputPrice, MaxCost, OutputPrice, finite
from likewise.cli.options import AgentEndpoint, AgentModel, AsJson, Debug, Quiet

if TYPE_CHECKING:
    from likewise.reliability.batch import Asked, Batch
    from likewise.reliability.layer import ReliabilityLayer

__all__ = ["FailOn", "finish", "load_function", "read_sources", "run"]


class FailOn(StrEnum):
    """From which decision on the command fails."""

    FLAG = "flag"
    REFUSE = "refuse"
    NEVER = "never"


@plain_errors
def run(
    agent: Annotated[
        str | None,
        typer.Option(
            help="The agent: a function of the query, sync or async, or an agent of a framework.",
            metavar="MODULE:FUNCTION",
        ),
    ] = None,
    endpoint: AgentEndpoint = None,
    model: AgentModel = None,
    structured: Annotated[
        bool, typer.Option("--structured", help="Ask the endpoint for fields: answer, findings, sources.")
    ] = False,
    temperature: Annotated[
        float | None, typer.Option(help="Temperature of the endpoint.", metavar="NUMBER", min=0.0, callback=finite)
    ] = None,
    query: Annotated[list[str] | None, typer.Option(help="A question; may be repeated.", metavar="TEXT")] = None,
    queries: Annotated[
        Path | None,
        typer.Option(help='JSON Lines: texts, or {"id": ..., "query": ..., "sources": {...}}.', metavar="FILE"),
    ] = None,
    source: Annotated[
        list[Path] | None,
        typer.Option(help="A text file that answers are checked against; may be repeated.", metavar="FILE"),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            "--runs", "-k", help="Runs a question: 3, adaptive up to 5, sequential up to 12.", metavar="NUMBER", min=2
        ),
    ] = None,
    mode: Annotated[str, typer.Option(help="standard, full, adaptive or sequential.", metavar="MODE")] = "standard",
    error: Annotated[
        float | None,
        typer.Option(help="Sequential: probability of naming the wrong mode; 0.1.", metavar="NUMBER", callback=finite),
    ] = None,
    deadline: Annotated[
        float, typer.Option(help="Seconds for all runs of a question.", metavar="NUMBER", min=0.001, callback=finite)
    ] = 120.0,
    parallel: Annotated[int, typer.Option(help="Questions under way at once.", metavar="NUMBER", min=1)] = 1,
    max_cost: MaxCost = None,
    input_price: InputPrice = None,
    output_price: OutputPrice = None,
    log: Annotated[
        Path | None,
        typer.Option(help="Audit log (JSON Lines) with all texts in full; added to, and gone on with.", metavar="FILE"),
    ] = None,
    rollouts: Annotated[
        Path | None, typer.Option(help="Write all runs as rollouts for `likewise report`.", metavar="FILE")
    ] = None,
    fail_on: Annotated[FailOn, typer.Option(help="From which decision on the exit code is 1.")] = FailOn.REFUSE,
    quiet: Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Run an agent several times a question, compare the answers, and serve, flag or refuse.

    likewise run --agent my_module:answer --query "..." -k 5 --mode adaptive
    likewise run --endpoint http://localhost:8000/v1 --model llama --queries questions.jsonl --log audit.jsonl
    """
    del debug
    asked = _queries(query, queries, source)
    if (agent is None) == (endpoint is None):
        raise typer.BadParameter("name the agent by --agent, or by --endpoint with --model")
    if (endpoint is None) != (model is None):
        raise typer.BadParameter("--endpoint and --model belong together")
    if max_cost is not None and None in (input_price, output_price):
        raise typer.BadParameter("--max-cost needs --input-price and --output-price")
    from likewise.backends.budget import Budget
    from likewise.cli.progress import progress_display
    from likewise.cli.targets import check_targets

    target = None if rollouts is None else str(rollouts)
    check_targets({"--rollouts": target}, [path for path in (queries, log) if path is not None])
    layer = _layer(runs, mode, error, deadline)
    with redirect_stdout(sys.stderr):  # what the agent prints is no part of what the command answers
        function = (
            load_function(agent) if agent is not None else _endpoint(str(endpoint), str(model), structured, temperature)
        )
    wrapped = layer.wrap(function, budget=Budget(input_price, output_price, max_cost))
    settings = {
        "agent": agent or f"{model} at {endpoint}",
        "structured": structured,
        "temperature": temperature,
        "mode": mode,
        "runs": runs,
        "error": error,
    }
    import anyio

    from likewise.reliability.batch import run_batch

    async def ask() -> Batch:
        show = progress_display(quiet or as_json)
        return await run_batch(wrapped, asked, settings, log=log, parallel=parallel, progress=show)

    if endpoint is not None and not quiet:
        say(f"questions are sent to {endpoint}")
    with redirect_stdout(sys.stderr):
        batch = anyio.run(ask)
    if batch.resumed and not quiet:
        say(f"{batch.resumed} of {len(asked)} verdicts were in {log} already")
    if rollouts is not None:
        _write_rollouts(batch, rollouts, quiet)
    finish([outcome.entry for outcome in batch.outcomes], fail_on, quiet=quiet, as_json=as_json)


def finish(entries: list[dict[str, Any]], fail_on: FailOn, *, quiet: bool, as_json: bool) -> None:
    """Show verdicts and end with the exit code that they call for."""
    if as_json:
        typer.echo(json.dumps({"schema": "likewise.verdicts/1", "verdicts": entries}, indent=2, allow_nan=False))
    elif not quiet:
        from rich.console import Console

        from likewise.report.verdict_table import render_verdicts

        render_verdicts(entries, Console())
    if all(entry.get("error") for entry in entries):
        if quiet or as_json:
            say(f"error: no query was answered: {entries[0]['error']}")
        raise typer.Exit(ExitCode.BACKEND)
    bad = {"refuse"} | ({"flag"} if fail_on is FailOn.FLAG else set())
    if fail_on is not FailOn.NEVER and any(entry.get("error") or entry["decision"] in bad for entry in entries):
        raise typer.Exit(ExitCode.THRESHOLD)


def _queries(query: list[str] | None, queries: Path | None, source: list[Path] | None) -> list[Asked]:
    from likewise.reliability.batch import Asked, read_queries

    if any(not text.strip() for text in query or ()):
        raise typer.BadParameter("a question is empty", param_hint="--query")
    sources = read_sources(source)
    asked = [Asked(text, text, sources or None) for text in dict.fromkeys(query or ())]
    for each in read_queries(queries) if queries is not None else ():
        asked.append(Asked(each.id, each.query, each.sources or sources or None))
    if not asked:
        raise typer.BadParameter("ask something: --query TEXT or --queries FILE")
    return asked


def read_sources(paths: list[Path] | None) -> dict[str, str]:
    """The texts that answers are checked against, by the name of their file."""
    from likewise.core.errors import RolloutFormatError

    sources: dict[str, str] = {}
    for path in paths or ():
        try:
            sources[str(path)] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise RolloutFormatError(str(path), "not UTF-8 text", expected="a text file as a source") from None
    return sources


def _layer(runs: int | None, mode: str, error: float | None, deadline: float) -> ReliabilityLayer:
    from likewise.reliability.layer import ReliabilityLayer
    from likewise.reliability.runner import RunSettings

    if error is not None and mode != "sequential":
        raise typer.BadParameter(
            f"only --mode sequential stops by a stated error; {mode} does not", param_hint="--error"
        )
    try:
        return ReliabilityLayer(
            runs, mode, error=0.1 if error is None else error, running=RunSettings(deadline=deadline)
        )
    except ValueError as problem:
        raise typer.BadParameter(str(problem)) from None


def load_function(name: str) -> Any:  # noqa: ANN401 - a user's object
    """The function that `module:function` names; modules of this folder are found too."""
    module_name, _, path = name.partition(":")
    if not module_name or not path:
        raise typer.BadParameter(
            f"{name!r} is not of the form module:function, as in my_agent:answer", param_hint="--agent"
        )
    found = _imported(module_name)
    try:
        for part in path.split("."):
            found = getattr(found, part)
    except AttributeError as problem:
        raise typer.BadParameter(f"{name!r}: {problem}", param_hint="--agent") from None
    from likewise.reliability.agents import as_agent

    try:
        as_agent(found)
    except TypeError as problem:
        raise typer.BadParameter(f"{name!r}: {problem}", param_hint="--agent") from None
    return found


def _imported(module_name: str) -> Any:  # noqa: ANN401 - a user's module
    """The module. Whatever its code raises or exits with is its own fault, and said to be so."""
    sys.path.insert(0, "")
    try:
        return importlib.import_module(module_name)
    except ImportError as problem:
        why = f"cannot be imported from this folder or the installed packages: {problem}"
    except (Exception, SystemExit) as problem:
        last = traceback.extract_tb(problem.__traceback__)[-1]
        where = "" if isinstance(problem, SyntaxError) else f" ({Path(last.filename).name}, line {last.lineno})"
        why = f"fails while it is imported: {type(problem).__name__}: {problem}{where}"
    raise typer.BadParameter(f"{module_name!r} {why}", param_hint="--agent")


def _endpoint(url: str, model: str, structured: bool, temperature: float | None) -> Any:  # noqa: ANN401 - an agent
    from likewise.reliability.endpoint import Endpoint

    parameters = {} if temperature is None else {"temperature": temperature}
    try:
        return Endpoint(model, url, structured=structured, parameters=parameters)
    except ValueError as problem:
        raise typer.BadParameter(str(problem), param_hint="--endpoint") from None


def _write_rollouts(batch: Batch, target: Path, quiet: bool) -> None:
    from likewise.formats.native import write_rollouts
    from likewise.reliability.recording import rollouts_of_entry

    found = [rollout for outcome in batch.outcomes for rollout in rollouts_of_entry(outcome.entry, outcome.asked.id)]
    write_rollouts(target, found)
    if not quiet:
        say(f"wrote {target}")
