"""pass@k (arXiv:2107.03374) and pass^k (arXiv:2406.12045) as their papers write them."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.metrics.pass_k import pass_at_k, pass_hat_k


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4)), min_size=1, max_size=5))
@settings(max_examples=50, deadline=None)
def test_pass_hat_k_is_the_mean_over_tasks_of_c_choose_k_over_n_choose_k(tasks):
    successes = np.array([c for c, _ in tasks])
    attempts = np.array([c + failed + 1 for c, failed in tasks])
    for k in range(1, attempts.min() + 1):
        expected = [comb(c, k) / comb(n, k) for c, n in zip(successes.tolist(), attempts.tolist(), strict=True)]
        assert pass_hat_k(successes, attempts, k).mean() == pytest.approx(np.mean(expected))


@given(st.integers(1, 30), st.data())
@settings(max_examples=50, deadline=None)
def test_pass_at_k_is_the_product_form_of_the_codex_paper(n, data):
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    product_form = 1.0 if n - c < k else 1.0 - np.prod(1.0 - k / np.arange(n - c + 1, n + 1))
    assert pass_at_k(np.array([c]), np.array([n]), k) == pytest.approx([product_form])


@pytest.mark.parametrize("k", [1, 2, 3])
def test_both_estimators_are_unbiased_for_fresh_attempts(k):
    # The expectation over the binomial number of successes of five attempts is p^k, and 1 - (1 - p)^k.
    n, p = 5, 0.7
    chance = np.array([comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)])
    counts, attempts = np.arange(n + 1), np.full(n + 1, n)
    assert chance @ pass_hat_k(counts, attempts, k) == pytest.approx(p**k)
    assert chance @ pass_at_k(counts, attempts, k) == pytest.approx(1 - (1 - p) ** k)
