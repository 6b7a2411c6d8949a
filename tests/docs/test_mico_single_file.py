"""The single-file metric, written without the library, agrees with it: fixed point, network, distances, gradients."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from likewise.learned.exact import exact_rsd, random_process
from likewise.learned.forward import forward, pair_distance, self_distance
from likewise.learned.network import start_weights

PATH = Path(__file__).parents[2] / "examples" / "mico_single_file.py"


@pytest.fixture(scope="module")
def mico():
    spec = importlib.util.spec_from_file_location("mico_single_file", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def one_head(weights):
    """Weights of the library's only head, as the single file has them."""
    return {name: np.asarray(value, dtype=np.float64).squeeze() for name, value in weights.items()}


def states_of(rng, rows=6, width=5):
    return rng.normal(size=(rows, width)).astype(np.float32)


def test_it_imports_numpy_and_nothing_else():
    lines = PATH.read_text().splitlines()
    imports = [line for line in lines if line.lstrip().startswith(("import ", "from "))]
    assert imports == ["from __future__ import annotations", "import numpy as np"]


@pytest.mark.parametrize("gamma", [0.0, 0.5, 0.8])
def test_the_iterated_fixed_point_is_the_linear_solution(mico, gamma):
    process = random_process(6, np.random.default_rng(3))
    found = mico.fixed_point(process.chain, process.immediate, gamma)
    assert np.abs(found - exact_rsd(process, gamma)).max() < 1e-6


def test_embeddings_and_distances_agree_to_1e_6(mico):
    rng = np.random.default_rng(1)
    weights, z1, z2 = start_weights(5, 1, 0), states_of(rng), states_of(rng)
    weights["third.weight"] *= 0.3  # distances within their range, where 1e-6 is above the rounding of the float32 side
    ours = [mico.phi(one_head(weights), z.astype(np.float64))[0] for z in (z1, z2)]
    theirs = [forward(weights, z) for z in (z1, z2)]
    assert np.abs(ours[0] - theirs[0][0]).max() < 1e-6
    apart = np.zeros(6, dtype=bool)
    assert mico.distance(*ours, 0.5, 5.0, apart) == pytest.approx(pair_distance(*theirs, 0.5, 5.0)[0], abs=1e-6)
    alike = mico.distance(ours[0], ours[0], 0.5, 5.0, ~apart)
    assert alike == pytest.approx(self_distance(theirs[0], 0.5)[0], abs=1e-6)


def small(mico, rng):
    """Weights and two states of a network small enough to be moved one number at a time; one pair is one state."""
    weights, z1, z2 = mico.start(4, 7, 3, rng), rng.normal(size=(5, 4)), rng.normal(size=(5, 4))
    z2[0] = z1[0]
    return weights, z1, z2, rng.uniform(0, 2, 5)


def test_its_gradient_is_the_slope_of_its_loss(mico):
    weights, z1, z2, target = small(mico, np.random.default_rng(2))
    _, gradient = mico.loss_and_gradient(weights, z1, z2, target, 0.5, 2.0)
    for name, value in weights.items():
        for place in np.ndindex(value.shape):
            kept, around = value[place], []
            for step in (1e-6, -1e-6):
                value[place] = kept + step
                around.append(mico.loss_and_gradient(weights, z1, z2, target, 0.5, 2.0)[0])
            value[place] = kept
            assert gradient[name][place] == pytest.approx((around[0] - around[1]) / 2e-6, abs=1e-6), (name, place)


@pytest.mark.torch
def test_its_gradient_is_that_of_the_library_under_pytorch(mico):
    torch = pytest.importorskip("torch")
    from likewise.learned.network import pair_distance as torch_distance
    from likewise.learned.network import phi

    weights, z1, z2, target = small(mico, np.random.default_rng(2))
    loss, gradient = mico.loss_and_gradient(weights, z1, z2, target, 0.5, 2.0)
    headed = {k: v[None] if k.startswith(("second", "third")) else v for k, v in weights.items()}
    headed |= {k: headed[k][:, None] for k in ("second.bias", "third.bias")}
    tensors = {name: torch.tensor(value, requires_grad=True) for name, value in headed.items()}
    a, b = (phi(tensors, torch.tensor(z)) for z in (z1, z2))
    same = torch.tensor((z1 == z2).all(axis=1))
    missed = ((torch_distance(a, b, 0.5, 2.0, same)[0] - torch.tensor(target)) ** 2).mean()
    missed.backward()
    assert loss == pytest.approx(float(missed.detach()), abs=1e-6)
    for name, tensor in tensors.items():
        assert np.abs(tensor.grad.numpy().squeeze() - gradient[name].squeeze()).max() < 1e-6, name


def test_it_learns_which_of_three_agents_is_settled(mico):
    policy = np.array([[1.0, 0.0], [0.5, 0.5], [0.8, 0.2]])
    between = np.array([[0.0, 1.0], [1.0, 0.0]])
    weights, alpha, _ = mico.learn(np.eye(3), policy, between, 0.5, steps=600, rng=np.random.default_rng(0))
    latent, _ = mico.phi(weights, np.eye(3))
    settled, even, leaning = 2 * alpha * (latent**2).sum(1)
    assert settled < leaning < even
