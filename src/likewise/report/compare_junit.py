"""A comparison as JUnit XML: a case for each figure and each task, failed where the build fails for it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from likewise.evaluation.change import Change, Comparison, Difference, TaskChange
from likewise.report.compare_words import difference_text, figure_text, needed_text, p_text, task_notes
from likewise.report.junit import Case, junit_text
from likewise.report.text import named
from likewise.report.words import counted, number

__all__ = ["FAIL_ON", "comparison_failures", "comparison_junit"]

FAIL_ON = {
    "worse": "the verdict is worse",
    "undecided": "the verdict is undecided",
    "not-better": "the verdict is not better",
    "task-worse": "a task's consistency or success is worse",
}
"""What a build can fail for, and what that means."""


NEEDS_TEST = ("worse", "not-better")
"""What nobody can find without a test over tasks."""


def comparison_failures(comparison: Comparison, fail_on: Collection[str], *, partial: bool = False) -> list[str]:
    """One sentence for each thing that a build fails for; none where it passes.

    A build that is to fail for something also fails where nobody could have found it: no shared task has a deciding
    figure, the candidate lacks tasks or figures that the base has, or the tasks are too few for a test.

    Args:
        comparison: What was compared.
        fail_on: Names out of `FAIL_ON`; without any nothing fails.
        partial: Let the build pass though the candidate lacks tasks or figures of tasks that the base has.
    """
    failures = list(_unseen(comparison, fail_on, partial)) if fail_on else []
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


def _unseen(comparison: Comparison, fail_on: Collection[str], partial: bool) -> Iterator[str]:
    """Why the comparison could not find what a build is to fail for."""
    for difference in (d for d in comparison.differences if d.figure in comparison.deciding):
        if difference.difference.value is None:
            why = next((f" ({task}: {reason})" for task, reason in difference.left_out.items()), "")
            yield f"{difference.title} decides and was measured on both sides of no shared task{why}"
        elif difference.p_value is None and not set(fail_on).isdisjoint(NEEDS_TEST):
            what = f"nobody can tell whether {difference.title} got worse"
            yield f"{what}: {difference.p_reason} (add tasks, or use task-worse)"
        lacking = [task for task, reason in difference.left_out.items() if reason.startswith("candidate:")]
        if lacking and difference.difference.value is not None and not partial:
            yield f"the candidate has no {difference.title} in {counted(len(lacking), 'task')}: {named(lacking)}"
    if "task-worse" in fail_on and all(t.rsd_p_adjusted is t.success_p_adjusted is None for t in comparison.tasks):
        yield "no task could be tested: runs are compared where both sides are runs, outcomes where both have some"
    if comparison.only_base and not partial:
        lost = counted(len(comparison.only_base), "task")
        yield f"the candidate lacks {lost} of the base: {named(comparison.only_base)}"


def comparison_junit(comparison: Comparison, fail_on: Collection[str], *, partial: bool = False) -> str:
    """The XML; without anything to fail for, all cases pass and carry their numbers."""
    cases = _cases(comparison, fail_on, partial)
    return junit_text("likewise compare", cases, [("signature", _signature(comparison))])


def _signature(comparison: Comparison) -> str:
    return str(comparison.signature.get("text", ""))


def _cases(comparison: Comparison, fail_on: Collection[str], partial: bool) -> Iterator[Case]:
    per_task = {f"task {task.task_id}: {task_notes(task)}" for task in comparison.tasks}
    overall = [each for each in comparison_failures(comparison, fail_on, partial=partial) if each not in per_task]
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
