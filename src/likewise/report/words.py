"""What all faces of a report say alike: the order of tasks, the words for numbers, the reading in one sentence each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from likewise.core.estimate import Estimate
from likewise.core.rollout import Excluded, Rollout, StopReason
from likewise.evaluation.results import Evaluation, JudgeUse
from likewise.evaluation.uncertain import Uncertain
from likewise.metrics.bounds import Bound
from likewise.metrics.divergence import largest_divergence
from likewise.report.text import location, named, one_line
from likewise.scoring.results import Fork, ForkCause, ForkKind, GroupScore

__all__ = [
    "CONSISTENT_BELOW",
    "FORK_KINDS",
    "RIGHT_FROM",
    "SHARE_HINT",
    "Quadrant",
    "band_ends",
    "bound_sentence",
    "counted",
    "fork_cause",
    "headline_k",
    "headline_success",
    "interval",
    "judge_lines",
    "left_out",
    "location",
    "luck_line",
    "nothing_scored",
    "number",
    "outcome",
    "outcome_counts",
    "pass_hat",
    "percent",
    "quadrant",
    "readings",
    "reasons",
    "rsd_scale",
    "sizes_differ",
    "success_lines",
    "uncertain_line",
    "unplaced_reason",
    "worst_first",
]

CONSISTENT_BELOW = 0.25
"""RSD share below which a task is called consistent. A line to read by, not a theorem; every face states it."""
RIGHT_FROM = 0.5
"""Success rate from which a task is called right."""


SHARE_HINT = "of the largest RSD that so many turns allow"
"""What the RSD share is a share of."""


class Quadrant(StrEnum):
    """Where a task stands: consistency and correctness side by side."""

    RIGHT = "consistent and right"
    WRONG = "consistent and wrong"
    INCONSISTENT = "inconsistent"
    UNKNOWN = "not placed"
    """Divergence or success is not known well enough; `unplaced_reason` says which."""


_TOO_LITTLE = "too little was measured to say"
_NO_OUTCOME = "no outcome is known"


FORK_KINDS = {
    ForkKind.TOOL: "other tools, or a tool against words",
    ForkKind.ARGUMENT: "the same tools with other arguments",
    ForkKind.CLAIM: "words that do not mean the same",
    ForkKind.ORDER: "the same actions in another order",
    ForkKind.STOPPED: "one run had ended",
}

_CAUSES = {
    ForkCause.AGENT: "runs that had seen the same acted differently",
    ForkCause.ENVIRONMENT: "the runs had already seen something different",
}

_BOUNDS = {
    "trajectory_agreement": "The probability that two runs diverge by √RSD or more in total",
    "immediate_contradiction": "The probability that two runs contradict each other in their first action",
    "dominant_class": "The share of all runs in the largest class of equivalent first actions",
    "dominant_class_sharp": "The same share by the sharper form",
}


def worst_first(tasks: Iterable[GroupScore]) -> list[GroupScore]:
    """Tasks by falling RSD; those without one last, in order of the file."""
    return sorted(tasks, key=lambda task: math.inf if task.rsd.value is None else -task.rsd.value)


def quadrant(task: GroupScore) -> Quadrant:
    """Where a task stands; UNKNOWN where what was measured does not tell."""
    if unplaced_reason(task) is not None:
        return Quadrant.UNKNOWN
    if (task.rsd_share.value or 0.0) >= CONSISTENT_BELOW:
        return Quadrant.INCONSISTENT
    return Quadrant.RIGHT if (task.success_rate.value or 0.0) >= RIGHT_FROM else Quadrant.WRONG


def unplaced_reason(task: GroupScore) -> str | None:
    """Why a task stands in no quadrant; None where it stands in one."""
    divergence = task.rsd_share.value
    if divergence is None or _undecided(task.rsd_band, task.rsd_largest):
        return _TOO_LITTLE
    return _NO_OUTCOME if divergence < CONSISTENT_BELOW and task.success_rate.value is None else None


def _undecided(band: tuple[float, float] | None, largest: float) -> bool:
    """Whether the unmeasured turns decide between consistent and not; an end that is not a number decides nothing."""
    if band is None:
        return False
    low, high = (end / largest for end in band)
    return not (low >= CONSISTENT_BELOW or high < CONSISTENT_BELOW)


def rsd_scale(evaluation: Evaluation) -> str:
    """`0 alike, 5 apart throughout`: what the tasks' RSD can be at most, which their turns decide."""
    known = [task.rsd_largest for task in evaluation.tasks if task.rsd.defined]
    if not known:
        return f"0 alike, {largest_divergence(evaluation.signature.gamma):.3g} apart throughout"
    low, high = (f"{end:.3g}" for end in (min(known), max(known)))
    return f"0 alike, {high if low == high else f'{low} to {high}, by the turns of a task,'} apart throughout"


