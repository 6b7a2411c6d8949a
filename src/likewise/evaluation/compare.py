"""Is the candidate more consistent than the base, or was it luck? Two versions on the same tasks, compared in pairs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from likewise.core.errors import GroupError
from likewise.core.listing import some_of
from likewise.evaluation.change import Change, Comparison, Difference, Needed, TaskChange
from likewise.evaluation.results import Evaluation
from likewise.evaluation.sides import FIGURES, Figure, Scores, Side, TaskFigures, side_of
from likewise.metrics.power import detectable_difference, tasks_for_difference
from likewise.metrics.resampling import bootstrap_mean
from likewise.metrics.testing import TwoVersions, benjamini_hochberg, fisher_exact_p, holm, paired_permutation_p

__all__ = ["compare"]

MAY_DIFFER: Final = frozenset({"text", "version", "encoder", "interval", "resamples", "seed"})
"""Fields of a signature that move none of the compared numbers; all others must agree."""
FEWEST_TASKS: Final = 6
"""Shared tasks below which no sign-flip test can reach a p-value of 0.05: its smallest is 2/2^tasks."""
MOST_RUNS: Final = 10_000
"""Further runs a task beyond which a plan is no plan."""

Pair = tuple[TaskFigures, TaskFigures]


def compare(
    base: Evaluation | Side,
    candidate: Evaluation | Side,
    *,
    deciding: Sequence[str] = ("rsd",),
    k: int | None = None,
    between: Mapping[str, TwoVersions] | None = None,
    confidence: float = 0.95,
    power: float = 0.8,
    resamples: int = 10_000,
    seed: int = 0,
    warnings: Iterable[str] = (),
) -> Comparison:
    """Compare two versions of an agent on the tasks that both ran.

    Each figure: the mean over shared tasks of candidate minus base, its BCa interval (resampling tasks) and the
    p-value of flipping signs, exact if nothing changed. p-values are adjusted by Holm within two families: the figures
    that decide, and the others. A figure is better or worse where its adjusted p-value is below 1 - confidence and its
    interval excludes 0; else it is undecided. So the chance that any deciding figure is called where nothing changed is
    at most 1 - confidence. Task by task: a permutation test of runs, Fisher's test of success, adjusted by Benjamini
    and Hochberg over tasks.

    Args:
        base: The version to compare with.
        candidate: The version that is judged.
        deciding: Figures (names of `sides.FIGURES`) that decide the whole verdict.
        k: k of pass^k; the largest that at least half of the shared tasks have outcomes for on both sides, if None.
        between: Task -> comparison of the runs themselves (`versions.compare_task_runs`), where both were read as runs.
        confidence: 1 minus the level of the tests, in (0, 1).
        power: Power for which further runs and detectable differences are given, in (0, 1).
        resamples: Resamples of bootstrap and permutations.
        seed: Seed of both.
        warnings: What else a reader should know.

    Returns:
        The verdict, each figure's difference, each task's change, and the tasks that only one side has.

    Raises:
        GroupError: The signatures differ in what moves the numbers, or no task is shared.
        ValueError: An unknown figure, or a number out of range.
    """
    unknown = [name for name in deciding if name not in FIGURES]
    if unknown or not deciding:
        raise ValueError(f"no figure {', '.join(unknown) or 'given'}; there are {', '.join(FIGURES)}")
    first, second = _side(base, "base"), _side(candidate, "candidate")
    notes = [*warnings, *_matching(first, second)]
    shared = [task for task in first.tasks if task in second.tasks]
    if not shared:
        raise GroupError(
            f"no task is on both sides: {first.name} has {_some(first.tasks)}, {second.name} has {_some(second.tasks)}"
        )
    pairs = {task: (first.tasks[task], second.tasks[task]) for task in shared}
    k = k or _common_k(list(pairs.values()))
    scores = Scores.REWARD if all(t.rewards is not None for both in pairs.values() for t in both) else Scores.OUTCOME
    notes += _cautions(pairs)
    found = [_difference(figure, pairs, k, scores, confidence, power, resamples, seed) for figure in FIGURES.values()]
    differences = _judged(found, set(deciding), 1 - confidence)
    called = {difference.change for difference in differences if difference.figure in deciding}
    verdict = next((change for change in (Change.WORSE, Change.BETTER) if change in called), Change.UNDECIDED)
    return Comparison(
        base=first.name,
        candidate=second.name,
        signature=first.signature,
        verdict=verdict,
        deciding=tuple(dict.fromkeys(deciding)),
        k=k,
        scores=scores,
        differences=differences,
        tasks=_tasks(pairs, between, 1 - confidence),
        only_base=tuple(task for task in first.tasks if task not in second.tasks),
        only_candidate=tuple(task for task in second.tasks if task not in first.tasks),
        warnings=tuple(notes),
        confidence=confidence,
        power=power,
    )


def _side(side: Evaluation | Side, name: str) -> Side:
    return side if isinstance(side, Side) else side_of(side, name)


def _some(tasks: Iterable[str]) -> str:
    return some_of([repr(task) for task in tasks], 3) or "no task"


def _matching(base: Side, candidate: Side) -> Iterable[str]:
    """Refuse numbers made differently; warn where another version of the program made them."""
    names = dict.fromkeys([*base.signature, *candidate.signature])
    apart = [n for n in names if n not in MAY_DIFFER and _said(base, n) != _said(candidate, n)]
    if apart:
        how = "; ".join(f"{name}: {_said(base, name)} and {_said(candidate, name)}" for name in apart)
        raise GroupError(f"{base.name} and {candidate.name} were measured differently ({how}); measure both alike")
    if _said(base, "version") != _said(candidate, "version"):
        versions = f"{_said(base, 'version')} and {_said(candidate, 'version')}"
        yield f"measured by likewise {versions}: what a number means may have changed between them"


def _said(side: Side, name: str) -> str:
    return str(side.signature.get(name, "not said"))


def _common_k(pairs: Sequence[Pair]) -> int:
    """Largest k that at least half of the tasks with outcomes on both sides allow; 1 where there are none."""
    known = sorted((n for b, c in pairs if (n := min(len(b.outcomes), len(c.outcomes)))), reverse=True)
    return known[(len(known) + 1) // 2 - 1] if known else 1


def _cautions(pairs: Mapping[str, Pair]) -> Iterable[str]:
    partly = [task for task, both in pairs.items() if any(each.partly_measured for each in both)]
    if partly:
        yield f"RSD is a lower edge in {len(partly)} task(s) with cut runs or failed judgements: {_some(partly)}"
    uneven = [task for task, (b, c) in pairs.items() if b.valid != c.valid]
    if uneven:
        yield f"{len(uneven)} task(s) have more runs on one side: {_some(uneven)}; the CV of few runs is biased low"


def _difference(
    figure: Figure,
    pairs: Mapping[str, Pair],
    k: int,
    scores: Scores,
    confidence: float,
    power: float,
    resamples: int,
    seed: int,
) -> Difference:
    values: dict[str, tuple[float, float]] = {}
    left_out: dict[str, str] = {}
    for task, (b, c) in pairs.items():
        one, other = figure.value(b, k, scores), figure.value(c, k, scores)
        if isinstance(one, str):
            left_out[task] = f"base: {one}"
        elif isinstance(other, str):
            left_out[task] = f"candidate: {other}"
        else:
            values[task] = (one, other)
    table = np.array(list(values.values()), dtype=np.float64).reshape(-1, 2)
    change = table[:, 1] - table[:, 0]
    mean = bootstrap_mean(change, confidence, resamples, seed)
    testable = len(change) >= FEWEST_TASKS
    return Difference(
        figure=figure.name,
        title=figure.title.replace("^k", f"^{k}"),
        lower_is_better=figure.lower_is_better,
        share=figure.share,
        base=bootstrap_mean(table[:, 0], confidence, resamples, seed),
        candidate=bootstrap_mean(table[:, 1], confidence, resamples, seed),
        difference=mean,
        p_value=paired_permutation_p(change, resamples, seed) if testable else None,
        p_reason=None if testable else _untestable(len(change)),
        tasks=len(change),
        left_out=left_out,
        detectable=None
        if mean.stderr is None
        else detectable_difference(mean.stderr, len(change), power, 1 - confidence),
        needed=_needed(figure, [pairs[task] for task in values], change, power, 1 - confidence),
    )


def _untestable(tasks: int) -> str:
    """Why so few tasks have no p-value."""
    if not tasks:
        return "no shared task has this figure on both sides"
    best = f"flipping the signs of {tasks} task{'s' if tasks > 1 else ''} gives a p-value of {2 / 2**tasks:.2g} at best"
    return f"{best}; {FEWEST_TASKS} tasks are the fewest that can decide"


def _judged(differences: Sequence[Difference], deciding: set[str], alpha: float) -> tuple[Difference, ...]:
    """Adjusted p-values and verdicts, family by family."""
    adjusted: dict[str, float] = {}
    for family in (True, False):
        members = [d for d in differences if (d.figure in deciding) is family and d.p_value is not None]
        corrected = holm(np.array([d.p_value for d in members], dtype=np.float64))
        adjusted |= {d.figure: float(p) for d, p in zip(members, corrected, strict=True)}
    return tuple(d.called(adjusted.get(d.figure), alpha) for d in differences)


def _needed(figure: Figure, pairs: Sequence[Pair], change: np.ndarray, power: float, alpha: float) -> Needed:
    """What would decide, if the true difference is the one seen: more runs of these tasks, or more tasks."""
    n = len(change)
    if n < 2:
        return Needed(None, None, "one task shows no spread" if n else "no task has this figure on both sides")
    mean = float(change.mean())
    if mean == 0:
        return Needed(None, None, "no difference is seen")
    variance = float(change.var(ddof=1))
    tasks = tasks_for_difference(math.sqrt(variance), abs(mean), power, alpha)
    more_tasks = None if tasks is None else max(0, max(tasks, FEWEST_TASKS) - n)
    noises = [figure.noise(task) for both in pairs for task in both]
    known = [noise for noise in noises if noise is not None]
    if len(known) < len(noises) or not any(known):
        return Needed(None, more_tasks, "the noise of single runs is not known: more tasks decide, more runs may not")
    noise = 2 * sum(known) / len(known)
    between = max(0.0, variance - noise)
    one_unit = detectable_difference(1.0, n, power, alpha) or math.inf
    room = n * (mean / one_unit) ** 2 - between
    if room <= 0 or n < FEWEST_TASKS:
        return Needed(None, more_tasks, "these tasks differ too much among themselves: only more tasks decide")
    runs = sum(b.valid + c.valid for b, c in pairs) / (2 * n)
    more = max(0, math.ceil(runs * (noise / room - 1)))
    if more > MOST_RUNS:
        return Needed(None, more_tasks, f"over {MOST_RUNS:,} further runs a task")
    return Needed(more, more_tasks, None)


def _tasks(
    pairs: Mapping[str, Pair], between: Mapping[str, TwoVersions] | None, alpha: float
) -> tuple[TaskChange, ...]:
    between = between or {}
    spread = {task: p for task, found in between.items() if (p := found.difference_p) is not None}
    shift = {task: p for task, found in between.items() if (p := found.shift_p) is not None}
    success = {
        task: fisher_exact_p((sum(b.outcomes), sum(c.outcomes)), (len(b.outcomes), len(c.outcomes)))
        for task, (b, c) in pairs.items()
        if b.outcomes and c.outcomes
    }
    adjusted = [_over_tasks(p_values) for p_values in (spread, success, shift)]
    return tuple(
        TaskChange.made(
            b,
            c,
            between.get(task),
            success.get(task),
            (adjusted[0].get(task), adjusted[1].get(task), adjusted[2].get(task)),
            alpha,
        )
        for task, (b, c) in pairs.items()
    )


def _over_tasks(p_values: Mapping[str, float]) -> dict[str, float]:
    corrected = benjamini_hochberg(np.array(list(p_values.values()), dtype=np.float64))
    return dict(zip(p_values, corrected.tolist(), strict=True))
