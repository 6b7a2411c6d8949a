"""From pairs of actions to relations: identical -> tool rules -> slot guard -> judge, each distinct pair once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeAlias

import numpy as np

from likewise.backends.aligned import aligned_verdict
from likewise.backends.label_store import LabelStore
from likewise.backends.lone_value import lone_value
from likewise.backends.opposites import are_opposites
from likewise.backends.slots import RuleVerdict, apply_verdict, slot_verdict
from likewise.backends.tool_rules import ToolRules
from likewise.core.group import RolloutGroup
from likewise.core.labels import NOT_MEASURED, Judgement, PairLabels, Relation
from likewise.core.protocols import Judge, Progress, no_progress
from likewise.core.rollout import Action
from likewise.core.state_text import action_key
from likewise.scoring.classes import Outcome, settle_by_classes
from likewise.scoring.stored_judge import StoredJudge, TextPair, ordered
from likewise.scoring.tool_inventory import logged_hints

__all__ = ["ActionLabels", "DistinctPairs", "Labeller", "distinct_pair", "label_pairs", "pair_labels"]

DistinctPairs: TypeAlias = dict[TextPair, tuple[Action, Action]]

NOTHING_SAID = "neither action says or calls anything: two empty completions are no agreement"
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

    def settle(self, pair: TextPair, outcome: Outcome) -> None:
        """Record a judgement, or the reason why there is none, of an ordered pair."""
        if isinstance(outcome, Judgement):
            self._judgements[pair] = outcome
        else:
            self._failures[pair] = outcome


@dataclass(slots=True)
class Labeller:
    """Settles pairs of actions; everything that `settle` has settled stays known.

    Attributes:
        judge: Asked only for texts that no rule settles.
        rules: How tool calls are compared.
        labels: All that was settled.
        by_classes: Settle what follows from other pairs without asking (scoring.classes); changes labels.
        by_class: Pairs of texts settled so far without asking, where `by_classes` is on.
    """

    judge: StoredJudge
    rules: ToolRules = field(default_factory=ToolRules)
    labels: ActionLabels = field(default_factory=ActionLabels)
    by_classes: bool = False
    by_class: int = 0

    def settle(self, pairs: Iterable[tuple[Action, Action]]) -> ActionLabels:
        """Settle each distinct pair; the order of pairs does not change any answer."""
        waiting: DistinctPairs = {}
        for first, second in pairs:
            key, actions = distinct_pair(first, second)
            if key not in self.labels and key not in waiting:
                waiting[key] = actions
        for key, outcome in self.decide(waiting):
            self.labels.settle(key, outcome)
        return self.labels

    def decide(
        self, pairs: DistinctPairs, scopes: Mapping[TextPair, Hashable] | None = None
    ) -> Iterator[tuple[TextPair, Outcome]]:
        """The judgement of each pair, or the reason why there is none; none of it is remembered here.

        Args:
            pairs: What `distinct_pair` gave, each pair once.
            scopes: Which pairs may settle each other where `by_classes` is on: those of one scope; all where None.
        """
        plans = {
            key: self.rules.plan_action(*actions)
            for key, actions in pairs.items()
            if not (actions[0].is_empty and actions[1].is_empty)
        }
        needed: dict[TextPair, Hashable] = {}
        for key, each in plans.items():
            scope = scopes[key] if scopes is not None else None
            for texts in each.needed_texts:
                needed.setdefault(ordered(*texts), scope)
        judged = self._judge_texts(needed)
        for key in pairs:
            plan = plans.get(key)
            if plan is None:
                yield key, NOTHING_SAID
                continue
            answers = {pair: judged[pair] for pair in (ordered(*texts) for texts in plan.needed_texts)}
            failed = [answer for answer in answers.values() if isinstance(answer, str)]
            if failed:
                yield key, failed[0]
                continue
            known = {pair: answer for pair, answer in answers.items() if isinstance(answer, Judgement)}
            flipped = {(b, a): judgement.flipped for (a, b), judgement in known.items()}
            yield key, plan.resolve({**flipped, **known})

    def _judge_texts(self, pairs: Mapping[TextPair, Hashable]) -> dict[TextPair, Outcome]:
        """Rules, then the judge: for canonical texts (and their scopes); a reason where the judge fails."""
        outcomes: dict[TextPair, Outcome] = {}
        caps: dict[TextPair, RuleVerdict | None] = {}
        for pair in pairs:
            if pair[0] == pair[1]:
                outcomes[pair] = Judgement.certain(Relation.EQUIVALENT, "identical")
            elif max(map(len, pair)) > MAX_CHARACTERS:
                outcomes[pair] = f"a text of over {MAX_CHARACTERS:,} characters is a dump, not an action"
            elif (verdict := slot_verdict(*pair)) is not None and not verdict.is_cap:
                outcomes[pair] = Judgement.certain(verdict.relation, verdict.rule)
            elif are_opposites(*pair):
                outcomes[pair] = Judgement.certain(Relation.CONTRADICTORY, "opposites")
            elif (words := aligned_verdict(*pair)) is not None:
                outcomes[pair] = Judgement.certain(words.relation, words.rule)
            else:
                caps[pair] = verdict
        if not self.by_classes:
            return outcomes | _guarded(self.judge.ask(list(caps)), caps)
        by_scope: dict[Hashable, list[TextPair]] = {}
        for pair in caps:
            by_scope.setdefault(pairs[pair], []).append(pair)
        asked_before = self.judge.asked
        outcomes |= settle_by_classes(
            list(by_scope.values()),
            ask=lambda wanted: _guarded(self.judge.ask(wanted), caps),
            guard=lambda judgement, pair: _capped(judgement, pair, caps[pair]),
        )
        self.by_class += len(caps) - (self.judge.asked - asked_before)
        return outcomes


def _guarded(
    answers: Mapping[TextPair, Outcome], caps: Mapping[TextPair, RuleVerdict | None]
) -> dict[TextPair, Outcome]:
    return {
        pair: answer if isinstance(answer, str) else _capped(answer, pair, caps[pair])
        for pair, answer in answers.items()
    }


def _capped(judgement: Judgement, pair: TextPair, cap: RuleVerdict | None) -> Judgement:
    """The judgement under the caps of its texts. They touch an equivalence only, and most answers are none."""
    if judgement.relation is not Relation.EQUIVALENT:
        return judgement
    return apply_verdict(judgement, lone_value(*pair) or cap)


def distinct_pair(first: Action, second: Action) -> tuple[TextPair, tuple[Action, Action]]:
    """What tells a pair of actions from others, in either order; and the actions in the order of that key."""
    a, b = action_key(first), action_key(second)
    pair = ordered(a, b)
    return pair, ((first, second) if (a, b) == pair else (second, first))


def time_aligned_pairs(group: RolloutGroup) -> Iterator[tuple[Action, Action]]:
    """The actions of each pair of valid rollouts at each turn that both have."""
    for first, second in combinations([rollout.actions for rollout in group.valid], 2):
        yield from zip(first, second, strict=False)


def pair_labels(group: RolloutGroup, labels: ActionLabels) -> PairLabels:
    """What is known of a group's pairs, as arrays; cells without two actions, or failed, are not measured."""
    turns = max(group.lengths, default=0)
    shape = (len(group.pairs), turns)
    relation = np.full(shape, NOT_MEASURED, dtype=np.int8)
    forward = np.full((*shape, 3), np.nan, dtype=np.float32)
    backward = np.full((*shape, 3), np.nan, dtype=np.float32)
    rule: list[tuple[str | None, ...]] = []
    for p, (first, second) in enumerate(combinations([rollout.actions for rollout in group.valid], 2)):
        row: list[str | None] = [None] * turns
        for t, (a, b) in enumerate(zip(first, second, strict=False)):
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
        rules: How tool calls are compared; the default table where None. Annotations that the log carries are added.
        store: Remembers judgements between calls.
        progress: Display of the judge's work.

    Returns:
        Relations as arrays *(pairs, turns)*.
    """
    rules = (rules or ToolRules()).with_hints(logged_hints(group.rollouts))
    labeller = Labeller(StoredJudge(judge, store, progress), rules)
    return pair_labels(group, labeller.settle(time_aligned_pairs(group)))
