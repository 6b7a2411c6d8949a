"""Entropy as a reward, the two baselines that RSD is compared with: over meanings, and over tokens.

Source: arXiv:2610.33012, section 6; semantic entropy: Kuhn et al. 2023 (arXiv:2302.09664), discrete form.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Int

from likewise.backends.tool_rules import ToolRules
from likewise.core.protocols import Judge
from likewise.metrics.entropy import semantic_entropy
from likewise.training.completions import Columns, Completion
from likewise.training.in_group import Siblings, sibling_groups
from likewise.training.reward_base import CompletionScore, Reward, mean_of

__all__ = ["TOKEN_ENTROPY", "SemanticEntropyReward", "TokenEntropyReward"]

TOKEN_ENTROPY = "token_entropy"
"""The column that holds the entropy of each response token, in nats."""


class SemanticEntropyReward(Reward):
    """Minus semantic entropy: classes of siblings by mutual entailment, entropy of their shares.

    The entropy of a group is one number, so as a reward it would be the same for every completion and move nothing.
    It is therefore split: a completion gets the log of its own class's share, the mean of which over the group is
    minus the entropy. `per="group"` gives the undivided number, for measuring or beside other rewards.
    """

    def __init__(
        self,
        judge: str | Judge = "embedded",
        *,
        rules: ToolRules | None = None,
        over: Literal["turns", "last"] = "turns",
        per: Literal["completion", "group"] = "completion",
        store: str | Path | None = None,
    ) -> None:
        """Load nothing yet.

        Args:
            judge: Name or judge, asked only for texts that no rule settles.
            rules: How tool calls are compared; the default table where None.
            over: "turns" has classes at each turn (completions that ended are one) and takes the mean over all turns
                of the group; "last" has classes of the last actions.
            per: Whether each completion gets its own part or all get the group's entropy.
            store: File that remembers judgements between processes; none where None.

        Raises:
            ValueError: Another word for `over` or `per`.
        """
        if over not in ("turns", "last") or per not in ("completion", "group"):
            raise ValueError(f"over is 'turns' or 'last', per 'completion' or 'group'; got {over!r}, {per!r}")
        self._siblings = Siblings(judge, rules, store)
        self._over, self._per = over, per

    @property
    def lowest(self) -> float:
        """There is none: log 1/n falls with the number of siblings n."""
        return -math.inf

    def measure(self, completions: Sequence[Completion], columns: Columns) -> list[CompletionScore]:
        """Score completions among their siblings, wherever these are; one without siblings is not measured."""
        del columns
        scores = [CompletionScore(None)] * len(completions)
        for group, here in sibling_groups(completions):
            at_last = self._over == "last"
            classes = self._siblings.answer_classes(group)[None] if at_last else self._siblings.classes(group)
            table = [self._shares(row) for row in classes]
            for position, k in here:
                own = [row[k] for row in table]
                turns = (*(None,) * (group.lengths[k] - 1), own[0]) if at_last else tuple(own[: group.lengths[k]])
                value = mean_of(own)
                scores[position] = CompletionScore(value, turns, {} if value is None else {"semantic_entropy": -value})
        return scores

    def _shares(self, classes: Int[np.ndarray, " runs"]) -> list[float | None]:
        """The reward of each run at one turn; None where it was not measured."""
        sizes = Counter(kind for kind in classes.tolist() if kind >= 0)
        if self._per == "group":
            entropy = semantic_entropy(classes) if sizes else None
            return [None if kind < 0 or entropy is None else -entropy for kind in classes.tolist()]
        return [None if kind < 0 else math.log(sizes[kind] / sizes.total()) for kind in classes.tolist()]

    def close(self) -> None:
        """Close the label store."""
        self._siblings.close()


class TokenEntropyReward(Reward):
    """Minus the mean entropy of the policy over the whole vocabulary, at each token that it wrote.

    Engines give rewards no logits, and minus the log-probability of the drawn token is not its distribution's entropy:
    the trainer of this package makes the column (`training.grpo`). A completion without entries is not measured.
    """

    needs = (TOKEN_ENTROPY,)

    @property
    def lowest(self) -> float:
        """There is none that does not depend on the vocabulary."""
        return -math.inf

    def measure(self, completions: Sequence[Completion], columns: Columns) -> list[CompletionScore]:
        """Score completions by the column; see `token_rows` for turns.

        Raises:
            ValueError: There is no such column, or it holds what cannot be.
        """
        rows = token_rows(columns, len(completions))
        scores = []
        for completion, row in zip(completions, rows, strict=True):
            per_turn = [mean_of(turn) for turn in row]
            value = mean_of([token for turn in row for token in turn])
            turns: tuple[float | None, ...] = ()
            if len(per_turn) == len(completion.rollout.turns):  # else tokens and messages part turns in other ways
                turns = tuple(None if each is None else -each for each in per_turn)
            parts = {} if value is None else {"token_entropy": value}
            scores.append(CompletionScore(None if value is None else -value, turns, parts))
        return scores


def token_rows(columns: Columns, n: int) -> list[list[list[float]]]:
    """Entropies of the tokens of each turn of each completion.

    Args:
        columns: What the trainer handed on: for each completion a list of turns, each a list of entropies in nats; a
            bare list of entropies is one turn.
        n: Completions.

    Raises:
        ValueError: There is no such column, another number of entries than completions, or an entropy that is none.
    """
    given = columns.get(TOKEN_ENTROPY)
    if given is None:
        raise ValueError(
            f"TokenEntropyReward needs the column {TOKEN_ENTROPY!r}, and the trainer hands on none: "
            "likewise's ConsistencyGRPOTrainer makes it; trl.GRPOTrainer, verl and verifiers do not"
        )
    if len(given) != n:
        raise ValueError(f"column {TOKEN_ENTROPY!r} has {len(given)} entries for {n} completion(s)")
    rows: list[list[list[float]]] = []
    for index, entry in enumerate(given):
        try:
            turns = entry or []
            if turns and not isinstance(turns[0], Sequence):
                turns = [turns]
            rows.append([[float(token) for token in turn] for turn in turns])
        except (TypeError, ValueError):
            told = f"a list of turns, each a list of entropies; got {entry!r:.60}"
            raise ValueError(f"column {TOKEN_ENTROPY!r}, completion {index}: {told}") from None
    wrong = [token for row in rows for turn in row for token in turn if not 0 <= token < math.inf]
    if wrong:
        raise ValueError(f"an entropy is a finite number of at least 0, got {wrong[0]}")
    return rows
