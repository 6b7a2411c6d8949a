from __future__ import annotations

import time

import pytest

from likewise.service.security import attempts as module
from likewise.service.security.attempts import Attempts, TooManyAttemptsError


def test_after_too_many_failures_an_address_waits_and_others_do_not():
    attempts = Attempts(most=3, within=60)
    for _ in range(3):
        assert attempts.wait("a") == 0
        attempts.failed("a")
    assert 59 < attempts.wait("a") <= 60
    assert attempts.wait("b") == 0


def test_failures_are_forgotten_in_time():
    attempts = Attempts(most=1, within=0.1)
    attempts.failed("a")
    assert attempts.wait("a") > 0
    time.sleep(0.12)
    assert attempts.wait("a") == 0


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "ADDRESSES", 5)
    attempts = Attempts(most=1, within=60)
    for i in range(50):
        attempts.failed(f"address {i}")
    assert attempts.wait("address 0") == 0
    assert attempts.wait("address 49") > 0


def test_the_error_says_when_to_come_back_in_whole_seconds():
    assert str(TooManyAttemptsError(1.2)) == "too many failed attempts; try again in 2 s"
    assert TooManyAttemptsError(0.01).retry_after == 1


def test_limits_make_sense():
    with pytest.raises(ValueError, match="at least one attempt"):
        Attempts(most=0, within=1)
