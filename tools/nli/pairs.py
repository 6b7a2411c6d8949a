"""NLI pairs as batches: seeded order, length-sorted within windows, so that a run can resume at any step."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor

LABEL_IDS = {"entailment": 0, "neutral": 1, "contradiction": 2}
RELATION_IDS = {"equivalent": 0, "neutral": 1, "contradictory": 2}


@dataclass(frozen=True)
class Pair:
    """Premise, hypothesis and label id; or two actions and the id of their relation."""

    premise: str
    hypothesis: str
    label: int


def read_pairs(
    path: Path, max_characters: int | None = None, shares: dict[str, float] | None = None, seed: int = 0
) -> list[Pair]:
    """Pairs of a .jsonl.gz file whose two texts together are at most `max_characters` long.

    `shares` keeps that part of each source named (a seeded draw); sources not named are kept whole.
    """
    draw = random.Random(f"{seed}-{path.name}")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    rows = [r for r in rows if max_characters is None or len(r["premise"]) + len(r["hypothesis"]) <= max_characters]
    if shares:
        rows = [r for r in rows if draw.random() < shares.get(r["source"], 1.0)]
    return [Pair(r["premise"], r["hypothesis"], LABEL_IDS[r["label"]]) for r in rows]


def read_actions(path: Path, max_characters: int) -> list[Pair]:
    """Pairs of actions of a .jsonl file (tools/nli/actions.py writes it), the long ones left out."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    pairs = [Pair(r["action_a"], r["action_b"], RELATION_IDS[r["label"]]) for r in rows]
    return [p for p in pairs if len(p.premise) + len(p.hypothesis) <= max_characters]


def batches(pairs: list[Pair], size: int, seed: int) -> Iterator[list[Pair]]:
    """Endless batches: each epoch is reshuffled by (seed, epoch), then sorted by length within 50 batches."""
    epoch = 0
    while True:
        order = random.Random(f"{seed}-{epoch}")
        shuffled = order.sample(pairs, len(pairs))
        for start in range(0, len(shuffled), 50 * size):
            window = sorted(shuffled[start : start + 50 * size], key=lambda p: (len(p.premise), len(p.hypothesis)))
            chunks = [window[i : i + size] for i in range(0, len(window), size)]
            order.shuffle(chunks)
            yield from chunks
        epoch += 1


def encode(tokenizer: Tokenizer, texts: list[str], max_tokens: int) -> tuple[Tensor, Tensor]:
    """Ids and mask *(batch, longest)*; the padding id of MPNet is 1."""
    rows = [
        [*e.ids[: max_tokens - 1], e.ids[-1]] if len(e.ids) > max_tokens else e.ids
        for e in tokenizer.encode_batch(texts)
    ]
    longest = max(map(len, rows))
    ids = torch.tensor([row + [1] * (longest - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    return ids, mask


def load_tokenizer(folder: Path) -> Tokenizer:
    """The base tokenizer with padding and truncation off: both are ours to decide."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer
