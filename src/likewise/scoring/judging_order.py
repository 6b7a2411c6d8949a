"""The order in which a judge is asked: pairs that share texts side by side, short texts before long ones.

A judge keeps what it has read of a text for as long as memory allows, and fills batches with texts of one length. The
order costs no answer anything: answers are looked up by pair, and a pair's answer does not depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from likewise.core.union_find import UnionFind

__all__ = ["neighbours"]

TextPair: TypeAlias = tuple[str, str]

TILE = 64
"""Texts of one side that are compared with as many of the other before the next are looked at: a judge that remembers
twice as many texts reads each text of a clique of n at most n / 64 times, not n times."""


def neighbours(pairs: Sequence[TextPair]) -> list[TextPair]:
    """The pairs in an order that keeps those with common texts together.

    Pairs linked by common texts form a component; components come in order of appearance. Within one, texts are
    ranked by length and pairs are walked tile by tile of that ranking.
    """
    linked: UnionFind[str] = UnionFind()
    for first, second in pairs:
        linked.union(first, second)
    place: dict[str, int] = {}
    members: dict[str, dict[str, None]] = {}
    for pair in pairs:
        root = linked.find(pair[0])
        place.setdefault(root, len(place))
        members.setdefault(root, {}).update(dict.fromkeys(pair))
    rank = {
        text: position
        for texts in members.values()
        for position, text in enumerate(sorted(texts, key=lambda text: (len(text), text)))
    }

    def key(pair: TextPair) -> tuple[int, int, int, int, int]:
        low, high = sorted((rank[pair[0]], rank[pair[1]]))
        return place[linked.find(pair[0])], low // TILE, high // TILE, low, high

    return sorted(pairs, key=key)
