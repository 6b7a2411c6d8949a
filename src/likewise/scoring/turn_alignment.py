"""Which turns of two rollouts belong together, when one did in a single message what the other did in several.

The alignment is found with cheap costs (structure and shared words), so that only the blocks it chooses need a
judge. It never decides a distance: metrics.divergence sums what the judge said of each block.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from likewise.core.rollout import Action
from likewise.core.state_text import action_key, canonical_text, tool_call_text
from likewise.metrics.alignment import Block, align

__all__ = ["GAP_COST", "Profile", "align_actions", "align_profiles", "block_actions"]

GAP_COST = 0.3
"""Cost of leaving a turn without partner; two such gaps cost more than one substitution at 0.5."""
MIXED_COST = 0.6
"""Cost of a call against words: the same as leaving both without partner."""
LONGEST_MERGE = 8
"""Turns that one turn with parallel calls may stand for."""
MAX_CELLS = 250_000
"""Pairs of turns that an alignment may look at: two runs of 500 unlike turns."""
READ_CHARACTERS = 20_000
"""Characters of a text that the cheap cost reads."""


Bag: TypeAlias = "frozenset[tuple[str, int]]"
"""Words, each with the number of its earlier occurrences: what two bags share is their intersection, made in C."""


def _bag(words: Iterable[str]) -> Bag:
    return frozenset((word, i) for word, often in Counter(words).items() for i in range(often))


@dataclass(frozen=True, slots=True)
class Profile:
    """What the costs need of an action, worked out once."""

    key: str
    words: Bag
    tools: Counter[str]
    calls: Counter[str]

    @classmethod
    def of(cls, action: Action) -> Profile:
        """The profile of an action; only the start of a very long text is read."""
        return cls(
            action_key(action),
            _bag(canonical_text(action.text[:READ_CHARACTERS]).casefold().split()),
            Counter(call.name for call in action.tool_calls),
            Counter(map(tool_call_text, action.tool_calls)),
        )


def _shared_calls(first: Counter[str], second: Counter[str]) -> float:
    """Dice coefficient of two bags of calls, in [0, 1]; 1 for two empty ones."""
    total = first.total() + second.total()
    return 2 * sum(min(first[w], second[w]) for w in first.keys() & second.keys()) / total if total else 1.0


def _shared_words(first: Bag, second: Bag) -> float:
    """The same of words."""
    total = len(first) + len(second)
    return 2 * len(first & second) / total if total else 1.0


def _cost(a: Profile, b: Profile) -> float:
    if a.key == b.key:
        return 0.0
    if a.calls and b.calls:
        return (0.25 if a.tools == b.tools else 0.5) * (1.0 - _shared_calls(a.calls, b.calls))
    if a.calls or b.calls:
        return MIXED_COST
    return 0.5 * (1.0 - _shared_words(a.words, b.words))


def _one_sided_merges(wide: list[Profile], narrow: list[Profile]) -> dict[tuple[int, int, int], float]:
    """(i, j0, j1) -> cost: turn i with parallel calls against turns j0 to j1 that make as many."""
    found = {}
    for i, profile in enumerate(wide):
        wanted = profile.calls.total()
        for start in range(len(narrow) if wanted > 1 else 0):
            calls: Counter[str] = Counter()
            for stop in range(start, min(start + LONGEST_MERGE, len(narrow))):
                calls += narrow[stop].calls
                if not narrow[stop].calls or calls.total() > wanted:
                    break
                if stop > start and calls.total() == wanted:
                    found[i, start, stop + 1] = 0.5 * (1.0 - _shared_calls(profile.calls, calls))
    return found


def _merges(first: list[Profile], second: list[Profile]) -> dict[tuple[int, int, int, int], float]:
    merges = {(i, i + 1, j0, j1): cost for (i, j0, j1), cost in _one_sided_merges(first, second).items()}
    return merges | {(i0, i1, j, j + 1): cost for (j, i0, i1), cost in _one_sided_merges(second, first).items()}


def align_actions(first: tuple[Action, ...], second: tuple[Action, ...]) -> tuple[Block, ...] | None:
    """`align_profiles` of two rollouts' actions."""
    return align_profiles([Profile.of(action) for action in first], [Profile.of(action) for action in second])


def align_profiles(a: list[Profile], b: list[Profile]) -> tuple[Block, ...] | None:
    """Blocks of turns that belong together, in order; a block with an empty side is a gap.

    Equal turns at the start and at the end are paired without a search. None where what lies between is too long to
    align (more than MAX_CELLS pairs of turns). Which run comes first changes nothing: of equally cheap alignments the
    one is taken that is first in the order of the runs' texts.
    """
    if [profile.key for profile in a] > [profile.key for profile in b]:
        turned = align_profiles(b, a)
        return None if turned is None else tuple(Block(block.second, block.first) for block in turned)
    shorter = min(len(a), len(b))
    head = next((t for t in range(shorter) if a[t].key != b[t].key), shorter)
    tail = next((t for t in range(shorter - head) if a[-1 - t].key != b[-1 - t].key), shorter - head)
    inner_a, inner_b = a[head : len(a) - tail], b[head : len(b) - tail]
    if len(inner_a) * len(inner_b) > MAX_CELLS:
        return None
    cost: Float[np.ndarray, "n m"] = np.array([[_cost(x, y) for y in inner_b] for x in inner_a], dtype=np.float64)
    inner = align(cost.reshape(len(inner_a), len(inner_b)), GAP_COST, _merges(inner_a, inner_b))
    return (
        *(Block((t, t + 1), (t, t + 1)) for t in range(head)),
        *(Block(_shifted(block.first, head), _shifted(block.second, head)) for block in inner),
        *(Block((len(a) - t, len(a) - t + 1), (len(b) - t, len(b) - t + 1)) for t in range(tail, 0, -1)),
    )


def _shifted(span: tuple[int, int], by: int) -> tuple[int, int]:
    return span[0] + by, span[1] + by


def _merged(actions: tuple[Action, ...]) -> Action:
    text = "\n".join(action.text for action in actions if action.text.strip())
    return Action(text, tuple(call for action in actions for call in action.tool_calls))


def block_actions(block: Block, first: tuple[Action, ...], second: tuple[Action, ...]) -> tuple[Action, Action] | None:
    """The two actions that a block puts side by side; None for a gap."""
    a, b = first[slice(*block.first)], second[slice(*block.second)]
    if not a or not b:
        return None
    return (a[0] if len(a) == 1 else _merged(a)), (b[0] if len(b) == 1 else _merged(b))
