"""What the pages of a task and of two versions show: runs of many verdicts, scored together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from markupsafe import Markup

from likewise.core.estimate import Estimate
from likewise.core.protocols import Encoder, Judge
from likewise.core.rollout import Rollout
from likewise.evaluation.change import Comparison
from likewise.evaluation.compare import compare
from likewise.evaluation.versions import Measuring
from likewise.report import words
from likewise.report.compare_charts import difference_bar, dumbbells
from likewise.report.compare_words import changed_tasks
from likewise.report.fork_tree import fork_tree
from likewise.report.side_by_side import TurnRow, observation_cap, turn_rows
from likewise.report.text import one_line
from likewise.report.word_diff import marked
from likewise.scoring.results import GroupScore
from likewise.service.dashboard.trend_chart import ChartPoint, trend_chart
from likewise.service.dashboard.verdict_view import Card

if TYPE_CHECKING:
    from likewise.evaluation.change import TaskChange
    from likewise.store.store import Store

__all__ = ["ComparisonView", "TaskQuote", "TaskView", "compared", "runs_of_version", "task_view"]

MOST_RUNS = 24
"""Newest runs of a task that are scored together: their tree can still be read."""
MOST_TASKS = 60
"""Tasks of an agent that two versions are compared on."""
_SHOWN_QUOTES = 6


@dataclass(frozen=True, slots=True)
class TaskQuote:
    """Two runs that contradict each other at one turn."""

    turn: int
    run_i: str
    run_j: str
    text_i: Markup
    text_j: Markup
    score: str


@dataclass(frozen=True, slots=True)
class TaskView:
    """The runs of one task, scored together."""

    task: GroupScore
    cards: tuple[Card, ...]
    tree: Markup
    curve: Markup
    rows: tuple[TurnRow, ...]
    quotes: tuple[TaskQuote, ...]
    fork: str


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """Two versions of an agent on the tasks that both ran."""

    comparison: Comparison
    tasks: Sequence[TaskChange]
    bars: dict[str, Markup]
    chart: Markup


def task_view(rollouts: Iterable[Rollout], judge: Judge, encoder: Encoder) -> TaskView | None:
    """Score the runs of one task together; None where there is none. Waits for the judge."""
    runs = _short_names(list(rollouts))
    if not runs:
        return None
    (task,) = Measuring(judge=judge, encoder=encoder, pool=True).one(runs).tasks
    return TaskView(
        task,
        tuple(_cards(task)),
        fork_tree(task) if task.valid else Markup(""),
        _curve(task),
        tuple(turn_rows(task, observation_cap([task]))),
        tuple(_quotes(task)),
        _fork(task),
    )


def _short_names(rollouts: Sequence[Rollout]) -> list[Rollout]:
    """Runs by the first letters of their verdict and their number in it, where that still tells them apart."""
    names = [f"{start[:6]}#{number}" for start, _, number in (run.run_id.rpartition("#") for run in rollouts)]
    if len(set(names)) < len(names):
        return list(rollouts)
    return [replace(run, run_id=name) for run, name in zip(rollouts, names, strict=True)]


def _curve(task: GroupScore) -> Markup:
    """Mean distance at each turn; nothing for a task of one turn."""
    if len(task.turns) < 2:
        return Markup("")
    points = []
    for turn in task.turns:
        judged = turn.equivalent + turn.neutral + turn.contradictory
        distance = Estimate.undefined("no pair was measured")
        if turn.mean_distance is not None:
            distance = Estimate(turn.mean_distance, reason="no interval: the runs of one task")
        behind = f"{words.counted(judged, 'judged pair')}, {turn.contradictory} contradictory"
        points.append(ChartPoint(float(turn.turn), str(turn.turn), distance, behind))
    return trend_chart("Mean distance of two runs at each turn", points, [], share=False)


def _cards(task: GroupScore) -> Iterable[Card]:
    yield _card("RSD", task.rsd, "discounted disagreement, time-aligned")
    yield _card("RSD share", task.rsd_share, words.SHARE_HINT)
    yield _card("answers disagree", task.total_variance, "total variance of final answers", share=True)
    yield _card("largest answer class", task.agreement, "share of runs", share=True)
    yield _card("contradictions", task.contradictions.share, "of judged pairs", share=True)
    yield _card("tool sequences", task.tool_use.sequence_similarity, "similarity, 1 alike")
    failed = len(task.rollouts) - len(task.valid)
    yield Card("runs scored", str(len(task.valid)), f"of {len(task.rollouts)}", f"{failed} failed" if failed else "")


def _card(name: str, estimate: Estimate, hint: str, *, share: bool = False) -> Card:
    value = words.percent(estimate.value) if share else words.number(estimate.value)
    return Card(name, value, words.interval(estimate, share=share) or one_line(estimate.reason or "", 120), hint)


def _quotes(task: GroupScore) -> Iterable[TaskQuote]:
    different = {(clash.turn, clash.text_i, clash.text_j): clash for clash in reversed(task.contradictions.critical)}
    for clash in list(reversed(different.values()))[:_SHOWN_QUOTES]:
        names = one_line(clash.run_i, 80), one_line(clash.run_j, 80)
        yield TaskQuote(clash.turn, *names, *marked(clash.text_i, clash.text_j), f"{clash.score:.2f}")


def _fork(task: GroupScore) -> str:
    fork = task.first_fork
    if fork is not None:
        kind = words.FORK_KINDS[fork.kind]
        return f"The runs first part at turn {fork.turn} ({fork.kind.value}: {kind}), by {words.fork_cause(fork)}."
    return "The runs never part." if task.rsd.defined else ""


# ------------------------------------------------------------------ two versions
def runs_of_version(store: Store, agent: str, version: str, task: str | None) -> list[Rollout]:
    """The newest runs of a version: of one task, or of the tasks with most to say."""
    if task is not None:
        tasks = [task]
    else:
        tasks = [one.task for one in store.trends.tasks(agent, version=version, limit=MOST_TASKS).items]
    groups = (store.verdicts.group(agent, one, version=version, limit=MOST_RUNS) for one in tasks)
    return [rollout for group in groups for rollout in group.rollouts]


def compared(base: Iterable[Rollout], candidate: Iterable[Rollout], judge: Judge, encoder: Encoder) -> ComparisonView:
    """Compare two versions on the tasks that both ran. Waits for the judge.

    Raises:
        GroupError: A version has no runs, or they share no task.
    """
    first, second, between = Measuring(judge=judge, encoder=encoder, pool=True).both(base, candidate)
    comparison = compare(first, second, between=between)
    tasks = changed_tasks(comparison)
    bars = {difference.figure: difference_bar(difference) for difference in comparison.differences}
    return ComparisonView(comparison, tasks, bars, dumbbells(tasks))
