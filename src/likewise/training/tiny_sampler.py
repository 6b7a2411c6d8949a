"""Many runs of a tiny policy side by side: one cache of keys and values, from the first turn to the last.

Tokens are only ever appended: what the policy wrote is never read back from its text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float32

from likewise.training.episode import Episode
from likewise.training.tiny import read_action, tokens_of
from likewise.training.tiny_forward import TinyForward

__all__ = ["LONGEST_ACTION", "Sampled", "play"]

LONGEST_ACTION = 24
"""Tokens of an action; one that is longer is cut there, and stands as it is."""


@dataclass(slots=True)
class Sampled:
    """A run and its tokens.

    Attributes:
        episode: The run.
        prompt: Tokens before the first action.
        tokens: Tokens from the first action to the last.
        own: 1 where a token is the policy's own, 0 where the world's.
    """

    episode: Episode
    prompt: list[int]
    tokens: list[int] = field(default_factory=list)
    own: list[int] = field(default_factory=list)


def play(
    model: Any,  # noqa: ANN401 - a model
    tokenizer: Any,  # noqa: ANN401 - a tokenizer
    episodes: Sequence[Episode],
    rng: np.random.Generator,
    *,
    temperature: float = 1.0,
) -> list[Sampled]:
    """Play fresh episodes to their ends.

    Args:
        model: The policy, a tiny Qwen2.
        tokenizer: Its tokenizer.
        episodes: Runs that have just begun.
        rng: Source of all chance.
        temperature: Of the sampling; 0 takes the likeliest token.

    Returns:
        One for each episode, in order.
    """
    runs = [Sampled(each, tokens_of(each.observations, tokenizer)) for each in episodes]
    forward, live = TinyForward(model, len(runs)), list(range(len(runs)))
    feed = {number: runs[number].prompt for number in live}
    while feed:
        actions = _act(forward, feed, tokenizer.eos_token_id, temperature, rng)
        answers = {number: _answer(runs[number], tokens, tokenizer) for number, tokens in actions.items()}
        feed = {number: answer for number, answer in answers.items() if answer}
    return runs


def _act(
    forward: TinyForward, feed: dict[int, list[int]], end: int, temperature: float, rng: np.random.Generator
) -> dict[int, list[int]]:
    """One action of each row, token by token; the last token of an action is not fed yet."""
    actions: dict[int, list[int]] = {row: [] for row in feed}
    while feed:
        tokens = _draw(forward.feed(list(feed), list(feed.values())), temperature, rng)
        written = dict(zip(feed, tokens, strict=True))
        for row, token in written.items():
            actions[row].append(token)
        feed = {row: [token] for row, token in written.items() if token != end and len(actions[row]) < LONGEST_ACTION}
    return actions


def _draw(logits: Float32[np.ndarray, "rows vocabulary"], temperature: float, rng: np.random.Generator) -> list[int]:
    """A token of each row: the largest of logits with Gumbel noise is a draw from their softmax."""
    if temperature == 0:
        return [int(token) for token in logits.argmax(axis=-1)]
    noise = rng.gumbel(size=logits.shape)
    return [int(token) for token in (logits / temperature + noise).argmax(axis=-1)]


def _answer(run: Sampled, tokens: list[int], tokenizer: Any) -> list[int]:  # noqa: ANN401 - a tokenizer
    """Let the world answer an action; the tokens to feed next, none where the run is over."""
    end = tokenizer.eos_token_id
    run.tokens += tokens
    run.own += [1] * len(tokens)
    text = tokenizer.decode([each for each in tokens if each != end], skip_special_tokens=False)
    observations = run.episode.act(read_action(text))
    if run.episode.done:
        return []
    # An action that ran out of tokens is closed by the world, not by the policy.
    answer = ([] if tokens[-1] == end else [end]) + tokens_of(observations, tokenizer)
    run.tokens += answer
    run.own += [0] * len(answer)
    return [tokens[-1], *answer]
