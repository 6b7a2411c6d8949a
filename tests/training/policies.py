"""Policies of the smallest size for the tests of the tiny pipeline, with weights that were never trained."""

from __future__ import annotations

from functools import cache

from likewise.training.environments.bookings import Bookings
from likewise.training.tiny import TinySize, tiny_model, tiny_tokenizer
from likewise.training.tiny_experts import MIXED, demonstrations

SIZE = TinySize(16, 2, 120)


@cache
def spelling():
    return tiny_tokenizer(demonstrations(Bookings.tasks, 5, MIXED, 0), SIZE)


def policy(seed=0, loud=0.3):
    """Weights large enough that logits differ."""
    import torch

    made = tiny_model(spelling(), seed, SIZE)
    torch.manual_seed(seed)
    with torch.no_grad():
        for weight in made.parameters():
            weight.add_(loud * torch.randn_like(weight))
    return made
