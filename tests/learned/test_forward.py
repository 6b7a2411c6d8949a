from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.learned.forward import angle, forward, pair_distance, self_distance, weight_shapes
from likewise.learned.network import start_weights


def row(*numbers):
    return np.array([numbers], dtype=np.float32)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (row(1, 0), row(2, 0), 0.0),
        (row(1, 0), row(0, 3), 0.5),
        (row(1, 0), row(-2, 0), 1.0),
        (row(1, 0), row(1, 1), 0.25),
        (row(1, 0), row(0, 0), 0.5),
        (row(0, 0), row(0, 0), 0.0),
    ],
)
def test_angles_match_the_table_worked_by_hand(first, second, expected):
    assert angle(first, second)[0] == pytest.approx(expected, abs=1e-6)


def test_small_angles_are_exact_where_arccos_is_not():
    # arccos of a float32 cosine of 1 - 5e-9 gives 0; the angle is 1e-4.
    assert angle(row(1, 0), row(1, 1e-4))[0] == pytest.approx(1e-4 / np.pi, rel=1e-3)


def test_the_network_matches_the_layers_written_out():
    rng, weights = np.random.default_rng(0), start_weights(6, 2, 0)
    z = rng.normal(size=6).astype(np.float32)
    for head in range(2):
        x = weights["first.weight"] @ z + weights["first.bias"]
        x = (x - x.mean()) / np.sqrt(x.var() + 1e-5)
        x = weights["second.weight"][head] @ np.maximum(x, 0) + weights["second.bias"][head, 0]
        x = weights["third.weight"][head] @ np.maximum(x, 0) + weights["third.bias"][head, 0]
        found = forward(weights, z[None])[head, 0]
        assert found == pytest.approx(x, abs=1e-5)
        assert self_distance(forward(weights, z[None]), 0.5)[head, 0] == pytest.approx(float((x**2).sum()), rel=1e-5)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6))
def test_distances_are_symmetric_not_negative_and_on_the_diagonal_the_norm_alone(seed):
    rng = np.random.default_rng(seed)
    weights = start_weights(5, 1, seed)
    a, b = (forward(weights, rng.normal(size=(4, 5)).astype(np.float32)) for _ in range(2))
    there, back = pair_distance(a, b, 0.5, 5.0), pair_distance(b, a, 0.5, 5.0)
    assert there == pytest.approx(back)
    assert (there >= 0).all()
    assert pair_distance(a, a, 0.5, 5.0) == pytest.approx(self_distance(a, 0.5), abs=1e-6)


def test_a_network_has_the_widths_of_the_paper():
    shapes = weight_shapes(10, 5)
    assert shapes["first.weight"] == (512, 10)
    assert shapes["second.weight"] == (5, 256, 512)
    assert shapes["third.weight"] == (5, 256, 256)
