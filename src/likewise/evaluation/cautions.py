"""What a reader should know before trusting the numbers of a set of rollouts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from likewise.core.errors import GroupError
from likewise.core.group import RolloutGroup
from likewise.core.provenance import Mixture, Mixtures
from likewise.core.rollout import StopReason

__all__ = ["cautions", "refuse_mixtures"]


def refuse_mixtures(groups: Sequence[RolloutGroup]) -> None:
    """Refuse tasks whose runs are of different models, agents, worlds or prompts: they are no repeats of each other.

    Raises:
        GroupError: Some task mixes; it names what differs and two runs that differ in it.
    """
    found = _mixtures(groups)
    if found:
        tasks = len({each.task_id for each in found})
        many = "1 task mixes" if tasks == 1 else f"{tasks} tasks mix"
        raise GroupError(
            f"{many} runs that are no repeats of one agent ({found[0]}); report them apart, or pool them with --pool "
            "(pool=True in Python)"
        )


def cautions(groups: Sequence[RolloutGroup]) -> tuple[str, ...]:
    """Warnings on tasks run once, pooled agents, rewards without outcomes, and outcomes that are known of some runs."""
    found = (_run_once, _pooled, _without_outcome, _cut_without_outcome, _failures_alone)
    return tuple(chain.from_iterable(each(groups) for each in found))


def _mixtures(groups: Sequence[RolloutGroup]) -> list[Mixture]:
    mixtures = Mixtures()
    for group in groups:
        for rollout in group.rollouts:
            mixtures.add(rollout)
    return mixtures.found()


def _run_once(groups: Sequence[RolloutGroup]) -> Iterator[str]:
    """The first thing a newcomer lacks: without repeats every number is undefined, each for a reason of its own."""
    if groups and all(len(group.valid) < 2 for group in groups) and any(group.valid for group in groups):
        yield (
            "no task has two valid runs, and a run is compared with other runs of its task: run each task at least "
            "twice, or see by `likewise inspect` whether tasks and runs were told apart as you mean them"
        )


def _pooled(groups: Sequence[RolloutGroup]) -> Iterator[str]:
    by_fact: dict[str, list[Mixture]] = {}
    for each in _mixtures(groups):
        by_fact.setdefault(each.fact, []).append(each)
    for fact, found in by_fact.items():
        yield (
            f"{len(found)} task(s) mix runs of different {fact.replace('_sha256', '')} ({found[0]}): "
            "their divergence is not one agent's own"
        )


def _without_outcome(groups: Sequence[RolloutGroup]) -> Iterator[str]:
    valid = [rollout for group in groups for rollout in group.valid]
    count = sum(rollout.reward is not None and rollout.success is None for rollout in valid)
    if count:
        yield (
            f"{count} run(s) have a reward but no success: what reward counts as success is for you to say; "
            'write "success": true or false beside it'
        )


def _cut_without_outcome(groups: Sequence[RolloutGroup]) -> Iterator[str]:
    """Beside known outcomes they would be failures in most harnesses, so leaving them out flatters the agent."""
    groups = [group for group in groups if any(rollout.success is not None for rollout in group.valid)]
    valid = [rollout for group in groups for rollout in group.valid]
    count = sum(rollout.stop is StopReason.CUT and rollout.success is None for rollout in valid)
    if count:
        yield (
            f"{count} run(s) were cut and have no outcome, so success and pass^k leave them out; where a cut run has "
            'failed, write "success": false'
        )


def _failures_alone(groups: Sequence[RolloutGroup]) -> Iterator[str]:
    """Where only failures are known, a limit told of them; the other runs may all have succeeded."""
    outcomes = [[rollout.success for rollout in group.valid] for group in groups]
    partial = [known for known in outcomes if False in known and None in known and True not in known]
    if partial:
        failed, unknown = (sum(known.count(each) for known in partial) for each in (False, None))
        yield (
            f"{len(partial)} task(s) have {failed} run(s) that are known to have failed and {unknown} of which no "
            "outcome is known: their success rate of 0% is one of failures alone"
        )
