"""Scores of runs in the terminal: a line a run."""

from __future__ import annotations

from rich import box
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from likewise.learned.curves import Curve, Curves
from likewise.report.terminal import print_plainly
from likewise.report.text import middle, one_line

__all__ = ["render_curves"]

_BARS = "▁▂▃▄▅▆▇█"


def render_curves(curves: Curves, console: Console) -> None:
    """Print the runs, and what a reader should know."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, highlight=False)
    for name, side in (("run", "left"), ("turns", "right"), ("first", "right"), ("highest", "right"), ("at", "right")):
        table.add_column(name, justify="left" if side == "left" else "right", overflow="fold")
    table.add_column("jumps")
    table.add_column("curve", overflow="fold")
    for run in curves.runs:
        table.add_row(*_row(run, curves))
    lines = [f"Divergence ahead, from 0 to {curves.largest:g}; {curves.claim}"]
    if curves.unfamiliar:
        lines.append(f"{curves.unfamiliar} of {curves.states} states are unlike those of the training: guesses")
    if curves.excluded:
        lines.append(f"{curves.excluded} run(s) left out: invalid, or without a turn")
    print_plainly(Group(*(Padding(Text(one_line(line)), (0, 0, 0, 1)) for line in lines), table), console)


def _row(run: Curve, curves: Curves) -> list[str]:
    values = [score.value for score in run.scores]
    top = max(range(len(values)), key=values.__getitem__)
    bars = "".join(_BARS[min(int(value / curves.largest * len(_BARS)), len(_BARS) - 1)] for value in values[:60])
    jumps = ", ".join(map(str, run.jumps[:6])) + (" ..." if len(run.jumps) > 6 else "")
    name = one_line(middle(f"{run.task_id} / {run.run_id}", 40))
    return [name, str(len(values)), f"{values[0]:.2f}", f"{values[top]:.2f}", str(top), jumps, bars]
