from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

from likewise.learned import forward as plain
from likewise.learned.network import SMALLEST_VALUE, miss, start_weights
from likewise.learned.options import Loss

TORCH_FREE = """
import sys
sys.modules["torch"] = None
from likewise.core.errors import MissingExtraError
from likewise.learned.network import load_torch
try:
    load_torch()
except MissingExtraError as problem:
    print(problem)
"""


def test_without_pytorch_the_line_to_type_is_given():
    answer = subprocess.run([sys.executable, "-c", TORCH_FREE], capture_output=True, text=True, check=True, timeout=60)
    assert answer.stdout.strip().endswith("needs an extra: pip install 'likewise[learned]'")


def test_a_start_is_the_same_for_the_same_seed_and_within_its_limits():
    one, again, other = (start_weights(16, 2, seed) for seed in (0, 0, 1))
    assert all(np.array_equal(one[name], again[name]) for name in one)
    assert not np.array_equal(one["first.weight"], other["first.weight"])
    assert np.abs(one["first.weight"]).max() <= 0.25  # 1/sqrt(16)
    assert np.abs(one["third.weight"]).max() <= 1 / 16  # 1/sqrt(256)


@pytest.mark.torch
@pytest.mark.parametrize("heads", [1, 5])
def test_pytorch_and_numpy_agree_to_a_hundred_thousandth(heads):
    import torch

    from likewise.learned.network import as_tensors, pair_distance, phi

    rng = np.random.default_rng(0)
    weights = start_weights(300, heads, 0)
    a, b = rng.normal(size=(2, 64, 300)).astype(np.float32)
    tensors = as_tensors(weights)
    ours, theirs = plain.forward(weights, a), phi(tensors, torch.from_numpy(a)).numpy()
    assert np.abs(ours - theirs).max() <= 1e-5
    theirs_b = phi(tensors, torch.from_numpy(b))
    between = pair_distance(torch.from_numpy(theirs), theirs_b, 0.5, 5.0).numpy()
    assert np.abs(plain.pair_distance(ours, plain.forward(weights, b), 0.5, 5.0) - between).max() <= 1e-5


@pytest.mark.torch
@pytest.mark.parametrize("heads", [1])
def test_the_layers_are_those_of_pytorch_itself(heads):
    import torch

    from likewise.learned.network import as_tensors, phi

    weights = start_weights(20, heads, 0)
    layers = torch.nn.Sequential(
        torch.nn.Linear(20, 512), torch.nn.LayerNorm(512), torch.nn.ReLU(),
        torch.nn.Linear(512, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256),
    )  # fmt: skip
    names = ["first", "norm", None, "second", None, "third"]
    with torch.no_grad():
        for layer, name in zip(layers, names, strict=True):
            if name is not None:
                layer.weight.copy_(torch.from_numpy(weights[f"{name}.weight"].reshape(layer.weight.shape)))
                layer.bias.copy_(torch.from_numpy(weights[f"{name}.bias"].reshape(layer.bias.shape)))
        z = torch.randn(7, 20)
        assert torch.allclose(phi(as_tensors(weights), z)[0], layers(z), atol=1e-6)


@pytest.mark.torch
@pytest.mark.parametrize("case", ["identical", "both zero", "one zero", "opposite", "tiny"])
def test_gradients_are_finite_everywhere(case):
    import torch

    from likewise.learned.network import pair_distance

    a = torch.full((1, 1, 8), 0.5)
    first, second = {
        "identical": (a, a.clone()),
        "both zero": (a * 0, a * 0),
        "one zero": (a, a * 0),
        "opposite": (a, -a),
        "tiny": (a * 1e-20, a * 1e-15),
    }[case]
    first.requires_grad_()
    second.requires_grad_()
    value = pair_distance(first, second, 0.5, 5.0).sum()
    value.backward()
    assert torch.isfinite(value)
    assert torch.isfinite(first.grad).all()
    assert torch.isfinite(second.grad).all()


@pytest.mark.torch
def test_the_angle_of_pytorch_is_that_of_numpy():
    import torch

    from likewise.learned.network import unit_angle

    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 50, 6)).astype(np.float32)
    b[0], b[1] = 0, 2 * a[1]
    theirs = unit_angle(torch.from_numpy(a), torch.from_numpy(b)).numpy()
    assert theirs == pytest.approx(plain.angle(a, b), abs=1e-5)


@pytest.mark.torch
def test_states_that_count_as_one_have_no_angle():
    import torch

    from likewise.learned.network import pair_distance

    a, b = torch.tensor([[[1.0, 0.0], [1.0, 0.0]]]), torch.tensor([[[0.0, 1.0], [0.0, 1.0]]])
    found = pair_distance(a, b, 0.5, 5.0, torch.tensor([True, False]))
    assert found[0].tolist() == pytest.approx([1.0, 3.5])


@pytest.mark.torch
@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (Loss.SQUARED, 4.0),  # (3 - 1)^2
        (Loss.HUBER, 1.5),  # |3 - 1| - 1/2
        (Loss.POISSON, 2 * (1 * math.log(1 / 3) - 1 + 3)),
    ],
)
def test_what_a_guess_of_three_costs_where_the_target_is_one(loss, expected):
    import torch

    assert float(miss(loss, torch.tensor(3.0), torch.tensor(1.0))) == pytest.approx(expected, abs=3 * SMALLEST_VALUE)


@pytest.mark.torch
@pytest.mark.parametrize("loss", [Loss.SQUARED, Loss.POISSON])
def test_the_mean_of_the_targets_costs_least(loss):
    import torch

    aims, guesses = torch.tensor([0.0, 0.0, 0.5, 3.5]), torch.linspace(0.05, 3.0, 60)  # their mean is 1
    costs = [float(miss(loss, torch.full_like(aims, float(guess)), aims).mean()) for guess in guesses]
    assert float(guesses[int(np.argmin(costs))]) == pytest.approx(1.0, abs=0.03)


@pytest.mark.torch
def test_near_a_target_of_zero_the_poisson_deviance_still_has_a_slope():
    """U = x^2 and a target of 0: the cost falls by 4 x^3 a step of x for squares, by 4 x for the deviance."""
    import torch

    slopes = {}
    for loss in (Loss.SQUARED, Loss.POISSON):
        x = torch.tensor(0.1, requires_grad=True)
        miss(loss, x * x, torch.tensor(0.0)).backward()
        slopes[loss] = float(x.grad)
    assert slopes[Loss.SQUARED] == pytest.approx(4 * 0.1**3)
    assert slopes[Loss.POISSON] == pytest.approx(4 * 0.1, rel=0.2)  # the floor of 1e-3 beside 0.01


@pytest.mark.torch
def test_a_poisson_deviance_of_zero_and_zero_is_zero_and_its_slope_finite():
    import torch

    guess = torch.zeros(1, requires_grad=True)
    cost = miss(Loss.POISSON, guess, torch.tensor([-1e-9]))
    cost.sum().backward()
    assert float(cost.detach()) == pytest.approx(0.0, abs=1e-6)
    assert torch.isfinite(guess.grad).all()
