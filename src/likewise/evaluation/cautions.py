"""What a reader should know before trusting the numbers of a set of rollouts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from likewise.core.group import RolloutGroup
from likewise.core.state_text import canonical_json

__all__ = ["cautions"]

WHO = ("model", "agent", "domain", "policy_sha256")
"""Facts of a log that say who ran and in which world; rollouts that differ in one are not repeats of each other."""


def cautions(groups: Sequence[RolloutGroup]) -> tuple[str, ...]:
    """Warnings on pooled agents and on rewards without outcomes; none where all is well."""
    return (*_pooled(groups), *_without_outcome(groups))


def _pooled(groups: Sequence[RolloutGroup]) -> Iterator[str]:
    for fact in WHO:
        mixed = {}
        for group in groups:
            values = sorted({canonical_json(r.meta[fact]) for r in group.valid if r.meta.get(fact) is not None})
            if len(values) > 1:
                mixed[group.task_id] = values
        if mixed:
            task, values = next(iter(mixed.items()))
            yield (
                f"{len(mixed)} task(s) mix runs of different {fact} (task {task}: {', '.join(values[:3])}): "
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
