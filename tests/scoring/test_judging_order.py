from __future__ import annotations

import random
from collections import OrderedDict
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from likewise.scoring.judging_order import TILE, neighbours

texts = st.text("abcdef", min_size=1, max_size=3)


@given(st.lists(st.tuples(texts, texts), max_size=30, unique=True))
def test_every_pair_is_there_once_and_turned_nowhere(pairs):
    assert sorted(neighbours(pairs)) == sorted(pairs)


def test_linked_pairs_stand_together_and_parts_keep_their_order():
    pairs = [("a1", "a2"), ("b1", "b2"), ("a2", "a3"), ("c1", "c2"), ("b2", "b3")]
    assert [first[0] for first, _ in neighbours(pairs)] == list("aabbc")


def test_short_texts_come_before_long_ones():
    pairs = [("xxx", "yyyy"), ("x", "yyyy"), ("x", "xxx")]
    assert neighbours(pairs) == [("x", "xxx"), ("x", "yyyy"), ("xxx", "yyyy")]


def reads(pairs, memory):
    """How often texts are read by a judge that remembers the last `memory` of them."""
    kept, count = OrderedDict(), 0
    for pair in pairs:
        for text in pair:
            if text not in kept:
                count += 1
            kept[text] = None
            kept.move_to_end(text)
        while len(kept) > memory:
            kept.popitem(last=False)
    return count


def test_a_judge_with_room_for_two_tiles_reads_a_clique_few_times_over():
    clique = [f"text {i:04}" for i in range(5 * TILE)]
    pairs = list(combinations(clique, 2))
    shuffled = random.Random(0).sample(pairs, len(pairs))
    # Tile i is met with tiles i, i+1, ..., so tile j is read at most once for each of the tiles up to it.
    assert reads(neighbours(shuffled), 2 * TILE) <= TILE * sum(range(1, 6)) + 5 * TILE
    assert reads(pairs, 2 * TILE) > 20 * len(clique)
