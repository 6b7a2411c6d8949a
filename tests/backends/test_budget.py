from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.backends.budget import Budget


def test_cost_is_price_times_millions_of_tokens():
    assert Budget(2.0, 8.0).cost(500_000, 100_000) == pytest.approx(1.0 + 0.8)
    assert Budget().cost(1000, 1000) == 0.0


def test_a_request_that_might_pass_the_limit_is_refused():
    budget = Budget(1.0, 1.0, limit=10.0)
    assert budget.reserve(6.0)
    assert not budget.reserve(5.0)
    budget.settle(6.0, 2.0)  # it cost less than feared
    assert (budget.spent, budget.reserved) == (2.0, 0.0)
    assert budget.reserve(8.0)
    assert not budget.reserve(0.001)


def test_once_over_nothing_is_allowed_any_more():
    budget = Budget(1.0, 1.0, limit=10.0, over=True)
    assert not budget.reserve(0.0)


def test_without_a_limit_everything_is_allowed():
    assert Budget().reserve(1e9)


@pytest.mark.parametrize("prices", [(None, None), (1.0, None), (None, 1.0)])
def test_a_limit_without_prices_is_refused(prices):
    with pytest.raises(ValueError, match="needs the price of tokens read and of tokens written"):
        Budget(*prices, limit=1.0)


@pytest.mark.parametrize("number", [-1.0, math.nan, math.inf])
@pytest.mark.parametrize("name", ["input_price", "output_price", "limit"])
def test_impossible_numbers_are_refused(name, number):
    with pytest.raises(ValueError, match=name.replace("_", " ")):
        Budget(**{"input_price": 1.0, "output_price": 1.0, "limit": 1.0} | {name: number})


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0, 1)), max_size=30), st.floats(0, 20))
def test_the_limit_holds_whatever_is_asked_in_whatever_order(requests, limit):
    budget, under_way = Budget(1.0, 1.0, limit=limit), []
    for most, share in requests:
        if budget.reserve(most):
            under_way.append((most, most * share))
        if len(under_way) > 2:
            budget.settle(*under_way.pop(0))
        assert budget.spent + budget.reserved <= limit + 1e-9
    for most, cost in under_way:
        budget.settle(most, cost)
    assert budget.spent <= limit + 1e-9
