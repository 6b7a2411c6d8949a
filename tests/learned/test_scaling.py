from __future__ import annotations

import numpy as np
import pytest

from likewise.learned.forward import forward, self_distance
from likewise.learned.network import start_weights
from likewise.learned.scaling import scaling_of
from likewise.learned.state_encoding import COUNTS, state_width

WIDTH = state_width(5)


def states(seed=0, n=60):
    """Texts that spread along three directions only, and counts."""
    rng = np.random.default_rng(seed)
    texts = rng.normal(size=(n, 3)) * [3.0, 1.0, 0.5] @ rng.normal(size=(3, WIDTH - len(COUNTS))) + 2.0
    return np.concatenate([texts, rng.normal(size=(n, len(COUNTS)))], axis=1).astype(np.float32)


def test_scaled_columns_have_mean_zero_and_spread_one():
    seen = scaling_of(states()).applied(states())
    assert seen.mean(axis=0) == pytest.approx(0, abs=1e-5)
    assert seen.std(axis=0) == pytest.approx(1, abs=1e-4)


def test_nothing_is_changed_where_nothing_is_asked_for():
    assert np.array_equal(scaling_of(states(), standardise=False).applied(states()), states())


def test_a_column_that_hardly_varies_is_not_blown_up():
    flat = states()
    flat[:, 0] = 1 + 1e-7 * np.arange(len(flat))
    assert np.abs(scaling_of(flat).applied(flat)[:, 0]).max() < 0.01


def test_main_axes_are_those_of_the_singular_value_decomposition():
    scaled = scaling_of(states()).applied(states()).astype(np.float64)
    left, _, _ = np.linalg.svd(scaled[:, : -len(COUNTS)], full_matrices=False)
    seen = scaling_of(states(), components=2).applied(states())
    assert seen.shape == (60, 2 + len(COUNTS))
    for k in range(2):  # up to its sign, an axis of spread one
        assert abs(left[:, k] @ seen[:, k]) == pytest.approx(60**0.5, rel=1e-3)
    assert seen[:, 2:] == pytest.approx(scaled[:, -len(COUNTS) :], abs=1e-5)


def test_axes_without_any_spread_are_left_out():
    assert scaling_of(states(), components=10).applied(states()).shape == (60, 3 + len(COUNTS))


@pytest.mark.parametrize("components", [0, 2])
@pytest.mark.parametrize("standardise", [True, False])
def test_folded_into_the_first_layer_it_gives_the_same_scores_of_states_as_they_come(components, standardise):
    scaling = scaling_of(states(), standardise=standardise, components=components)
    new = states(seed=1)
    seen = scaling.applied(new)
    weights = start_weights(seen.shape[1], 2, 0)
    folded = scaling.folded(weights)
    assert folded["first.weight"].shape == (512, WIDTH)
    expected = self_distance(forward(weights, seen), 0.5)
    assert self_distance(forward(folded, new), 0.5) == pytest.approx(expected, rel=1e-3, abs=1e-4)
