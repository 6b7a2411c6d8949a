"""From pairs of actions to relations: identical -> tool rules -> slot guard -> judge, each distinct pair once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from likewise.backends.label_store import LabelStore
from likewise.backends.slots import apply_slot_guard, slot_verdict
from likewise.backends.tool_rules import ActionPlan, ToolRules
from likewise.core.group import RolloutGroup
from likewise.core.labels import NOT_MEASURED, Judgement, PairLabels, Relation
from likewise.core.protocols import Judge, Progress, no_progress
from likewise.core.rollout import Action
from likewise.core.state_text import action_key
from likewise.scoring.stored_judge import StoredJudge, TextPair, ordered

__all__ = ["ActionLabels", "Labeller", "label_pairs", "pair_labels"]

MAX_CHARACTERS = 50_000
"""Longest text that is judged, by the slot guard as by the judge."""


@dataclass(slots=True)
class ActionLabels:
    """Judgements of pairs of actions, looked up from either side; a pair that failed has a reason instead."""

    _judgements: dict[TextPair, Judgement] = field(default_factory=dict)
    _failures: dict[TextPair, str] = field(default_factory=dict)

    def of(self, first: Action, second: Action) -> Judgement | None:
        """The judgement with `first` as first; None where the pair could not be judged.

        Raises:
            KeyError: The pair was never asked for.
        """
        a, b = action_key(first), action_key(second)
        pair = ordered(a, b)
        if pair in self._failures:
            return None
        judgement = self._judgements[pair]
        return judgement if (a, b) == pair else judgement.flipped

    def __contains__(self, pair: TextPair) -> bool:
        """Whether this ordered pair of canonical texts is settled."""
        return pair in self._judgements or pair in self._failures

    def asked(self, first: Action, second: Action) -> bool:
        """Whether this pair was ever asked for."""
        return ordered(action_key(first), action_key(second)) in self

    def failure(self, first: Action, second: Action) -> str | None:
        """Why this pair could not be judged; None where it was."""
        return self._failures.get(ordered(action_key(first), action_key(second)))

    @property
    def failures(self) -> dict[TextPair, str]:
        """Why each failed pair could not be judged."""
        return dict(self._failures)

    @property
    def rules(self) -> Counter[str]:
        """How many distinct pairs each rule settled."""
        return Counter(judgement.rule for judgement in self._judgements.values())

    def settle(self, pair: TextPair, outcome: Judgement | str) -> None:
        """Record a judgement, or the reason why there is none, of an ordered pair."""
        if isinstance(outcome, Judgement):
            self._judgements[pair] = outcome
        else:
            self._failures[pair] = outcome


@dataclass(slots=True)
class Labeller:
    """Settles pairs of actions; everything it has settled stays known.

    Attributes:
        judge: Asked only for texts that no rule settles.
        rules: How tool calls are compared.
        labels: All that was settled.
    """

    judge: StoredJudge
    rules: ToolRules = field(default_factory=ToolRules)
    labels: ActionLabels = field(default_factory=ActionLabels)

    def settle(self, pairs: Iterable[tuple[Action, Action]]) -> ActionLabels:
        """Settle each distinct pair; the order of pairs does not change any answer."""
        plans: dict[TextPair, ActionPlan] = {}
        for first, second in pairs:
            a, b = action_key(first), action_key(second)
            pair = ordered(a, b)
            if pair not in self.labels and pair not in plans:
                plans[pair] = self.rules.plan_action(*((first, second) if (a, b) == pair else (second, first)))
        needed = dict.fromkeys(ordered(*texts) for plan in plans.values() for texts in plan.needed_texts)
        judged = self._judge_texts(list(needed))
        for pair, plan in plans.items():
            texts = [ordered(*needed_pair) for needed_pair in plan.needed_texts]
            failed = [outcome for text in texts if isinstance(outcome := judged[text], str)]
            if failed:
                self.labels.settle(pair, failed[0])
                continue
            known = {text: outcome for text in texts if isinstance(outcome := judged[text], Judgement)}
            flipped = {(b, a): judgement.flipped for (a, b), judgement in known.items()}
            self.labels.settle(pair, plan.resolve({**flipped, **known}))
        return self.labels

    def _judge_texts(self, pairs: Sequence[TextPair]) -> dict[TextPair, Judgement | str]:
        """Slot guard, then judge, for pairs of canonical texts; a reason where the judge fails."""
        outcomes: dict[TextPair, Judgement | str] = {}
        for pair in pairs:
            if pair[0] == pair[1]:
                outcomes[pair] = Judgement.certain(Relation.EQUIVALENT, "identical")
            elif max(map(len, pair)) > MAX_CHARACTERS:
                outcomes[pair] = f"a text of over {MAX_CHARACTERS:,} characters is a dump, not an action"
            elif (verdict := slot_verdict(*pair)) is not None and not verdict.is_cap:
                outcomes[pair] = Judgement.certain(verdict.relation, verdict.rule)
        answers = self.judge.ask([pair for pair in pairs if pair not in outcomes])
        for pair, answer in answers.items():
            outcomes[pair] = answer if isinstance(answer, str) else apply_slot_guard(answer, *pair)
        return outcomes


def time_aligned_pairs(group: RolloutGroup) -> Iterator[tuple[Action, Action]]:
    """The actions of each pair of valid rollouts at each turn that both have."""
    for i, j in group.pairs:
        yield from zip(group.valid[i].actions, group.valid[j].actions, strict=False)


def pair_labels(group: RolloutGroup, labels: ActionLabels) -> PairLabels:
    """What is known of a group's pairs, as arrays; cells without two actions, or failed, are not measured."""
    turns = max(group.lengths, default=0)
    shape = (len(group.pairs), turns)
    relation = np.full(shape, NOT_MEASURED, dtype=np.int8)
    forward = np.full((*shape, 3), np.nan, dtype=np.float32)
    backward = np.full((*shape, 3), np.nan, dtype=np.float32)
    rule: list[tuple[str | None, ...]] = []
    for p, (i, j) in enumerate(group.pairs):
        row: list[str | None] = [None] * turns
        for t, (a, b) in enumerate(zip(group.valid[i].actions, group.valid[j].actions, strict=False)):
            judgement = labels.of(a, b)
            if judgement is not None:
                relation[p, t] = judgement.relation
                forward[p, t], backward[p, t] = judgement.forward, judgement.backward
                row[t] = judgement.rule
        rule.append(tuple(row))
    pairs = np.array(group.pairs, dtype=np.int64).reshape(-1, 2)
    return PairLabels(pairs, relation, forward, backward, tuple(rule))


def label_pairs(
    group: RolloutGroup,
    *,
    judge: Judge,
    rules: ToolRules | None = None,
    store: LabelStore | None = None,
    progress: Progress = no_progress,
) -> PairLabels:
    """Judge the actions of all pairs of valid rollouts of one task, turn by turn.

    Args:
        group: Rollouts of one task.
        judge: Asked for texts that no rule settles.
        rules: How tool calls are compared; the default table where None.
        store: Remembers judgements between calls.
        progress: Display of the judge's work.

    Returns:
        Relations as arrays *(pairs, turns)*.
    """
    labeller = Labeller(StoredJudge(judge, store, progress), rules or ToolRules())
    return pair_labels(group, labeller.settle(time_aligned_pairs(group)))
