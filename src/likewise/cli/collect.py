"""`likewise collect`: an agent in an environment, several times each task; rollouts out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from likewise.cli.errors import ExitCode, plain_errors, say
from likewise.cli.judge_options import finite
from likewise.cli.options import AgentEndpoint, AgentModel, AsJson, Debug, Quiet

__all__ = ["collect"]


@plain_errors
def collect(
    out: Annotated[Path, typer.Option("--out", "-o", help="File of runs (JSON Lines); gone on with.", metavar="FILE")],
    environment: Annotated[
        str, typer.Option("--env", help="Environment: bookings, or your own as module:class.", metavar="NAME")
    ] = "bookings",
    agent: Annotated[
        str | None,
        typer.Option(
            help="A function of messages and tools that gives a text or a message, sync or async.",
            metavar="MODULE:FUNCTION",
        ),
    ] = None,
    endpoint: AgentEndpoint = None,
    model: AgentModel = None,
    temperature: Annotated[
        float, typer.Option(help="Temperature of the endpoint.", metavar="NUMBER", min=0.0, callback=finite)
    ] = 1.0,
    timeout: Annotated[
        float, typer.Option(help="Seconds to wait for each answer.", metavar="NUMBER", min=0.1, callback=finite)
    ] = 120.0,
    task: Annotated[
        list[str] | None, typer.Option("--task", help="A task; may be repeated. Default: all.", metavar="NAME")
    ] = None,
    runs: Annotated[int, typer.Option("--runs", "-k", help="Runs of each task.", metavar="NUMBER", min=1)] = 8,
    parallel: Annotated[int, typer.Option(help="Runs under way at once.", metavar="NUMBER", min=1, max=256)] = 4,
    quiet: Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Run an agent several times on each task of an environment, and write the runs down.

    likewise collect --env bookings --endpoint http://localhost:8000/v1 --model qwen --runs 8 --out runs.jsonl

    Stopped, the same command goes on where it was. Runs that failed stay in the file and are made up for.
    """
    del debug
    if (agent is None) == (endpoint is None):
        raise typer.BadParameter("name the agent by --agent, or by --endpoint with --model")
    if (endpoint is None) != (model is None):
        raise typer.BadParameter("--endpoint and --model belong together")
    import anyio

    from likewise.cli.progress import progress_display
    from likewise.training.agents import FunctionAgent
    from likewise.training.collect import Collected
    from likewise.training.collect import collect as collect_runs
    from likewise.training.environments.registry import environment_maker

    try:
        make = environment_maker(environment)
        known = make().tasks
    except ValueError as problem:
        raise typer.BadParameter(str(problem), param_hint="--env") from None
    for name in task or ():
        if name not in known:
            raise typer.BadParameter(
                f"{environment} has no task {name!r}; it has {', '.join(known)}", param_hint="--task"
            )
    if agent is not None:
        from likewise.cli.run import load_function

        acting: Any = FunctionAgent(load_function(agent), agent)
    else:
        acting = _endpoint(str(model), str(endpoint), temperature, timeout)
        if not quiet:
            say(f"conversations are sent to {endpoint}")

    async def work() -> Collected:
        show = progress_display(quiet or as_json)
        return await collect_runs(make, acting, out, tasks=task, runs=runs, parallel=parallel, progress=show)

    found = anyio.run(work)
    if as_json:
        facts = {"schema": "likewise.collected/1", "out": str(out), "made": found.made, "found": found.found}
        typer.echo(json.dumps({**facts, "failed": found.failed}, indent=2))
    elif not quiet:
        typer.echo(f"{out}: {found.made} runs made, {found.found} were there, {found.failed} of all failed")
    if found.nothing:
        say(f"error: no run succeeded; {found.problem}")
        raise typer.Exit(ExitCode.BACKEND)


def _endpoint(model: str, url: str, temperature: float, timeout: float) -> Any:  # noqa: ANN401 - an agent
    from likewise.training.agents import EndpointAgent

    try:
        return EndpointAgent(model, url, temperature=temperature, timeout=timeout)
    except ValueError as problem:
        raise typer.BadParameter(str(problem), param_hint="--endpoint") from None
