from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.service.security import rate_limit as module
from likewise.service.security.rate_limit import RateLimiter


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_a_burst_goes_through_and_then_one_in_a_while(clock):
    limiter = RateLimiter(clock)
    assert [limiter.take("k", 60, 3) for _ in range(3)] == [0, 0, 0]
    assert limiter.take("k", 60, 3) == pytest.approx(1.0)  # one a second
    clock.now += 0.6
    assert limiter.take("k", 60, 3) == pytest.approx(0.4)
    clock.now += 0.4
    assert limiter.take("k", 60, 3) == 0


def test_a_bucket_holds_no_more_than_a_burst(clock):
    limiter = RateLimiter(clock)
    limiter.take("k", 60, 2)
    clock.now += 10_000
    assert [limiter.take("k", 60, 2) == 0 for _ in range(3)] == [True, True, False]


def test_keys_do_not_share_a_bucket(clock):
    limiter = RateLimiter(clock)
    limiter.take("a", 60, 1)
    assert limiter.take("b", 60, 1) == 0
    assert limiter.take("a", 60, 1) > 0


def test_a_request_may_cost_more_and_at_most_a_full_bucket(clock):
    limiter = RateLimiter(clock)
    assert limiter.take("k", 60, 5, cost=3) == 0
    assert limiter.take("k", 60, 5, cost=3) == pytest.approx(1.0)
    assert limiter.take("other", 60, 5, cost=100) == 0
    assert limiter.take("other", 60, 5) > 0


@given(st.lists(st.floats(0, 3), min_size=1, max_size=60), st.integers(1, 300), st.integers(1, 10))
def test_never_more_than_the_burst_and_the_rate_allow(pauses, per_minute, burst):
    clock = Clock()
    limiter, start, taken = RateLimiter(clock), clock.now, 0
    for pause in pauses:
        clock.now += pause
        taken += limiter.take("k", per_minute, burst) == 0
    assert taken <= burst + (clock.now - start) * per_minute / 60 + 1e-6


def test_several_threads_get_no_more_than_one_would(clock):
    limiter, taken = RateLimiter(clock), []

    def work():
        for _ in range(200):
            if limiter.take("k", 60, 50) == 0:
                taken.append(1)

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 50


def test_memory_is_bounded(clock, monkeypatch):
    monkeypatch.setattr(module, "BUCKETS", 10)
    limiter = RateLimiter(clock)
    for i in range(100):
        limiter.take(f"key {i}", 60, 1)
    assert len(limiter._buckets) == 10


@pytest.mark.parametrize(("per_minute", "burst", "cost"), [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_numbers_are_above_zero(per_minute, burst, cost):
    with pytest.raises(ValueError, match="above 0"):
        RateLimiter().take("k", per_minute, burst, cost)
