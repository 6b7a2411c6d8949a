"""Settling pairs from other pairs: where A and B say the same and B relates to C, A relates to C in the same way.

This saves judging and changes labels, because a real judge is not transitive. It is a named option, off by default;
what is settled so bears the rule "class" and is never written into the label store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from likewise.core.labels import Judgement, Relation
from likewise.core.union_find import UnionFind

__all__ = ["CLASS_RULE", "Outcome", "settle_by_classes"]

CLASS_RULE: Final = "class"
"""Rule of a judgement that was copied from another pair."""

TextPair: TypeAlias = tuple[str, str]
Outcome: TypeAlias = "Judgement | str"
Ask: TypeAlias = Callable[[Sequence[TextPair]], Mapping[TextPair, Outcome]]
Guard: TypeAlias = Callable[[Judgement, TextPair], Judgement]


@dataclass(slots=True)
class _Scope:
    """What is known within one scope. `settled` also holds what was copied; only judged pairs are copied from."""

    pending: dict[TextPair, None]
    classes: UnionFind[str] = field(default_factory=UnionFind)
    judged: dict[TextPair, Judgement] = field(default_factory=dict)
    settled: dict[TextPair, Outcome] = field(default_factory=dict)

    def next_pairs(self) -> list[TextPair]:
        """The pending pairs of one text in each part of the scope: that with most of them, of equals the first."""
        degree = Counter(text for pair in self.pending for text in pair)
        linked: UnionFind[str] = UnionFind()
        for pair in self.pending:
            linked.union(*pair)
        pivot: dict[str, str] = {}
        for text in degree:  # in order of first appearance
            root = linked.find(text)
            if root not in pivot or degree[text] > degree[pivot[root]]:
                pivot[root] = text
        return [pair for pair in self.pending if pivot[linked.find(pair[0])] in pair]

    def take(self, answers: Mapping[TextPair, Outcome], asked: Sequence[TextPair], guard: Guard) -> None:
        """Keep what the judge said, and settle what now follows from it."""
        for pair in asked:
            outcome = answers[pair]
            self.settled[pair] = outcome
            del self.pending[pair]
            if isinstance(outcome, Judgement):
                self.judged[pair] = outcome
                if outcome.relation is Relation.EQUIVALENT:
                    self.classes.union(*pair)
        known = self._between_classes()
        for pair in list(self.pending):
            a, b = (self.classes.find(text) for text in pair)
            found = known.get((a, b))
            if found is not None:
                copied = Judgement(found.relation, found.forward, found.backward, CLASS_RULE)
                self.settled[pair] = guard(copied, pair)
                del self.pending[pair]

    def _between_classes(self) -> dict[tuple[str, str], Judgement]:
        """For each two classes the judgement made first between them; within one class, its least sure equivalence."""
        known: dict[tuple[str, str], Judgement] = {}
        for (first, second), judgement in self.judged.items():
            a, b = self.classes.find(first), self.classes.find(second)
            if a != b:
                known.setdefault((a, b), judgement)
                known.setdefault((b, a), judgement.flipped)
            elif judgement.relation is Relation.EQUIVALENT and (
                (a, a) not in known or _surety(judgement) < _surety(known[a, a])
            ):
                known[a, a] = judgement
        return known


def _surety(judgement: Judgement) -> float:
    return min(judgement.forward[0], judgement.backward[0])


def settle_by_classes(scopes: Sequence[Sequence[TextPair]], ask: Ask, guard: Guard) -> dict[TextPair, Outcome]:
    """Settle pairs of texts, asking only where no class of equivalent texts tells.

    Round by round, one text of each linked part of each scope is compared with all that it is still to be compared
    with; texts found equivalent form classes (union-find), and every pending pair of two members of classes between
    which something was judged takes that judgement. Scopes know nothing of each other, so what is settled in one does
    not depend on which others there are.

    Args:
        scopes: Pairs that may settle each other, in a fixed order; a pair belongs to one scope.
        ask: Judges pairs; called once a round for all scopes.
        guard: Corrects a judgement that was copied to a pair (the slot guard holds for it too).

    Returns:
        The outcome of every pair.
    """
    open_scopes = [_Scope(dict.fromkeys(pairs)) for pairs in scopes]
    outcomes: dict[TextPair, Outcome] = {}
    while open_scopes:
        wanted = [scope.next_pairs() for scope in open_scopes]
        answers = ask([pair for pairs in wanted for pair in pairs])
        for scope, asked in zip(open_scopes, wanted, strict=True):
            scope.take(answers, asked, guard)
        for scope in open_scopes:
            if not scope.pending:
                outcomes |= scope.settled
        open_scopes = [scope for scope in open_scopes if scope.pending]
    return outcomes
