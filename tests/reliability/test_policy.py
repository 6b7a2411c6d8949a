from __future__ import annotations

import pytest

from likewise.reliability.policy import Evidence, Mode, Policy


def test_the_defaults_are_the_published_ones():
    policy = Policy()
    assert (policy.mode, policy.runs, policy.escalate_threshold, policy.escalate_runs) == (Mode.STANDARD, 3, 0.75, 5)
    assert (policy.error, policy.least, policy.budget) == (0.1, 4, 12)


def test_standard_and_full_run_once_and_stop_whatever_came_of_it():
    for mode in ("standard", "full"):
        policy = Policy(mode, runs=5)
        assert policy.next_step(Evidence()).more == 5
        assert policy.next_step(Evidence(5, None, True, None)).more == 0


@pytest.mark.parametrize(
    ("evidence", "more"),
    [
        (Evidence(), 2),
        (Evidence(2, 1.0), 0),
        (Evidence(2, 0.76), 0),
        (Evidence(2, 0.75), 3),  # stops only above the threshold
        (Evidence(2, 0.0), 3),
        (Evidence(2, 1.0, contradicts=True), 3),  # the fast path looks for contradictions too
        (Evidence(2, None), 3),  # a failed run is no agreement
        (Evidence(5, 0.2), 0),
    ],
)
def test_adaptive_table(evidence, more):
    assert Policy("adaptive").next_step(evidence).more == more


def test_sequential_goes_on_one_by_one_until_the_mode_is_settled_or_the_budget_spent():
    policy = Policy("sequential")
    assert policy.next_step(Evidence()).more == 4
    assert policy.next_step(Evidence(4, 1.0, False, (0, 0, 0, 0))).more == 0
    assert policy.next_step(Evidence(4, 0.5, False, (0, 0, 0, 1))).more == 1
    assert policy.next_step(Evidence(4, None, False, None)).more == 1  # unjudged pairs settle nothing
    spent = policy.next_step(Evidence(12, 0.5, False, (0, 1) * 6))
    assert spent.more == 0
    assert "not settled" in spent.reason
    assert policy.settled(Evidence(12, 0.5, False, (0, 1) * 6)) is False
    assert Policy().settled(Evidence(3)) is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "quick"}, "no mode 'quick'; there are standard, full, adaptive, sequential"),
        ({"runs": 1}, "at least 2"),
        ({"runs": True}, "at least 2"),
        ({"runs": 2.5}, "at least 2"),
        ({"escalate_threshold": 1.5}, "lies in"),
        ({"error": 0}, "lies in"),
        ({"budget": 3}, "sequential mode takes at least 4 runs; the most are 3"),
        ({"mode": "sequential", "error": 0.0001}, "takes at least 14 runs in sequential mode; the most are 12"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(settings, message):
    with pytest.raises(ValueError, match=message):
        Policy(**settings)


def test_every_mode_that_is_offered_works():
    """Published: the default mode is one that the code itself rejects."""
    for mode in Mode:
        assert Policy(mode).next_step(Evidence()).more >= 2
