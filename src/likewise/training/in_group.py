"""Siblings of one prompt compared with each other: labels, distances, classes. No learned model, no ground truth."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from likewise.backends.label_store import LabelStore
from likewise.backends.tool_rules import ToolRules
from likewise.core.group import RolloutGroup
from likewise.core.labels import Judgement, PairLabels, Relation
from likewise.core.protocols import Judge
from likewise.core.rollout import Rollout
from likewise.scoring.classes import Outcome
from likewise.scoring.label import DistinctPairs, Labeller, pair_labels, time_aligned_pairs
from likewise.scoring.score import ScoringOptions, group_distances, turn_classes
from likewise.scoring.stored_judge import StoredJudge, TextPair
from likewise.training.completions import Completion, groups_of
from likewise.training.portable import JudgeSource
from likewise.training.siblings import everywhere

__all__ = ["Siblings", "sibling_groups"]

REMEMBERED = 200_000
"""Pairs of actions whose relations are kept; then all are forgotten, and the label store (if any) answers again."""


def sibling_groups(completions: Sequence[Completion]) -> Iterator[tuple[RolloutGroup, list[tuple[int, int]]]]:
    """The rollouts of each prompt that this process has completions of, those of other processes included.

    Args:
        completions: This process's own.

    Returns:
        Each group with (position among `completions`, position in the group) of its members that are this process's.
    """
    everyone, own = everywhere([(completion.key, completion.rollout) for completion in completions])
    keys = [key for key, _ in everyone]
    for members in groups_of(keys):
        here = [(position - own.start, k) for k, position in enumerate(members) if own.start <= position < own.stop]
        if here:
            # Under names of the group: numbers of other processes would occur twice.
            key = keys[members[0]]
            rollouts = (replace(everyone[at][1], task_id=key, run_id=str(k)) for k, at in enumerate(members))
            yield RolloutGroup(key, tuple(rollouts)), here


class _EveryActCounts(Labeller):
    """Settles pairs of a policy's acts: to say nothing twice is neither agreement nor unknown, but neutral.

    In a log, two empty completions are no evidence and not measured. A policy that could leave the measure by saying
    nothing would be trained to.
    """

    def decide(
        self, pairs: DistinctPairs, scopes: Mapping[TextPair, Hashable] | None = None
    ) -> Iterator[tuple[TextPair, Outcome]]:
        """As elsewhere, but for two actions that are both empty."""
        for key, outcome in super().decide(pairs, scopes):
            yield key, _SILENT if all(action.is_empty for action in pairs[key]) else outcome


_SILENT = Judgement.certain(Relation.NEUTRAL, "nothing said")


class Siblings:
    """Compares the rollouts of a group; what was judged stays known."""

    def __init__(
        self,
        judge: str | Judge,
        rules: ToolRules | None = None,
        store: str | Path | None = None,
        options: ScoringOptions | None = None,
    ) -> None:
        """Load and open nothing yet.

        Args:
            judge: Name or judge, asked only for texts that no rule settles.
            rules: How tool calls are compared; the default table where None.
            store: File that remembers judgements between processes; none where None.
            options: Discount, length policy, hard or soft distances.
        """
        self.options = options or ScoringOptions()
        self._source, self._rules, self._path = JudgeSource(judge), rules, store
        self._labeller: Labeller | None = None
        self._store: LabelStore | None = None
        self._pairs = 0

    def labels(self, group: RolloutGroup) -> PairLabels:
        """Relations of all pairs, turn by turn.

        Raises:
            BackendError: The judge or its store does not work.
        """
        pairs = list(time_aligned_pairs(group))
        self._pairs += len(pairs)
        if self._labeller is None or self._pairs > REMEMBERED:
            self._labeller, self._pairs = self._new_labeller(), len(pairs)
        return pair_labels(group, self._labeller.settle(pairs))

    def _new_labeller(self) -> Labeller:
        if self._store is None and self._path is not None:
            self._store = LabelStore(Path(self._path))
        return _EveryActCounts(StoredJudge(self._source.judge, self._store), self._rules or ToolRules())

    def distances(self, group: RolloutGroup) -> tuple[PairLabels, Float[np.ndarray, "pairs turns"]]:
        """Labels, and the distance of each pair at each turn, ends filled in; NaN where not measured."""
        labels = self.labels(group)
        return labels, group_distances(group, labels, self.options)[0]

    def classes(self, group: RolloutGroup) -> Int[np.ndarray, "turns runs"]:
        """Class of each run at each turn by mutual entailment; -1 where not measured."""
        return turn_classes(group, self.labels(group))

    def answer_classes(self, group: RolloutGroup) -> Int[np.ndarray, " runs"]:
        """Class of each run by its last action alone; -1 where it has none or none could be judged."""
        last = tuple(_only_last(rollout) for rollout in group.rollouts)
        acting = [k for k, rollout in enumerate(last) if rollout.turns]
        classes: Int[np.ndarray, " runs"] = np.full(len(last), -1, dtype=np.int64)
        if len(acting) > 1:
            part = RolloutGroup(group.task_id, tuple(last[k] for k in acting))
            classes[acting] = self.classes(part)[0]
        return classes

    def close(self) -> None:
        """Close the store; it is opened again on use."""
        if self._store is not None:
            self._store.close()
        self._store = self._labeller = None

    def __getstate__(self) -> dict[str, Any]:
        """The settings, without what was judged and opened."""
        return {**self.__dict__, "_labeller": None, "_store": None, "_pairs": 0}


def _only_last(rollout: Rollout) -> Rollout:
    return replace(rollout, turns=rollout.turns[-1:])
