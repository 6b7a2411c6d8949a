"""Texts longer than a judge's window, compared sentence by sentence; nothing is cut off.

A entails B if every sentence of B is entailed by some sentence of A. A contradicts B if a sentence of B
contradicts the sentence of A that it is aligned with (the one that shares most words).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sized
from heapq import nsmallest
from typing import TypeAlias

import numpy as np
from jaxtyping import Float32

from likewise.core.labels import Entailment

__all__ = ["LongText", "aggregate", "split_sentences"]

CANDIDATES = 3
"""Sentences of the other text that one sentence is compared with: those that share most words with it."""

MOST_HOLDERS = 500
"""Units looked at for one sentence; a word in more units than that tells nothing."""

Triple: TypeAlias = tuple[float, float, float]
Compared: TypeAlias = Mapping[tuple[str, str], Float32[np.ndarray, "2 3"]]

_END = re.compile(r"(?<=[.!?。！？])\s+|\s*\n+\s*|\s+(?=[-*•] )")
_WORD = re.compile(r"\w+")


def split_sentences(text: str) -> list[str]:
    """Sentences and list items, in order; together they hold every visible character."""
    return [part for part in (piece.strip() for piece in _END.split(text)) if part]


def _fitting(text: str, tokens: Callable[[str], Sized], window: int) -> Iterator[str]:
    """Halve a sentence until each piece fits the window, at a space where there is one."""
    if len(tokens(text)) <= window or len(text) < 2:
        yield text
        return
    middle = len(text) // 2
    space = text.rfind(" ", 1, middle + 1)
    cut = space if space > middle // 2 else middle
    for piece in (text[:cut].strip(), text[cut:].strip()):
        if piece:
            yield from _fitting(piece, tokens, window)


class LongText:
    """A text as the units that a judge can read: itself where it fits, else its sentences."""

    def __init__(self, text: str, tokens: Callable[[str], Sized], window: int) -> None:
        """Split where needed; `tokens` counts as the judge does."""
        # A token is at least one character, and tokenising a long text only to split it would be waste.
        if len(text) <= 16 * window and len(tokens(text)) <= window:
            self.units: tuple[str, ...] = (text,)
        else:
            sentences = split_sentences(text) or [text]
            self.units = tuple(dict.fromkeys(piece for s in sentences for piece in _fitting(s, tokens, window)))
        self._words = [frozenset(_WORD.findall(unit.casefold())) for unit in self.units]

    def nearest(self, other: LongText) -> list[list[int]]:
        """For each unit of `other`, the units of this text that share most words with it, best first."""
        holders: dict[str, list[int]] = {}
        for i, words in enumerate(self._words):
            for word in words:
                holders.setdefault(word, []).append(i)
        place = {unit: i for i, unit in enumerate(self.units)}
        sizes = [len(words) for words in self._words]
        ranked = []
        for unit, words in zip(other.units, other._words, strict=True):
            equal = place.get(unit)
            shared: Counter[int] = Counter()
            # Rare words first: they tell most; common ones only while there is room for more candidates.
            for word in sorted(words & holders.keys(), key=lambda word: (len(holders[word]), word)):
                held = holders[word]
                if shared and shared.total() + len(held) > MOST_HOLDERS:
                    break
                shared.update(held[:MOST_HOLDERS])
            if equal is not None:
                shared[equal] = len(words)
            ranks = [(i != equal, -n / ((sizes[i] + len(words) - n) or 1), i) for i, n in shared.items()]
            ranked.append([i for _, _, i in nsmallest(CANDIDATES, ranks)] or [0])
        return ranked

    def comparisons(self, other: LongText) -> list[tuple[str, str]]:
        """The (unit of this, unit of other) pairs that `aggregate` needs; equal units need none."""
        needed = {(self.units[i], other.units[j]) for j, near in enumerate(self.nearest(other)) for i in near}
        needed |= {(self.units[i], other.units[j]) for i, near in enumerate(other.nearest(self)) for j in near}
        return sorted((a, b) for a, b in needed if a != b)


def aggregate(first: LongText, second: LongText, compared: Compared) -> tuple[Triple, Triple]:
    """Probabilities (entails, neutral, contradicts) of first -> second and second -> first.

    Each direction carries the probabilities of the one pair of sentences that decides it.
    """

    def forward(i: int, j: int) -> Triple:
        return _triple(first.units[i], second.units[j], compared, 0)

    def backward(j: int, i: int) -> Triple:
        return _triple(first.units[i], second.units[j], compared, 1)

    return _direction(first.nearest(second), forward), _direction(second.nearest(first), backward)


def _triple(a: str, b: str, compared: Compared, row: int) -> Triple:
    if a == b:
        return (1.0, 0.0, 0.0)
    e, n, c = compared[a, b][row].tolist()
    return (e, n, c)


def _direction(near: list[list[int]], triple: Callable[[int, int], Triple]) -> Triple:
    """`near[j]` lists premise units for hypothesis unit j, aligned one first."""
    aligned = [triple(premises[0], j) for j, premises in enumerate(near)]
    clashing = [t for t in aligned if int(np.argmax(t)) == Entailment.CONTRADICTS]
    if clashing:
        return max(clashing, key=lambda t: t[Entailment.CONTRADICTS])
    best = [
        max((triple(i, j) for i in premises), key=lambda t: t[Entailment.ENTAILS]) for j, premises in enumerate(near)
    ]
    open_units = [j for j, t in enumerate(best) if int(np.argmax(t)) != Entailment.ENTAILS]
    if open_units:
        return aligned[min(open_units, key=lambda j: best[j][Entailment.ENTAILS])]
    return min(best, key=lambda t: t[Entailment.ENTAILS])
