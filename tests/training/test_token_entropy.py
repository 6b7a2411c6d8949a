from __future__ import annotations

import math

import numpy as np
import pytest

from likewise.training.token_entropy import by_turn, token_entropies
from training.tiny_policy import policy

PROMPTS = [[3, 4], [5], [9, 8, 7, 6, 5]]
COMPLETIONS = [[4, 5, 1], [], [3]]


def test_tokens_are_parted_into_the_actions_they_belong_to():
    assert by_turn([1.0, 2.0, 9.0, 3.0, 9.0], [1, 1, 0, 1, 0]) == [[1.0, 2.0], [3.0]]
    assert by_turn([], []) == []


@pytest.mark.torch
@pytest.mark.parametrize("temperature", [1.0, 0.5])
@pytest.mark.parametrize("batch", [1, 8])
def test_entropy_equals_scipys_of_each_distribution_worked_out_alone(temperature, batch):
    import torch
    from scipy.special import softmax
    from scipy.stats import entropy

    model = policy()
    found = token_entropies(model, PROMPTS, COMPLETIONS, temperature=temperature, batch=batch)
    for prompt, completion, values in zip(PROMPTS, COMPLETIONS, found, strict=True):
        by_hand = []
        for end in range(len(completion)):
            with torch.no_grad():
                logits = model(torch.tensor([prompt + completion[:end]])).logits[0, -1].double().numpy()
            by_hand.append(entropy(softmax(logits / temperature)))
        assert values == pytest.approx(by_hand, abs=1e-5)


@pytest.mark.torch
def test_a_policy_that_knows_nothing_has_the_log_of_the_vocabulary_and_one_that_is_sure_has_none():
    import torch

    model = policy()
    with torch.no_grad():
        for weights in model.parameters():
            weights.zero_()
    (values,) = token_entropies(model, [[3]], [[4, 5]])
    assert values == pytest.approx([math.log(15)] * 2, abs=1e-6)
    sure = policy()
    sure.lm_head = torch.nn.Linear(16, 15)
    with torch.no_grad():
        sure.lm_head.weight.zero_()
        sure.lm_head.bias.copy_(torch.tensor([0.0] * 14 + [200.0]))
    (values,) = token_entropies(sure, [[3]], [[4]])
    assert values == pytest.approx([0.0], abs=1e-9)


@pytest.mark.torch
def test_what_stands_on_the_right_does_not_matter():
    model = policy()
    assert token_entropies(model, PROMPTS, COMPLETIONS, pad=7) == token_entropies(model, PROMPTS, COMPLETIONS)


@pytest.mark.torch
def test_it_is_not_minus_the_log_probability_of_the_token_drawn():
    import torch

    model = policy()
    (values,) = token_entropies(model, [[3]], [[4]])
    with torch.no_grad():
        drawn = -model(torch.tensor([[3]])).logits[0, -1].log_softmax(-1)
    assert np.abs(drawn.numpy() - values[0]).min() > 1e-6


@pytest.mark.torch
def test_the_model_is_left_in_its_mode_and_without_gradients():
    model = policy().train()
    token_entropies(model, PROMPTS, COMPLETIONS)
    assert model.training
    assert all(weights.grad is None for weights in model.parameters())


@pytest.mark.torch
def test_what_has_no_entropy_is_refused():
    with pytest.raises(ValueError, match="temperature 0 is undefined"):
        token_entropies(policy(), PROMPTS, COMPLETIONS, temperature=0)
    with pytest.raises(ValueError, match="a prompt has at least one token"):
        token_entropies(policy(), [[]], [[3]])