def number(value: float | None, digits: int = 2) -> str:
    """A number with fixed digits; a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}f}"


def percent(value: float | None) -> str:
    """A share as a whole percentage that never rounds a difference from 0 or 1 away."""
    if value is None:
        return "–"
    if 0 < value < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= value < 1 else f"{value:.0%}"


def interval(estimate: Estimate, *, share: bool = False) -> str:
    """`0.91 to 1.32`, or nothing where there is no interval."""
    if estimate.low is None or estimate.high is None:
        return ""
    low, high = (percent(end) if share else number(end) for end in (estimate.low, estimate.high))
    return f"{low.removesuffix('%')} to {high}"


def band_ends(band: tuple[float, float]) -> str:
    """`0.91 to 1.32`, with a third digit where the ends would read alike."""
    low, high = (number(end) for end in band)
    return f"{low} to {high}" if low != high else f"{number(band[0], 3)} to {number(band[1], 3)}"


def outcome(run: Rollout) -> str:
    """How a run came out, in one or two words."""
    if run.stop is StopReason.INVALID:
        return "invalid"
    result = {True: "success", False: "fail", None: "outcome unknown"}[run.success]
    return f"cut, {result}" if run.stop is StopReason.CUT else result


def fork_cause(fork: Fork) -> str:
    """Who made the runs part, in plain words."""
    return f"{fork.cause.value}: {_CAUSES[fork.cause]}"


def bound_sentence(name: str, bound: Bound) -> str:
    """A theorem's bound in plain words: what is limited, to what, from what; or why it says nothing."""
    what = _BOUNDS.get(name) or one_line(bound.name, 200)
    if bound.value is None:
        return f"{what}: nothing can be said ({one_line(bound.reason or 'no reason given', 200)})."
    return f"{what} is {bound.direction.value} {number(bound.value)} (from the {bound.basis.value})."


def headline_k(evaluation: Evaluation) -> int | None:
    """Largest k that at least half of the tasks with known outcomes have: one task with many runs speaks for none."""
    known = [count for task in evaluation.tasks if (count := len(_outcomes(task)))]
    enough = {k for k in evaluation.summary.pass_hat_k if 2 * sum(count >= k for count in known) >= len(known)}
    return max((k for k in enough if evaluation.summary.pass_hat_k[k].defined), default=None)


def sizes_differ(estimates: Mapping[int, Estimate], tasks: int) -> bool:
    """Whether an estimate for some k rests on fewer tasks than there are."""
    return any(estimate.n is not None and estimate.n < tasks for estimate in estimates.values())


def headline_success(evaluation: Evaluation) -> Estimate:
    """Success of all runs, those that failed in the harness as failures where there are any."""
    summary = evaluation.summary
    return summary.success_rate if summary.success_rate_all is None else summary.success_rate_all


def luck_line(evaluation: Evaluation) -> str:
    """How many tasks flip between runs, and what that means for two scores; nothing without repeated outcomes."""
    flips, gap = evaluation.summary.outcomes_flip, evaluation.summary.single_run_gap
    if flips.value is None or gap.value is None:
        return ""
    share = f"{percent(flips.value)} of {counted(flips.n or 0, 'task')} both succeed and fail"
    return f"{share}; two scores from a single run of each task differ by up to {100 * gap.value:.1f} points by luck"


def pass_hat(task: GroupScore, k: int) -> float | None:
    """Unbiased pass^k of one task: C(successes, k) / C(n, k); None with fewer than k known outcomes."""
    outcomes = _outcomes(task)
    return math.comb(sum(outcomes), k) / math.comb(len(outcomes), k) if len(outcomes) >= k else None


def success_lines(evaluation: Evaluation) -> list[str]:
    """The success rate as each denominator gives it: one line where no run failed in the harness, else one for each."""
    summary = evaluation.summary
    everything = summary.success_rate_all
    if everything is None or not everything.defined:
        return [_share(summary.success_rate)]
    known = [outcome for task in evaluation.tasks for outcome in _outcomes(task)]
    failed = summary.rollouts - summary.valid
    return [
        f"{_share(everything)}, mean over tasks, where the {counted(failed, 'run')} that failed in the harness count "
        f"as failures ({sum(known)} of {len(known) + failed} runs succeeded)",
        f"{_share(summary.success_rate)}, mean over tasks, without them ({sum(known)} of {len(known)})",
    ]


def _share(estimate: Estimate) -> str:
    if estimate.value is None:
        return "undefined: " + one_line(estimate.reason or "no reason given")
    bounds = interval(estimate, share=True)
    return percent(estimate.value) + (f" [{bounds}]" if bounds else " (no interval)")


