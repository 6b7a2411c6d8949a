from __future__ import annotations

import numpy as np
import pytest

from likewise.training.tiny_forward import TinyForward
from training.policies import policy

pytestmark = pytest.mark.torch


def expected(model, tokens):
    import torch

    with torch.no_grad():
        return model(torch.tensor([tokens])).logits[0, -1].numpy()


def test_every_logit_is_that_of_the_library():
    model = policy()
    forward = TinyForward(model, 3)
    told = {0: [5, 9, 100, 20, 7], 1: [30, 2, 8], 2: [4]}
    first = forward.feed(list(told), list(told.values()))
    for row, tokens in told.items():
        np.testing.assert_allclose(first[row], expected(model, tokens), atol=1e-4)
    more = forward.feed([2, 0], [[12, 13, 14], [11]])
    np.testing.assert_allclose(more[0], expected(model, [4, 12, 13, 14]), atol=1e-4)
    np.testing.assert_allclose(more[1], expected(model, [5, 9, 100, 20, 7, 11]), atol=1e-4)


def test_a_conversation_longer_than_the_cache_began_goes_on():
    model, tokens = policy(1), [int(t) for t in np.random.default_rng(0).integers(5, 100, size=150)]
    forward = TinyForward(model, 2)
    forward.feed([0, 1], [[3], tokens[:60]])
    forward.feed([1], [tokens[60:70]])
    last = forward.feed([1], [tokens[70:]])
    np.testing.assert_allclose(last[0], expected(model, tokens), atol=1e-4)


def test_rows_do_not_see_each_other():
    model = policy(2)
    alone, together = TinyForward(model, 1), TinyForward(model, 2)
    a = alone.feed([0], [[5, 6, 7]])
    b = together.feed([0, 1], [[5, 6, 7], [50, 51, 52, 53, 54]])
    np.testing.assert_allclose(a[0], b[0], atol=1e-5)


def test_weights_are_those_of_the_model_as_it_is_then():
    import torch

    model = policy(3)
    before = TinyForward(model, 1).feed([0], [[5, 6]])
    with torch.no_grad():
        model.model.norm.weight.mul_(2)
    after = TinyForward(model, 1).feed([0], [[5, 6]])
    np.testing.assert_allclose(after, 2 * before, rtol=1e-4)
