"""The rows that decide about tool calls, and plans: what of a pair of actions is decided, and what a judge must see.

Comparing is done in two steps, so that texts of many actions can be judged in one batch: a plan lists the texts it
needs, and `resolve` makes the judgement from the answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from likewise.core.errors import LabelError
from likewise.core.labels import Judgement, Relation

__all__ = ["RULES", "ActionPlan", "CallSets", "FreeText", "Plan", "Rule", "TextPair", "changed_table"]

TextPair: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Rule:
    """One row.

    Attributes:
        name: Shown as `tool:name`.
        condition: When it applies.
        relation: What it decides; None where the judge decides.
        fixed: Nobody can change it: what is the same is equivalent, by definition of the distance (Def. 1).
    """

    name: str
    condition: str
    relation: Relation | None
    fixed: bool = False


RULES: tuple[Rule, ...] = (
    Rule("identical", "both actions have the same canonical text and calls", Relation.EQUIVALENT, fixed=True),
    Rule("empty-action", "one action says and calls nothing", Relation.NEUTRAL),
    Rule(
        "executes-against-refuses",
        "one action calls a tool that changes state, the other only says that it cannot",
        Relation.CONTRADICTORY,
    ),
    Rule("call-against-text", "one action calls, the other only speaks", Relation.NEUTRAL),
    Rule("unmatched-call", "one set of parallel calls has more calls than the other", Relation.NEUTRAL),
    Rule("same-call", "same tool, same arguments", Relation.EQUIVALENT, fixed=True),
    Rule("opposite-writes", "two tools with opposite verbs change the same object", Relation.CONTRADICTORY),
    Rule("different-tools", "two tools", Relation.NEUTRAL),
    Rule("other-object", "same tool, changes state, the arguments that name the object differ", Relation.NEUTRAL),
    Rule("other-look-up", "same tool, only reads, an argument that is not free text differs", Relation.NEUTRAL),
    Rule(
        "same-object-write",
        "same tool, changes state, sets the same argument of the same object to different values",
        Relation.CONTRADICTORY,
    ),
    Rule("free-text", "same tool, shared arguments differ only in free text", None),
    Rule("list-order", "same tool, shared arguments differ only in the order of a list", Relation.NEUTRAL),
    Rule("extra-argument", "same tool, one call has arguments that the other has not", Relation.NEUTRAL),
)
"""All rules; of two rows that fit, the earlier decides."""


def changed_table(overrides: Mapping[str, Relation | None]) -> tuple[dict[str, Relation], Relation | None]:
    """What each row decides after a user's changes, and what free text does (None: the judge decides).

    Args:
        overrides: New relations by rule name, with or without "tool:".

    Raises:
        ValueError: A rule is unknown, or is fixed, or needs a relation.
    """
    rows = {rule.name: rule for rule in RULES}
    table = {rule.name: rule.relation for rule in RULES if rule.relation is not None}
    free_text: Relation | None = None
    for name, relation in overrides.items():
        short = name.removeprefix("tool:")
        if short not in rows:
            raise ValueError(f"no rule {name!r}; the rules are {', '.join(rows)}")
        if rows[short].fixed and relation != rows[short].relation:
            raise ValueError(f"rule {name!r} cannot be changed: what is the same is equivalent by definition")
        if short == "free-text":
            free_text = None if relation is None else Relation(relation)
        elif relation is None:
            raise ValueError(f"rule {name!r} needs a relation; only free-text can be left to the judge")
        else:
            table[short] = Relation(relation)
    return table, free_text


@dataclass(frozen=True, slots=True)
class FreeText:
    """Texts for the judge: the relation is the worst of their relations, kept between `floor` and `ceiling`.

    `rule` names the decision; None keeps the name that the judge gives.
    """

    pairs: tuple[TextPair, ...]
    floor: Relation = Relation.EQUIVALENT
    ceiling: Relation = Relation.CONTRADICTORY
    rule: str | None = "tool:free-text"

    def resolve(self, judgements: Mapping[TextPair, Judgement]) -> Judgement:
        """The judgement, from the judge's answers."""
        worst = _worst([_answer(judgements, pair) for pair in self.pairs])
        relation = min(max(worst.relation, self.floor), self.ceiling)
        if relation != worst.relation:
            return Judgement.certain(relation, self.rule or worst.rule)
        return worst if self.rule is None else Judgement(relation, worst.forward, worst.backward, self.rule)


