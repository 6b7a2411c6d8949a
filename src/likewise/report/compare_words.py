"""What all faces of a comparison say alike: the headline, a figure in one line, what would decide."""

from __future__ import annotations

from collections.abc import Iterator

from likewise.evaluation.change import Change, Comparison, Difference, TaskChange
from likewise.report.text import NAMED, middle, named
from likewise.report.words import counted, number, percent

__all__ = [
    "TASK_TEST",
    "changed_tasks",
    "difference_text",
    "figure_text",
    "gaps",
    "headline",
    "how_decided",
    "needed_text",
    "p_text",
    "task_notes",
    "unmatched",
]

TASK_TEST = "Runs divided anew between the versions (permutation test); success by Fisher's exact test."


def figure_text(value: float | None, share: bool) -> str:
    """A number of a figure: `1.21`, or `62%` for a share."""
    return percent(value) if share else number(value)


def _signed(value: float, share: bool) -> str:
    size = f"{abs(value) * 100:.1f}" if share else f"{abs(value):.2f}"
    return ("−" if value < 0 else "+") + size


def difference_text(difference: Difference) -> str:
    """`−0.16 [−0.41 to +0.09]`, in points for a share; a dash where there is none."""
    estimate, share = difference.difference, difference.share
    if estimate.value is None:
        return "–"
    text = _signed(estimate.value, share)
    if estimate.low is not None and estimate.high is not None:
        text += f" [{_signed(estimate.low, share)} to {_signed(estimate.high, share)}]"
    return text + (" points" if share else "")


def p_text(p_value: float | None) -> str:
    """`0.03`, `<0.001`; a dash where there is none."""
    if p_value is None:
        return "–"
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}" if p_value < 0.1 else f"{p_value:.2f}"


def headline(comparison: Comparison) -> list[str]:
    """The verdict and what it rests on, in plain sentences."""
    lines = []
    for difference in comparison.differences:
        if difference.figure not in comparison.deciding:
            continue
        if difference.difference.value is None:
            lines.append(f"{difference.title}: no shared task has it on both sides.")
            continue
        base, candidate = (figure_text(e.value, difference.share) for e in (difference.base, difference.candidate))
        lines.append(
            f"{difference.title} {base} → {candidate}: {difference_text(difference)}, "
            f"p = {p_text(difference.p_adjusted)}, over {counted(difference.tasks, 'shared task')}: "
            f"{difference.change.value}."
        )
        if gap := _gap(difference):
            lines.append(gap[:1].upper() + gap[1:] + ".")
        if difference.change is Change.UNDECIDED:
            lines.append(needed_text(difference, comparison.power))
    return lines


def _gap(difference: Difference) -> str:
    """Why a difference has no interval or no p-value; nothing where it has both, or no value."""
    if difference.difference.value is None:
        return ""
    parts = []
    if difference.difference.low is None:
        parts.append(f"no interval: {difference.difference.reason}")
    if difference.p_value is None:
        parts.append(f"no p-value: {difference.p_reason}")
    return "; ".join(parts)


def gaps(comparison: Comparison) -> list[str]:
    """Why figures have no interval or no p-value: each reason once that the headline does not give already."""
    told = {_gap(difference) for difference in comparison.differences if difference.figure in comparison.deciding}
    named: dict[str, list[str]] = {}
    for difference in comparison.differences:
        if (gap := _gap(difference)) and gap not in told:
            named.setdefault(gap, []).append(difference.title)
    return [f"{', '.join(titles)}: {gap}" for gap, titles in named.items()]


def needed_text(difference: Difference, power: float) -> str:
    """What would decide, and what this comparison could have found."""
    needed = difference.needed
    parts = []
    if needed.runs == 0 or needed.tasks == 0:
        parts.append("this many would usually decide if the true difference is the one seen; it is a close call")
    else:
        ways = []
        if needed.runs is not None:
            ways.append(f"{counted(needed.runs, 'further run')} of each task on each side")
        if needed.tasks is not None:
            ways.append(f"{counted(needed.tasks, 'further task')} with as many runs")
        if ways:
            parts.append(f"to decide, were the true difference the one seen: {' or '.join(ways)}")
        if needed.reason is not None:
            parts.append(needed.reason)
    if difference.detectable is not None:
        found = _signed(difference.detectable, difference.share).lstrip("+")
        unit = " points" if difference.share else ""
        parts.append(f"a true difference of {found}{unit} would be found with power {power:.0%}")
    text = "; ".join(parts)
    return text[:1].upper() + text[1:] + "."


def how_decided(comparison: Comparison) -> str:
    """How verdicts come about, in one sentence."""
    alpha = 1 - comparison.confidence
    return (
        f"A figure is called better or worse where its p-value (sign flips over tasks, adjusted by Holm) is below "
        f"{alpha:.2g} and its interval ({comparison.confidence:.0%}, bootstrap over tasks) does not hold 0. Tasks: "
        "p-values adjusted by Benjamini and Hochberg."
    )


def changed_tasks(comparison: Comparison) -> list[TaskChange]:
    """Tasks with something to say first, then by how much their RSD rose."""

    def order(task: TaskChange) -> tuple[bool, float]:
        called = task.rsd is not Change.UNDECIDED or task.success is not Change.UNDECIDED or task.acts_otherwise
        rise = task.rsd_difference
        return (not called, -rise if rise is not None else 1e9)

    return sorted(comparison.tasks, key=order)


def task_notes(task: TaskChange) -> str:
    """`RSD worse, success worse, acts otherwise`; nothing where nothing is decided."""
    notes = []
    if task.rsd is not Change.UNDECIDED:
        notes.append(f"RSD {task.rsd.value}")
    if task.success is not Change.UNDECIDED:
        notes.append(f"success {task.success.value}")
    if task.acts_otherwise:
        notes.append("acts otherwise")
    return ", ".join(notes)


def unmatched(comparison: Comparison, most: int = NAMED) -> Iterator[str]:
    """Tasks that only one side has, and shared tasks that lack a deciding figure, each with its reason."""
    for side, tasks in (("base", comparison.only_base), ("candidate", comparison.only_candidate)):
        if tasks:
            yield f"{counted(len(tasks), 'task')} only in the {side}, not compared: {named(tasks, most)}"
    for difference in comparison.differences:
        if difference.figure in comparison.deciding and difference.left_out:
            task, reason = next(iter(difference.left_out.items()))
            count = counted(len(difference.left_out), "shared task")
            yield f"{count} without {difference.title}, the first {middle(task, 60)}: {reason}"
