"""`likewise convert`: runs of any format in, JSON Lines of ours out."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from likewise.cli.errors import plain_errors, say
from likewise.cli.options import AsJson, Debug, Format, MapFile, Paths, Quiet, Strict
from likewise.cli.targets import STANDARD_OUTPUT, check_targets

if TYPE_CHECKING:
    from likewise.core.rollout import Rollout
    from likewise.formats.registry import RolloutStream
    from likewise.formats.summary import Tally

__all__ = ["convert"]


@plain_errors
def convert(
    runs: Paths,
    out: Annotated[
        str,
        typer.Option("--out", "-o", help="JSON Lines to write; .gz compresses, - is standard output.", metavar="FILE"),
    ],
    format: Format = None,
    map_file: MapFile = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write over a file that holds runs; never over one that is read.")
    ] = False,
    strict: Strict = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Write runs of any format as JSON Lines of likewise's own: one run a line, read back as they were.

    Runs are written while they are read, so a folder of any size passes; the file is complete or not there.
    Runs that failed in the harness are written too, marked invalid. Records that cannot be read are left out and told.
    """
    del debug
    if as_json and out == STANDARD_OUTPUT:
        raise typer.BadParameter("--json and the runs would both go to standard output", param_hint="--out")
    check_targets({"--out": out}, runs, overwrite=force)
    from likewise.cli.progress import progress_display
    from likewise.formats.registry import stream_rollouts
    from likewise.formats.summary import Tally

    progress = progress_display(quiet)
    stream = stream_rollouts(runs, format=format, mapping=map_file, strict=strict, progress=progress)
    tally = Tally()
    _write(out, stream, tally)
    summary = tally.summary(stream)
    if as_json:
        typer.echo(json.dumps(summary | {"out": out}, indent=2))
        return
    if quiet:
        return
    for warning in stream.warnings:
        say(f"warning: {warning}")
    left_out = f"; {len(stream.excluded)} record(s) left out, `likewise inspect` lists them" if stream.excluded else ""
    where = "standard output" if out == STANDARD_OUTPUT else out
    say(f"wrote {summary['rollouts']} run(s) of {summary['tasks']} task(s) to {where}{left_out}")


def _write(out: str, stream: RolloutStream, tally: Tally) -> None:
    from likewise.core.errors import RolloutFormatError
    from likewise.formats.native import rollout_lines, write_rollouts

    def counted() -> Iterator[Rollout]:
        empty = True
        for rollout in stream:
            empty = False
            tally.add(rollout)
            yield rollout
        if empty:  # raised while writing, so that no empty file is left
            raise RolloutFormatError(out, "nothing to write: no run could be read; `likewise inspect` says why")

    target = Path(out)
    try:
        if out == STANDARD_OUTPUT or (target.exists() and not target.is_file()):  # a pipe or a device has no other end
            with nullcontext(sys.stdout) if out == STANDARD_OUTPUT else target.open("w", encoding="ascii") as file:
                file.writelines(rollout_lines(counted(), target))
        else:
            write_rollouts(target, counted())
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, f"cannot be written ({error.strerror or error})", out) from error
