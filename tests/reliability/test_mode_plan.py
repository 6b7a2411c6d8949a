from __future__ import annotations

from itertools import product

import pytest

from likewise.reliability.mode_plan import _walk, plan_modes
from likewise.reliability.policy import Evidence, Mode, Policy
from likewise.reliability.stopping import mode_is_settled


def by_mode(agreement, **more):
    return {plan.mode: plan for plan in plan_modes(agreement, **more)}


def test_adaptive_by_hand():
    # Two runs agree with probability .8^2 + .2^2 = .68 (one other answer) or .64 (all different): 2 runs, else 5.
    plan = by_mode(0.8)[Mode.ADAPTIVE]
    assert plan.one_other.runs == pytest.approx(2 * 0.68 + 5 * 0.32)
    assert plan.all_different.runs == pytest.approx(2 * 0.64 + 5 * 0.36)
    # Wrong: the first two are the other answer (.04), or they differ and two or three of the next three are (.104).
    assert plan.one_other.wrong == pytest.approx(0.04 + 0.32 * (0.2**3 + 3 * 0.2**2 * 0.8))
    assert plan.one_other.undecided is None


def test_standard_and_full_take_their_runs_whatever_the_agent_says():
    plans = by_mode(0.6, runs=5)
    for mode in (Mode.STANDARD, Mode.FULL):
        assert (plans[mode].one_other.runs, plans[mode].fewest, plans[mode].most) == (pytest.approx(5), 5, 5)
    # Three, four or five of five runs are the other answer.
    wrong = sum(0.4 ** sum(draw) * 0.6 ** (5 - sum(draw)) for draw in product((0, 1), repeat=5) if sum(draw) > 2)
    assert plans[Mode.STANDARD].one_other.wrong == pytest.approx(wrong)


def test_an_agent_that_never_differs_costs_the_fewest_runs():
    for mode, runs in ((Mode.STANDARD, 3), (Mode.FULL, 3), (Mode.ADAPTIVE, 2), (Mode.SEQUENTIAL, 4)):
        plan = by_mode(1.0)[mode]
        assert (plan.one_other.runs, plan.one_other.wrong, plan.all_different.runs) == (runs, 0.0, runs)
        assert plan.fewest == runs


@pytest.mark.parametrize("apart", [False, True])
def test_sequences_that_are_walked_as_one_are_treated_alike(apart):
    """Brute force over all sequences of a small budget."""
    policy, share = Policy("sequential", budget=6), 0.7
    runs = open_ = wrong = 0.0
    waiting = [((), 1.0)]
    while waiting:
        classes, probability = waiting.pop()
        evidence = Evidence(len(classes), None, False, classes)
        if classes and len(classes) >= 4 and policy.next_step(evidence).more == 0:
            named = mode_is_settled(classes, 0.1)
            runs += probability * len(classes)
            open_ += probability * (named is None)
            wrong += probability * (named not in (None, 0))
            continue
        other = max(classes, default=0) + 1 if apart else 1
        waiting += [((*classes, 0), probability * share), ((*classes, other), probability * (1 - share))]
    walked = _walk(policy, share, apart=apart)
    assert (walked.runs, walked.undecided, walked.wrong) == pytest.approx((runs, open_, wrong))


def test_it_gives_the_table_of_the_benchmark():
    """benchmarks/results/sequential_stopping.json, 20,000 queries: .9 .1 takes 6.7 runs, adaptive 2.5; .8 .2: 8.7."""
    assert by_mode(0.9)[Mode.SEQUENTIAL].one_other.runs == pytest.approx(6.7, abs=0.06)
    assert by_mode(0.9)[Mode.ADAPTIVE].one_other.runs == pytest.approx(2.5, abs=0.06)
    assert by_mode(0.8)[Mode.SEQUENTIAL].one_other.runs == pytest.approx(8.7, abs=0.06)


def test_sequential_mode_is_planned_with_the_runs_it_is_given_where_it_can_end_with_them():
    assert [by_mode(0.7, runs=runs)[Mode.SEQUENTIAL].most for runs in (3, 4, 6, 20)] == [12, 4, 6, 20]


@pytest.mark.parametrize("agreement", [0.5, 0.2, 1.1, float("nan")])
def test_an_agreement_that_names_no_usual_answer_is_refused(agreement):
    with pytest.raises(ValueError, match="an agreement lies in"):
        plan_modes(agreement)


def test_modes_refuse_what_they_refuse_elsewhere():
    with pytest.raises(ValueError, match="at least 2"):
        plan_modes(0.9, runs=1)
    with pytest.raises(ValueError, match="up to 60 runs"):
        plan_modes(0.9, runs=61)
