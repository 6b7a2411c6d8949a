"""Progress bars on standard error, where a person is looking; nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from likewise.core.protocols import Progress, ProgressTask, no_progress

__all__ = ["progress_display"]


@dataclass(frozen=True)
class _Bar:
    display: RichProgress
    task: TaskID

    def advance(self, steps: int = 1) -> None:
        """Count steps as done."""
        self.display.advance(self.task, steps)


@contextmanager
def _bar(what: str, total: int) -> Iterator[ProgressTask]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with RichProgress(*columns, console=Console(stderr=True), transient=True) as display:
        yield _Bar(display, display.add_task(what, total=total))


def progress_display(quiet: bool) -> Progress:
    """Bars on a terminal, silence in pipes, CI logs and with `--quiet`."""
    return no_progress if quiet or not sys.stderr.isatty() else _bar
