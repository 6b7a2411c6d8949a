"""Entropy of a policy over its whole vocabulary at each token that it wrote: one pass without gradients.

H = -sum_v p_v log p_v, with p at the temperature that the policy samples at. Not minus the log-probability of the token
drawn: that is one draw of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from likewise.learned.network import load_torch

__all__ = ["by_turn", "token_entropies"]

POSITIONS = 256
"""Positions whose logits are widened to 32 bits at once: bounds memory for large vocabularies."""


def token_entropies(
    model: Any,  # noqa: ANN401 - any causal language model
    prompt_ids: Sequence[Sequence[int]],
    completion_ids: Sequence[Sequence[int]],
    *,
    pad: int = 0,
    temperature: float = 1.0,
    batch: int = 8,
) -> list[list[float]]:
    """Entropy of the distribution that each completion token was drawn from.

    Args:
        model: A causal language model: ids and attention mask in, logits out. Its mode is put back afterwards.
        prompt_ids: Tokens of each prompt, at least one.
        completion_ids: Tokens of each completion, those of an environment included.
        pad: Any token; padding is on the right, where a causal model does not look.
        temperature: Of sampling, above 0.
        batch: Completions a pass.

    Returns:
        Entropies in nats, from 0 to the log of the vocabulary's size, one for each completion token.

    Raises:
        MissingExtraError: PyTorch is not installed.
        ValueError: A temperature of 0 or less, or an empty prompt: its first token is then drawn from nothing.
    """
    torch = load_torch()
    if temperature <= 0:
        raise ValueError(f"entropy at temperature {temperature} is undefined; sampling needs one above 0")
    if not all(len(prompt) for prompt in prompt_ids):
        raise ValueError("a prompt has at least one token")
    rows = [[*prompt, *completion] for prompt, completion in zip(prompt_ids, completion_ids, strict=True)]
    was_training = model.training
    model.eval()
    found: list[list[float]] = []
    try:
        with torch.no_grad():
            for start in range(0, len(rows), batch):
                part = slice(start, start + batch)
                found += _entropies(torch, model, rows[part], prompt_ids[part], pad, temperature)
    finally:
        model.train(was_training)
    return found


def _entropies(
    torch: Any,  # noqa: ANN401 - a module
    model: Any,  # noqa: ANN401 - any causal language model
    rows: Sequence[Sequence[int]],
    prompts: Sequence[Sequence[int]],
    pad: int,
    temperature: float,
) -> list[list[float]]:
    device = next(model.parameters()).device
    width = max(map(len, rows))
    ids = torch.tensor([[*row, *[pad] * (width - len(row))] for row in rows], device=device)
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows], device=device)
    logits = model(input_ids=ids, attention_mask=mask).logits
    found = []
    for number, (row, prompt) in enumerate(zip(rows, prompts, strict=True)):
        values: list[float] = []
        for start in range(len(prompt) - 1, len(row) - 1, POSITIONS):
            # The logits at a position are those of the next token.
            scaled = logits[number, start : min(start + POSITIONS, len(row) - 1)].float() / temperature
            log_p = torch.log_softmax(scaled, dim=-1)
            values += (-(log_p.exp() * log_p).nan_to_num(0.0).sum(dim=-1)).clamp(min=0).tolist()
        found.append(values)
    return found


def by_turn(entropies: Sequence[float], model_tokens: Sequence[int]) -> list[list[float]]:
    """Entropies of the tokens that the policy wrote, a list for each action (each run of such tokens).

    Args:
        entropies: One a token.
        model_tokens: 1 for tokens of the policy, 0 for those of the environment.
    """
    pairs = zip(entropies, model_tokens, strict=True)
    return [
        [entropy for entropy, _ in run] for written, run in groupby(pairs, key=lambda pair: bool(pair[1])) if written
    ]
