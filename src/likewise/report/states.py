"""The states of tasks, in one line under a report."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from likewise.evaluation.gates import GateReport
from likewise.report.terminal import print_plainly

__all__ = ["render_states"]


def render_states(gates: GateReport, console: Console) -> None:
    """Print how many tasks are stable, flaky and undecided, and what that means."""
    if not gates.states:
        return
    counts = ", ".join(f"{count} {state.value}" for state, count in gates.counts.items())
    shares = sorted({state.share for state in gates.states})
    wanted = f"{shares[0]:.0%}" if len(shares) == 1 else f"{shares[0]:.0%} to {shares[-1]:.0%}"
    line = Text.assemble(("states ", "bold"), counts, (f"  (stable: at least {wanted} of the runs end alike)", "dim"))
    print_plainly(Padding(line, (0, 0, 0, 1)), console)
