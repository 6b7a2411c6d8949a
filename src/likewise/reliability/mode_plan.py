"""What a mode costs before it is paid for: runs of a query on average, for an agent that agrees with itself so often.

Exact, by walking every sequence of answers through the mode's own state machine (policy.py). What the agent says
otherwise is taken at both extremes: always the same other answer, or another one each time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from likewise.reliability.policy import Evidence, Mode, Policy
from likewise.reliability.stopping import fewest_runs

__all__ = ["ModePlan", "Otherwise", "plan_modes"]

MOST_RUNS = 60
"""Runs of a mode up to which sequences are walked through."""


@dataclass(frozen=True, slots=True)
class Otherwise:
    """What a mode does where the agent's other answers are of one kind.

    Attributes:
        runs: Runs of a query, on average.
        wrong: Probability that what is served (sequential: settled on) is not the agent's most frequent answer.
        undecided: Probability that the budget is spent and nothing is settled; None for modes that settle nothing.
    """

    runs: float
    wrong: float
    undecided: float | None


@dataclass(frozen=True, slots=True)
class ModePlan:
    """A mode's runs: at least, at most, and on average where the other answers are one answer or all different."""

    mode: Mode
    fewest: int
    most: int
    one_other: Otherwise
    all_different: Otherwise


def plan_modes(agreement: float, runs: int | None = None, error: float = 0.1) -> tuple[ModePlan, ...]:
    """All modes, for an agent that gives its most frequent answer with this probability.

    Args:
        agreement: In (0.5, 1].
        runs: Runs of standard and full mode, of adaptive mode where two are not enough, and the most of sequential
            mode; 3, 5 and 12 where None. So few that sequential mode cannot end with them leave it its 12.
        error: Of sequential mode.

    Returns:
        One plan a mode.

    Raises:
        ValueError: An agreement outside (0.5, 1], or numbers that a mode refuses.
    """
    if not 0.5 < agreement <= 1:
        raise ValueError(
            f"an agreement lies in (0.5, 1], got {agreement}: at or below a half no answer is the usual one"
        )
    given = {} if runs is None else {"runs": runs, "escalate_runs": runs}
    if runs is not None and runs >= fewest_runs(error):
        given["budget"] = runs
    return tuple(_plan(Policy(mode, error=error, **given), agreement) for mode in Mode)


def _plan(policy: Policy, agreement: float) -> ModePlan:
    if policy.most > MOST_RUNS:
        raise ValueError(f"{policy.mode}: up to {MOST_RUNS} runs are walked through, got {policy.most}")
    return ModePlan(
        policy.mode,
        policy.fewest,
        policy.most,
        _walk(policy, agreement, apart=False),
        _walk(policy, agreement, apart=True),
    )


def _walk(policy: Policy, agreement: float, *, apart: bool) -> Otherwise:
    """The means over all sequences; class 0 is the most frequent answer."""
    runs = wrong = undecided = 0.0
    for classes, probability in _ends(policy, agreement, apart):
        runs += probability * len(classes)
        settled = policy.settled(_evidence(classes))
        if settled is False:
            undecided += probability
        elif _served(classes) != 0:
            wrong += probability
    return Otherwise(runs, wrong, undecided if policy.mode is Mode.SEQUENTIAL else None)


def _ends(policy: Policy, agreement: float, apart: bool) -> Iterator[_Weighed]:
    """Every sequence at which the mode stops, with its probability; one of those that the mode cannot tell apart."""
    waiting: list[dict[_Seen, _Weighed]] = [{} for _ in range(policy.most + 1)]
    waiting[0] = {_seen(()): ((), 1.0)}
    for level in waiting:  # a sequence only leads to longer ones
        for classes, probability in level.values():
            more = policy.next_step(_evidence(classes)).more
            if more == 0:
                yield classes, probability
                continue
            reached = {_seen(classes): (classes, probability)}
            for _ in range(more):
                reached = _longer(reached, agreement, apart)
            for longer, share in reached.values():
                _add(waiting[len(longer)], longer, share)


def _longer(sequences: dict[_Seen, _Weighed], agreement: float, apart: bool) -> dict[_Seen, _Weighed]:
    """The same with one run more."""
    longer: dict[_Seen, _Weighed] = {}
    for classes, probability in sequences.values():
        other = max(classes, default=0) + 1 if apart else 1
        for kind, share in ((0, agreement), (other, 1 - agreement)):
            if share > 0:
                _add(longer, (*classes, kind), probability * share)
    return longer


def _add(sequences: dict[_Seen, _Weighed], classes: tuple[int, ...], probability: float) -> None:
    known, so_far = sequences.get(_seen(classes), (classes, 0.0))
    sequences[_seen(classes)] = (known, so_far + probability)


_Weighed: TypeAlias = tuple[tuple[int, ...], float]
_Seen: TypeAlias = tuple[int, int, int, int]


def _seen(classes: tuple[int, ...]) -> _Seen:
    """All that modes look at: runs, runs of class 0, and where it and anything else came up first.

    Counts of a class after its first appearance, and what the first two runs were, follow from these, since the other
    answers are either one class or all different.
    """
    n, first = len(classes), classes.index(0) if 0 in classes else -1
    return n, classes.count(0), first, next((i for i, kind in enumerate(classes) if kind != 0), -1)


def _evidence(classes: tuple[int, ...]) -> Evidence:
    return Evidence(len(classes), 1 - _variance(classes) if len(classes) > 1 else None, False, classes)


def _variance(classes: tuple[int, ...]) -> float:
    """Share of pairs of runs that disagree (arXiv:2602.23271, Eq. 13)."""
    n = len(classes)
    return 1 - sum(count * (count - 1) for count in Counter(classes).values()) / (n * (n - 1))


def _served(classes: tuple[int, ...]) -> int:
    """The largest class; of equally large ones the first."""
    return Counter(classes).most_common(1)[0][0]
