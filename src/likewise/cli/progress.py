"""Progress bars on standard error, where a person is looking; nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from likewise.cli.interrupts import heed
from likewise.core.interrupts import held
from likewise.core.protocols import Progress, ProgressTask, no_progress

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

__all__ = ["progress_display"]


@dataclass(frozen=True)
class _Bar:
    display: RichProgress
    task: TaskID

    def advance(self, steps: int = 1) -> None:
        """Count steps as done."""
        self.display.advance(self.task, steps)


@contextmanager
def _bar(what: str, total: int | None) -> Iterator[ProgressTask]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    display = RichProgress(*columns, console=Console(stderr=True), transient=True)
    with held():  # a thread starts here, and ends below
        display.start()
    try:
        yield _Bar(display, display.add_task(what, total=total))
    finally:
        with held():
            display.stop()


@dataclass(frozen=True)
class _Heeding:
    task: ProgressTask

    def advance(self, steps: int = 1) -> None:
        """Count steps as done, unless the work was interrupted."""
        heed()
        self.task.advance(steps)


def progress_display(quiet: bool) -> Progress:
    """Bars on a terminal, silence in pipes, CI logs and with `--quiet`; each step heeds an interrupt."""
    display = no_progress if quiet or not sys.stderr.isatty() else _bar

    @contextmanager
    def heeding(what: str, total: int | None) -> Iterator[ProgressTask]:
        heed()
        with display(what, total) as task:
            yield _Heeding(task)

    return heeding