def outcome_counts(evaluation: Evaluation) -> str:
    """How many outcomes the tasks have, where that differs: what pass^k and pass@k rest on."""
    by_count: dict[int, list[GroupScore]] = {}
    for task in evaluation.tasks:
        by_count.setdefault(len(_outcomes(task)), []).append(task)
    if len(by_count) < 2:
        return ""
    most = max(by_count, key=lambda count: len(by_count[count]))
    parts = [f"{most} in {counted(len(by_count[most]), 'task')}"]
    parts += [f"{n} in {_named(by_count[n])}" for n in sorted(by_count, reverse=True) if n != most]
    return "; ".join(parts)


def _outcomes(task: GroupScore) -> list[bool]:
    return [run.success for run in task.valid if run.success is not None]


def left_out(evaluation: Evaluation) -> list[Excluded]:
    """All that was not scored: records that never became rollouts, then the invalid rollouts of the tasks."""
    invalid = [
        Excluded(task.task_id, run.run_id, run.problem or "invalid", run.path)
        for task in evaluation.tasks
        for run in task.rollouts
        if not run.valid
    ]
    return [*evaluation.excluded, *invalid]


def reasons(records: Iterable[Excluded]) -> list[tuple[str, int, Excluded]]:
    """Reasons with how often each occurs and the first example, most frequent first."""
    first: dict[str, Excluded] = {}
    counts: Counter[str] = Counter()
    for record in records:
        reason = one_line(record.reason, 200)
        first.setdefault(reason, record)
        counts[reason] += 1
    return [(reason, count, first[reason]) for reason, count in counts.most_common()]


def judge_lines(use: JudgeUse, limit: int = 0) -> list[str]:
    """What judging cost, and, counted another way, which rule settled how many pairs (the first `limit`; 0: all)."""
    asked = f"{counted(use.from_model, 'text pair')} judged by the model, {use.from_store} known from the store"
    lines = [f"{counted(use.distinct_pairs, 'distinct pair')}; {asked}"]
    rules = sorted(use.by_rule.items(), key=lambda item: -item[1])
    shown = rules[:limit] if limit else rules
    if shown:
        more = f", {counted(len(rules) - len(shown), 'further rule')}" if len(rules) > len(shown) else ""
        lines.append("settled by: " + ", ".join(f"{one_line(rule, 40)} {count}" for rule, count in shown) + more)
    return [*lines, *(one_line(note, 300) for note in use.notes)]


def uncertain_line(uncertain: Uncertain) -> str:
    """How many judgements the judge is not sure of, in one sentence; nothing where it is sure of all."""
    if not uncertain.total:
        return ""
    pairs = counted(uncertain.distinct, "distinct pair")
    return (
        f"{uncertain.total} of the judged pairs of actions ({pairs}) have a confidence below {uncertain.below:g}; "
        "the JSON report lists them"
    )


def counted(count: int, noun: str) -> str:
    """`1 task`, `3 tasks`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _named(tasks: Sequence[GroupScore]) -> str:
    return named([task.task_id for task in tasks])


def nothing_scored(evaluation: Evaluation) -> str | None:
    """The sentence that a report without one scored run starts with; None where some run was scored."""
    if evaluation.summary.valid:
        return None
    return "No run could be scored; the reasons are below." if left_out(evaluation) else "No run could be scored."


def readings(evaluation: Evaluation) -> list[str]:
    """What the numbers say, in plain sentences, the one to act on first; none where no run was scored."""
    if nothing_scored(evaluation):
        return []
    tasks = worst_first(evaluation.tasks)
    placed = {standing: [task for task in tasks if quadrant(task) is standing] for standing in Quadrant}
    lines = []
    for standing in (Quadrant.WRONG, Quadrant.INCONSISTENT, Quadrant.RIGHT):
        if members := placed[standing]:
            lines.append(f"{_are(members)} {standing.value}: {_named(members)}.")
    causes = evaluation.summary.forks_by_cause
    if total := sum(causes.values()):
        agent = causes.get(ForkCause.AGENT.value, 0)
        cause = f"in {agent} of them the agent had seen the same and acted differently"
        lines.append(f"Runs part in {counted(total, 'task')}; {cause}.")
    for reason in (_TOO_LITTLE, _NO_OUTCOME):
        if members := [task for task in placed[Quadrant.UNKNOWN] if unplaced_reason(task) == reason]:
            lines.append(f"{_are(members)} {Quadrant.UNKNOWN.value}, {reason}: {_named(members)}.")
    return lines


def _are(tasks: Sequence[GroupScore]) -> str:
    return f"{counted(len(tasks), 'task')} {'is' if len(tasks) == 1 else 'are'}"
