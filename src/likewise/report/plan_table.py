"""A plan in the terminal: what was asked, what it needs, what it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from likewise.evaluation.plan import ClaimPlan, DetectPlan, PassHatPlan, Plan, StablePlan, TopUp
from likewise.reliability.mode_plan import ModePlan, Otherwise
from likewise.report.terminal import print_plainly
from likewise.report.text import middle, one_line
from likewise.report.words import counted

__all__ = ["render_plan"]

_MOST = "over a million"


def render_plan(
    plan: Plan, console: Console, agreement: float | None = None, modes: Sequence[ModePlan] | None = None
) -> None:
    """Print the answers, one under the other."""
    asked = () if agreement is None or modes is None else _modes(agreement, modes)
    print_plainly(Group(*_parts(plan), *asked), console)


def _parts(plan: Plan) -> Iterator[RenderableType]:
    if plan.detect is not None:
        yield from _detect(plan.detect)
    if plan.pass_hat is not None:
        yield from _pass_hat(plan.pass_hat)
    if plan.stable is not None:
        yield from _stable(plan.stable)
    if plan.claim is not None:
        yield from _claim(plan.claim)
    if plan.top_up is not None:
        yield from _top_up(plan.top_up)


def _said(sentence: str, style: str = "") -> Padding:
    return Padding(Text(one_line(sentence), style=style), (0, 0, 0, 1))


def _table(*names: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, highlight=False)
    for i, name in enumerate(names):
        table.add_column(name, justify="left" if i == 0 else "right", overflow="fold")
    return table


def _count(value: int | None, missing: str = _MOST) -> str:
    return missing if value is None else f"{value:,}"


def _detect(plan: DetectPlan) -> Iterator[RenderableType]:
    yield _said(
        f"To find a difference of {plan.difference:g} in mean {plan.spread.figure} with power {plan.power:.0%} (two "
        "versions on the same tasks, level 5%):",
        "bold",
    )
    if not plan.rows:
        yield _said("No number of runs shown does it with the tasks at hand; more tasks would.")
    else:
        table = _table("runs a task and side", "tasks", "runs in all, both sides")
        for runs, tasks, total in plan.rows:
            best = plan.cheapest is not None and plan.cheapest[0] == runs
            table.add_row(str(runs), _count(tasks), _count(total), style="bold" if best else "")
        yield table
    yield _said(
        f"Noise of one run {plan.spread.run_sd:.3g} ({plan.spread.source}); the change differs between tasks by "
        f"{plan.effect_sd:.3g}. Bold: fewest runs in all.",
        "dim",
    )


def _pass_hat(plan: PassHatPlan) -> Iterator[RenderableType]:
    yield _said(
        f"To show pass^{plan.k} within ±{plan.within:g}: {_count(plan.tasks)} tasks of at least {plan.k} runs.", "bold"
    )
    yield _said(f"Spread over tasks {plan.sd:.3g} ({plan.source}).", "dim")


def _stable(plan: StablePlan) -> Iterator[RenderableType]:
    yield _said(f"To show that at least {plan.share:.0%} of a task's runs end alike:", "bold")
    table = _table("runs that do otherwise", "runs needed")
    for dissenting, runs in plan.rows:
        table.add_row(str(dissenting), _count(runs))
    yield table
    if plan.tasks:
        lacking = _table("task", "further runs, if all end alike")
        for task, more in sorted(plan.tasks.items(), key=lambda item: -1 if item[1] is None else item[1]):
            lacking.add_row(Text(middle(task, 60)), _count(more, "over 1,000"))
        yield lacking


def _claim(plan: ClaimPlan) -> Iterator[RenderableType]:
    if plan.rate is not None:
        yield _said(
            f"To claim at most {plan.rate:.3g} failures, at 95%: {_count(plan.trials)} trials without one.", "bold"
        )
    if plan.at_hand is not None and plan.smallest is not None:
        yield _said(
            f"{counted(plan.at_hand, 'trial')} without a failure allow no claim below {plan.smallest:.1%} "
            f"(1 − 0.05^(1/{plan.at_hand}))."
        )


def _modes(agreement: float, modes: Sequence[ModePlan]) -> Iterator[RenderableType]:
    yield _said(f"Runs of a query, for an agent that gives its usual answer {agreement:.3g} of the time:", "bold")
    table = _table("mode", "runs", "on average", "wrong", "undecided")
    for mode in modes:
        spent = str(mode.fewest) if mode.fewest == mode.most else f"{mode.fewest} to {mode.most}"
        one, apart = mode.one_other, mode.all_different
        table.add_row(
            mode.mode,
            spent,
            _extremes(f"{one.runs:.1f}", f"{apart.runs:.1f}"),
            _extremes(f"{one.wrong:.3f}", f"{apart.wrong:.3f}"),
            _extremes(_undecided(one), _undecided(apart)),
        )
    yield table
    yield _said(
        "Exact, from the modes' own rules. Two numbers: the rest is one other answer / is all different. Wrong: what "
        "is served (sequential: settled on) is not the usual answer.",
        "dim",
    )


def _extremes(one: str, other: str) -> str:
    return one if one == other else f"{one} / {other}"


def _undecided(otherwise: Otherwise) -> str:
    return "-" if otherwise.undecided is None else f"{otherwise.undecided:.3f}"


def _top_up(plan: tuple[TopUp, ...]) -> Iterator[RenderableType]:
    lacking = [task for task in plan if task.missing]
    wanted = max((task.wanted for task in plan), default=0)
    if not lacking:
        yield _said(f"All {counted(len(plan), 'task')} have {wanted} valid runs or more.", "bold")
        return
    missing = sum(task.missing for task in lacking)
    yield _said(
        f"{len(lacking)} of {counted(len(plan), 'task')} lack runs for {wanted} valid ones each: {missing} in all.",
        "bold",
    )
    table = _table("task", "valid", "invalid", "further runs")
    for task in sorted(lacking, key=lambda task: -task.missing):
        table.add_row(Text(middle(task.task_id, 60)), str(task.valid), str(task.invalid), str(task.missing))
    yield table
