"""`likewise check`: the same verdict for runs that were recorded already."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from likewise.cli.errors import ExitCode, plain_errors, say
from likewise.cli.options import AsJson, Debug, Format, MapFile, Paths, Quiet, Strict
from likewise.cli.run import FailOn, finish, read_sources

__all__ = ["check"]


@plain_errors
def check(
    runs: Paths,
    source: Annotated[
        list[Path] | None,
        typer.Option(help="A text file that answers are checked against; may be repeated.", metavar="FILE"),
    ] = None,
    fail_on: Annotated[FailOn, typer.Option(help="From which decision on the exit code is 1.")] = FailOn.REFUSE,
    format: Format = None,
    map_file: MapFile = None,
    strict: Strict = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Compare the final answers of recorded runs, task by task: serve, flag or refuse.

    Runs are files of any format that `likewise formats` lists, or audit logs of `likewise run`.
    """
    del debug
    from likewise.cli.progress import progress_display
    from likewise.core.errors import AgentError
    from likewise.reliability.layer import ReliabilityLayer

    layer = ReliabilityLayer()
    sources = read_sources(source)
    groups = _groups(runs, format, map_file, strict)
    if not groups:
        say("error: there is nothing to check")
        raise typer.Exit(ExitCode.INPUT)
    entries: list[dict[str, Any]] = []
    with progress_display(quiet or as_json)("checking", total=len(groups)) as task:
        for name, asked, records in groups:
            try:
                verdict = layer.score(records, asked, sources=sources or None)
                entries.append({"id": name, "error": None} | verdict.as_json())
            except AgentError as problem:
                trail = [record.as_json() for record in records]
                entries.append({"id": name, "error": str(problem), "query": asked, "audit_trail": trail})
            task.advance()
    finish(entries, fail_on, quiet=quiet, as_json=as_json)


def _groups(
    paths: list[Path], format: str | None, map_file: Path | None, strict: bool
) -> list[tuple[str, str, list[Any]]]:
    """(task, question, runs) of everything named; audit logs are told from rollouts by their first line."""
    from likewise.core.group import group_rollouts
    from likewise.formats.registry import read_rollouts
    from likewise.reliability.batch import read_log
    from likewise.reliability.recording import record_from_json, records_of_rollouts

    logs, others = ([], paths) if format is not None or map_file is not None else _logs_among(paths)
    groups: list[tuple[str, str, list[Any]]] = []
    for path in logs:
        for line, entry in enumerate(read_log(path).values(), 1):
            trail = entry.get("audit_trail")
            records = [
                record_from_json(run, str(path), line, f"/audit_trail/{i}")
                for i, run in enumerate(trail if isinstance(trail, list) else [])
            ]
            groups.append((str(entry.get("id", line)), str(entry.get("query", "")), records))
    if others:
        found = read_rollouts(others, format=format, mapping=map_file, strict=strict)
        for group in group_rollouts(found):
            first = next((turn for rollout in group.rollouts for turn in rollout.turns[:1]), None)
            users = [seen.text for seen in first.observations if seen.source == "user"] if first else []
            groups.append((group.task_id, users[-1] if users else "", records_of_rollouts(group.rollouts)))
    return groups


def _logs_among(paths: list[Path]) -> tuple[list[Path], list[Path]]:
    """Audit logs, those in folders too, and the files and folders that hold something else."""
    from likewise.formats.walk import SUFFIXES, find_files
    from likewise.reliability.recording import is_log

    logs, others = list[Path](), list[Path]()
    for path in paths:
        files = find_files([path], SUFFIXES)[0] if path.is_dir() else [path]
        found = [file for file in files if file.is_file() and is_log(file)]
        logs += found
        if len(found) < len(files):
            others.append(path)
    return logs, others