@dataclass(frozen=True, slots=True)
class CallSets:
    """Two sets of parallel calls without their common ones: every call of the one against every call of the other."""

    grid: tuple[tuple[Judgement | FreeText, ...], ...]
    unmatched: Judgement | None
    common: Judgement | None

    def resolve(self, judgements: Mapping[TextPair, Judgement]) -> Judgement:
        """The worst relation within the best matching."""
        cells = [
            [cell if isinstance(cell, Judgement) else cell.resolve(judgements) for cell in row] for row in self.grid
        ]
        matched = [cells[i][j] for i, j in _matching([[cell.relation for cell in row] for row in cells])]
        return _worst(matched + [part for part in (self.unmatched, self.common) if part is not None])


@dataclass(frozen=True, slots=True)
class Plan:
    """What is left to do for one pair of actions: `needed_texts` go to a judge, its answers to `resolve`."""

    parts: tuple[Judgement | FreeText | CallSets, ...]

    @property
    def needed_texts(self) -> tuple[TextPair, ...]:
        """Pairs of texts that a judge must see, each once; none where the structure alone decides."""
        return tuple(dict.fromkeys(pair for part in self.parts for pair in _needed(part)))

    def resolve(self, judgements: Mapping[TextPair, Judgement] = MappingProxyType({})) -> Judgement:
        """The judgement of the pair of actions: the worst of its parts.

        Args:
            judgements: A judgement of each of `needed_texts`; either order of a pair will do.

        Raises:
            LabelError: A needed pair is missing.
        """
        return _worst([part if isinstance(part, Judgement) else part.resolve(judgements) for part in self.parts])


ActionPlan: TypeAlias = Plan


def _needed(part: Judgement | FreeText | CallSets) -> Iterator[TextPair]:
    if isinstance(part, FreeText):
        yield from part.pairs
    elif isinstance(part, CallSets):
        for row in part.grid:
            for cell in row:
                yield from _needed(cell)


def _answer(judgements: Mapping[TextPair, Judgement], pair: TextPair) -> Judgement:
    first, second = pair
    if pair in judgements:
        return judgements[pair]
    if (second, first) in judgements:
        return judgements[second, first].flipped
    raise LabelError("the judge gave no relation", first, second)


_ROW = {f"tool:{rule.name}": i for i, rule in enumerate(RULES)}


def _worst(judgements: Sequence[Judgement]) -> Judgement:
    """The judgement of greatest distance; of several the one whose rule is first in the table."""

    def place(j: Judgement) -> tuple[int, int, str, list[tuple[float, float, float]]]:
        return -j.relation, _ROW.get(j.rule, len(_ROW)), j.rule, sorted((j.forward, j.backward))

    return min(judgements, key=place)


_EXACT = 8


def _matching(cells: Sequence[Sequence[Relation]]) -> list[tuple[int, int]]:
    """Rows matched with columns at the least sum of distances, of equal sums with the fewest contradictions."""
    if not cells or not cells[0]:
        return []
    rows, columns = len(cells), len(cells[0])
    cost = [[256 * int(cell) + (cell is Relation.CONTRADICTORY) for cell in row] for row in cells]
    if rows > columns:
        turned = _matching([[cells[i][j] for i in range(rows)] for j in range(columns)])
        return [(i, j) for j, i in turned]
    if columns > _EXACT:
        return _greedy(cost)
    best: dict[int, tuple[int, list[tuple[int, int]]]] = {0: (0, [])}  # used columns -> cost and pairs so far
    for i in range(rows):
        following: dict[int, tuple[int, list[tuple[int, int]]]] = {}
        for used, (total, pairs) in best.items():
            for j in range(columns):
                mask, sum_ = used | 1 << j, total + cost[i][j]
                if mask != used and (mask not in following or sum_ < following[mask][0]):
                    following[mask] = (sum_, [*pairs, (i, j)])
        best = following
    return min(best.values(), key=lambda found: found[0])[1]


def _greedy(cost: list[list[int]]) -> list[tuple[int, int]]:
    """Nearest first; of equal distances the one earliest in both canonical orders."""
    order = sorted((value, min(i, j), max(i, j), i, j) for i, row in enumerate(cost) for j, value in enumerate(row))
    free_rows, free_columns = set(range(len(cost))), set(range(len(cost[0])))
    pairs = []
    for _, _, _, i, j in order:
        if i in free_rows and j in free_columns:
            free_rows.discard(i)
            free_columns.discard(j)
            pairs.append((i, j))
    return pairs
