"""Which turns of two rollouts belong together, when one did in a single message what the other did in several.

The alignment is found with cheap costs (structure and shared words), so that only the blocks it chooses need a
judge. It never decides a distance: metrics.divergence sums what the judge said of each block.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from jaxtyping import Float

from likewise.core.rollout import Action
from likewise.core.state_text import action_text, canonical_text, tool_call_text
from likewise.metrics.alignment import Block, align

__all__ = ["GAP_COST", "align_actions", "block_actions"]

GAP_COST = 0.3
"""Cost of leaving a turn without partner; two such gaps cost more than one substitution at 0.5."""
MIXED_COST = 0.6
"""Cost of a call against words: the same as leaving both without partner."""
LONGEST_MERGE = 8
"""Turns that one turn with parallel calls may stand for."""


@lru_cache(maxsize=4096)
def _words(text: str) -> Counter[str]:
    return Counter(canonical_text(text).casefold().split())


def _shared_words(a: str, b: str) -> float:
    """Dice coefficient of the two bags of words, in [0, 1]."""
    first, second = _words(a), _words(b)
    total = first.total() + second.total()
    return 2 * (first & second).total() / total if total else 1.0


def _unmatched_calls(a: Action, b: Action) -> float:
    """Share of calls without an equal one on the other side, in [0, 1]."""
    first = Counter(map(tool_call_text, a.tool_calls))
    second = Counter(map(tool_call_text, b.tool_calls))
    return 1.0 - 2 * (first & second).total() / (first.total() + second.total())


def _cost(a: Action, b: Action) -> float:
    if action_text(a) == action_text(b):
        return 0.0
    if a.tool_calls and b.tool_calls:
        same_tools = Counter(c.name for c in a.tool_calls) == Counter(c.name for c in b.tool_calls)
        return (0.25 if same_tools else 0.5) * _unmatched_calls(a, b)
    if a.tool_calls or b.tool_calls:
        return MIXED_COST
    return 0.5 * (1.0 - _shared_words(a.text, b.text))


def _merged(actions: tuple[Action, ...]) -> Action:
    text = "\n".join(action.text for action in actions if action.text.strip())
    return Action(text, tuple(call for action in actions for call in action.tool_calls))


def _merges(first: tuple[Action, ...], second: tuple[Action, ...]) -> dict[tuple[int, int, int, int], float]:
    """One turn of parallel calls against the following turns of the other that make as many calls."""

    def one_sided(wide: tuple[Action, ...], narrow: tuple[Action, ...]) -> Mapping[tuple[int, int, int], float]:
        found = {}
        for i, action in enumerate(wide):
            if len(action.tool_calls) < 2:
                continue
            for start in range(len(narrow)):
                calls = 0
                for stop in range(start, min(start + LONGEST_MERGE, len(narrow))):
                    calls += len(narrow[stop].tool_calls)
                    if not narrow[stop].tool_calls or calls > len(action.tool_calls):
                        break
                    if stop > start and calls == len(action.tool_calls):
                        found[i, start, stop + 1] = 0.5 * _unmatched_calls(action, _merged(narrow[start : stop + 1]))
        return found

    merges = {(i, i + 1, j0, j1): cost for (i, j0, j1), cost in one_sided(first, second).items()}
    merges |= {(i0, i1, j, j + 1): cost for (j, i0, i1), cost in one_sided(second, first).items()}
    return merges


def align_actions(first: tuple[Action, ...], second: tuple[Action, ...]) -> tuple[Block, ...]:
    """Blocks of turns that belong together, in order; a block with an empty side is a gap."""
    cost: Float[np.ndarray, "n m"] = np.array([[_cost(a, b) for b in second] for a in first], dtype=np.float64)
    return align(cost.reshape(len(first), len(second)), GAP_COST, _merges(first, second))


def block_actions(block: Block, first: tuple[Action, ...], second: tuple[Action, ...]) -> tuple[Action, Action] | None:
    """The two actions that a block puts side by side; None for a gap."""
    a, b = first[slice(*block.first)], second[slice(*block.second)]
    if not a or not b:
        return None
    return (a[0] if len(a) == 1 else _merged(a)), (b[0] if len(b) == 1 else _merged(b))
