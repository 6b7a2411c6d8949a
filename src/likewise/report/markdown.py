"""A report as Markdown: fits a pull-request comment and a job summary."""

from __future__ import annotations

from likewise.core.estimate import Estimate
from likewise.evaluation.gates import GateReport, State
from likewise.evaluation.results import Evaluation, Summary
from likewise.report.markdown_text import code, plain, table
from likewise.report.text import named
from likewise.report.words import (
    counted,
    headline_k,
    interval,
    left_out,
    luck_line,
    nothing_scored,
    number,
    pass_hat,
    percent,
    readings,
    worst_first,
)

__all__ = ["report_markdown"]

_SHOWN = 50
_FAILURES = 30


def report_markdown(evaluation: Evaluation, gates: GateReport) -> str:
    """Failed gates first, then what the numbers say, then the tasks, worst first, in a fold."""
    summary = evaluation.summary
    sign = "" if not gates.checked else ("❌ " if gates.failures else "✅ ")
    lines = [f"### {sign}Consistency of {counted(summary.tasks, 'task')}, {counted(summary.valid, 'run')}", ""]
    lines += _failures(gates)
    if sentence := nothing_scored(evaluation):
        lines += [plain(sentence), ""]
    lines += [f"- {plain(line, 1000)}" for line in readings(evaluation)]
    lines += [f"- Outcomes: {plain(line, 300)}." for line in [luck_line(evaluation)] if line]
    counts = ", ".join(f"{count} {state.value}" for state, count in gates.counts.items())
    lines += [f"- States (do the runs of a task end alike?): {counts}.", ""]
    rows = [
        (name, number(e.value), plain(interval(e) or e.reason or ""))
        for name, e in (("RSD", summary.rsd), ("RSD share", summary.rsd_share))
    ]
    rows += [
        (name, plain(percent(e.value)), plain(interval(e, share=True) or e.reason or ""))
        for name, e in (
            ("final answers disagree", summary.total_variance),
            ("pairs that contradict", summary.contradiction_share),
            *_success(summary),
            *((f"pass^{k}{_of(e, summary)}", e) for k, e in sorted(summary.pass_hat_k.items()) if k > 1),
        )
    ]
    lines += [*table(("figure", "mean over tasks", "95% interval"), rows, (1,)), ""]
    lines += _tasks(evaluation, gates)
    notes = list(evaluation.warnings)
    if records := left_out(evaluation):
        notes.append(f"{counted(len(records), 'record')} left out; `likewise inspect` says why")
    notes += [f"gates for tasks that these runs do not have: {named(gates.unknown)}"] if gates.unknown else []
    lines += ["", *(f"- ⚠️ {plain(note)}" for note in notes)] if notes else []
    lines += ["", f"<sub>{code(str(evaluation.signature), 400, cell=False)}</sub>"]
    return "\n".join(lines) + "\n"


def _success(summary: Summary) -> list[tuple[str, Estimate]]:
    """One row; two where runs failed in the harness, the one that counts them as failures first."""
    if summary.success_rate_all is None:
        return [("success", summary.success_rate)]
    failed = counted(summary.rollouts - summary.valid, "broken run")
    without = f"success without them{_of(summary.success_rate, summary)}"
    return [(f"success, {failed} as failures", summary.success_rate_all), (without, summary.success_rate)]


def _of(estimate: Estimate, summary: Summary) -> str:
    """` (1 of 4 tasks)` where an estimate rests on fewer tasks than there are."""
    fewer = estimate.n is not None and estimate.n < summary.tasks
    return f" ({estimate.n} of {counted(summary.tasks, 'task')})" if fewer else ""


def _failures(gates: GateReport) -> list[str]:
    if not gates.failures:
        return []
    lines = [f"**{counted(len(gates.failures), 'gate')} not passed**", ""]
    for failure in gates.failures[:_FAILURES]:
        where = "mean over tasks" if failure.task_id is None else code(failure.task_id)
        lines.append(f"- {where}: {plain(failure.what)}")
    if len(gates.failures) > _FAILURES:
        lines.append(f"- and {len(gates.failures) - _FAILURES} more")
    return [*lines, ""]


def _tasks(evaluation: Evaluation, gates: GateReport) -> list[str]:
    k, tasks = headline_k(evaluation), worst_first(evaluation.tasks)
    states = {state.task_id: state for state in gates.states}
    head = ["task", "runs", "state", "success", *([f"pass^{k}"] if k else []), "RSD", "95% interval", "first fork"]
    rows = []
    for task in tasks[:_SHOWN]:
        fork = task.first_fork
        state = states[task.task_id].state
        rows.append(
            [
                code(task.task_id),
                f"{len(task.valid)}/{len(task.rollouts)}",
                f"**{state.value}**" if state is State.FLAKY else state.value,
                plain(percent(task.success_rate.value)),
                *([plain(percent(pass_hat(task, k)))] if k else []),
                number(task.rsd.value),
                interval(task.rsd) or "–",
                "–" if fork is None else f"turn {fork.turn} {fork.kind.value}, by {fork.cause.value}",
            ]
        )
    lines = ["<details><summary>Tasks, worst first</summary>", "", *table(head, rows, range(3, len(head) - 1))]
    if len(tasks) > _SHOWN:
        lines += ["", f"{len(tasks) - _SHOWN} more in the JSON and HTML reports."]
    return [*lines, "", "</details>"]
