"""The two networks that train.py can train, behind one face: texts in, logits out.

`TwinTrainee` is what ships (twin.py); `CrossTrainee` is the plain 12-layer cross-encoder, saved as a Hugging Face
folder (`AutoModelForSequenceClassification` loads it), which serves as its teacher.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import torch
from pairs import encode, load_tokenizer
from torch import Tensor, nn
from twin import LABELS, Twin, TwinConfig

MAX_TOKENS = 128


class Trainee(Protocol):
    """What the training loop needs of a network."""

    module: nn.Module
    new: list[nn.Parameter]
    """Parameters that start from noise; they learn at a higher rate."""

    def logits(self, premises: list[str], hypotheses: list[str]) -> Tensor:
        """Logits *(batch, 3)* for entailment, neutral, contradiction."""
        ...

    def save(self, folder: Path) -> None:
        """Write weights and config."""
        ...


class TwinTrainee:
    """The twin network."""

    def __init__(self, base: Path, start: Path | None, config: TwinConfig, frozen: int) -> None:
        """Take layers of the base, or continue from a folder; embeddings and the lowest `frozen` layers stay fixed."""
        self.tokenizer = load_tokenizer(base)
        self.module = Twin.load(start) if start else Twin.from_mpnet(base, config)
        fixed = [self.module.words, self.module.places, self.module.embedding_norm, *self.module.apart[:frozen]]
        if frozen:  # the bias table is shared by every layer, the frozen ones included
            fixed.append(self.module.distance_bias)
        for part in fixed:
            part.requires_grad_(False)
        heads = (*self.module.head.parameters(), *self.module.action_head.parameters())
        self.new = [*heads, self.module.across_bias]

    def logits(self, premises: list[str], hypotheses: list[str]) -> Tensor:
        """Premise -> hypothesis."""
        return self.compare(premises, hypotheses)[0][:, 0]

    def compare(self, first: list[str], second: list[str]) -> tuple[Tensor, Tensor]:
        """NLI logits *(batch, 2, 3)* and action logits *(batch, 3)*, as `Twin.compare` gives them."""
        both: tuple[Tensor, Tensor] = self.module(
            *encode(self.tokenizer, first, MAX_TOKENS), *encode(self.tokenizer, second, MAX_TOKENS)
        )
        return both

    def save(self, folder: Path) -> None:
        """Twin weights and config."""
        self.module.save(folder)


class CrossTrainee:
    """The 12-layer cross-encoder."""

    def __init__(self, base: Path, start: Path | None, frozen: int) -> None:
        """Load the base with a new head, or continue from a folder; embeddings and `frozen` layers stay fixed."""
        from transformers import AutoTokenizer, MPNetForSequenceClassification

        self.tokenizer = AutoTokenizer.from_pretrained(base)
        self.module = MPNetForSequenceClassification.from_pretrained(
            start or base,
            num_labels=len(LABELS),
            id2label=dict(enumerate(LABELS)),
            label2id={label: i for i, label in enumerate(LABELS)},
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
        for part in (self.module.mpnet.embeddings, *self.module.mpnet.encoder.layer[:frozen]):
            part.requires_grad_(False)
        if frozen:
            self.module.mpnet.encoder.relative_attention_bias.requires_grad_(False)
        self.new = list(self.module.classifier.parameters())

    def logits(self, premises: list[str], hypotheses: list[str]) -> Tensor:
        """Premise -> hypothesis, as true text pairs."""
        rows = self.tokenizer(
            premises, hypotheses, padding=True, truncation=True, max_length=2 * MAX_TOKENS, return_tensors="pt"
        )
        return self.module(**rows).logits

    def save(self, folder: Path) -> None:
        """A Hugging Face folder: model.safetensors, config.json, tokenizer."""
        self.module.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)


def distillation_loss(student: Tensor, teacher: Tensor, temperature: float = 2.0) -> Tensor:
    """KL divergence from the teacher's softened classes, times temperature squared (Hinton et al. 2015)."""
    log_student = torch.log_softmax(student / temperature, dim=-1)
    return (
        nn.functional.kl_div(log_student, torch.softmax(teacher / temperature, dim=-1), reduction="batchmean")
        * temperature**2
    )
