"""A comparison as JUnit XML: a case for each figure and each task, failed where the build fails for it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from likewise.evaluation.change import Change, Comparison, Difference, TaskChange
from likewise.report.compare_words import difference_text, figure_text, needed_text, p_text, task_notes
from likewise.report.junit import Case, junit_text
from likewise.report.words import number

__all__ = ["FAIL_ON", "comparison_failures", "comparison_junit"]

FAIL_ON = {
    "worse": "the verdict is worse",
    "undecided": "the verdict is undecided",
    "not-better": "the verdict is not better",
    "task-worse": "a task's consistency or success is worse",
}
"""What a build can fail for, and what that means."""


def comparison_failures(comparison: Comparison, fail_on: Collection[str]) -> list[str]:
    """One sentence for each thing that a build fails for; none where it passes."""
    failures = []
    verdict = comparison.verdict
    if (
        verdict.value in fail_on  # worse, undecided
        or ("not-better" in fail_on and verdict is not Change.BETTER)
    ):
        figures = "; ".join(_figure(d) for d in comparison.differences if d.figure in comparison.deciding)
        failures.append(f"the candidate is {verdict.value}: {figures}")
    if "task-worse" in fail_on:
        failures += [f"task {task.task_id}: {task_notes(task)}" for task in comparison.tasks if _worse(task)]
    return failures


def comparison_junit(comparison: Comparison, fail_on: Collection[str]) -> str:
    """The XML; without anything to fail for, all cases pass and carry their numbers."""
    return junit_text("likewise compare", _cases(comparison, fail_on), [("signature", _signature(comparison))])


def _signature(comparison: Comparison) -> str:
    return str(comparison.signature.get("text", ""))


def _cases(comparison: Comparison, fail_on: Collection[str]) -> Iterator[Case]:
    overall = list(comparison_failures(comparison, set(fail_on) - {"task-worse"}))
    yield Case("verdict", tuple(overall), comparison.verdict.value)
    for difference in comparison.differences:
        undecided = difference.change is Change.UNDECIDED
        more = f"\n{needed_text(difference, comparison.power)}" if undecided else ""
        yield Case(f"figure {difference.title}", (), _figure(difference) + more)
    for task in comparison.tasks:
        failures = (task_notes(task),) if "task-worse" in fail_on and _worse(task) else ()
        rsd = (
            f"RSD {number(task.base.rsd.value)} to {number(task.candidate.rsd.value)}, p {p_text(task.rsd_p_adjusted)}"
        )
        yield Case(f"task {task.task_id}", failures, f"{rsd}\n{task_notes(task) or 'nothing is decided'}")


def _figure(difference: Difference) -> str:
    base, candidate = (figure_text(e.value, difference.share) for e in (difference.base, difference.candidate))
    change = f"{difference_text(difference)}, p {p_text(difference.p_adjusted)}, {difference.change.value}"
    return f"{difference.title} {base} to {candidate} ({change})"


def _worse(task: TaskChange) -> bool:
    return Change.WORSE in (task.rsd, task.success)
