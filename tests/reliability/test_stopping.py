from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from likewise.reliability.stopping import _mixture, fewest_runs, mode_evidence, mode_is_settled


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (1, 0), (0, 3), (4, 1), (9, 3)])
def test_the_mixture_is_its_integral(wins, losses):
    n = wins + losses
    integral = quad(lambda p: 2 * p**wins * (1 - p) ** losses, 0.5, 1)[0]
    assert _mixture(wins, losses) == pytest.approx(2**n * integral)


def test_runs_that_all_agree_settle_the_mode_after_as_many_as_theory_allows():
    # n agreeing runs of a class that is not the mode have probability up to 2^-n: 1/16 after 4 (10 %), 1/32 after 5.
    assert fewest_runs(0.1) == 4
    assert fewest_runs(0.05) == 5
    assert mode_is_settled((0, 0, 0), 0.1) is None
    assert mode_is_settled((0, 0, 0, 0), 0.1) == 0
    assert mode_is_settled((0, 0, 0, 1), 0.1) is None


def test_dissent_costs_runs_and_does_not_end_the_hope():
    assert mode_is_settled((0, 0, 0, 1, *[0] * 6), 0.1) is None
    assert mode_is_settled((0, 0, 0, 1, *[0] * 8), 0.1) == 0
    assert mode_is_settled((1, *[0] * 20), 0.1) == 0  # the first run need not be of the mode
    assert mode_is_settled((0, 1) * 6, 0.1) is None


def worst_share(error, length, shares, fewest=4):
    """Probability, over all sequences, that a class other than the (first) mode is ever named: exact, no sampling."""
    wrong = Fraction(0)
    open_sequences = {(): Fraction(1)}
    for _ in range(length):
        following = defaultdict(Fraction)
        for sequence, probability in open_sequences.items():
            for kind, share in enumerate(shares):
                longer = (*sequence, kind)
                named = mode_is_settled(longer, error, fewest)
                if named is None:
                    following[longer] += probability * share
                elif shares[named] < max(shares):
                    wrong += probability * share
        open_sequences = following
    return wrong


@pytest.mark.parametrize(
    "shares",
    [
        (Fraction(51, 100), Fraction(49, 100)),
        (Fraction(6, 10), Fraction(4, 10)),
        (Fraction(34, 100), Fraction(33, 100), Fraction(33, 100)),
    ],
)
def test_the_error_is_at_most_the_stated_one_over_all_sequences(shares):
    length = 11 if len(shares) == 2 else 7
    assert worst_share(0.1, length, shares) <= Fraction(1, 10)


def test_a_looser_wager_would_fail_that_test():
    """The proof can fail: naming the leader after two agreeing runs is wrong more often than one time in ten."""
    assert sum(Fraction(49, 100) ** 2 for _ in range(1)) > Fraction(1, 10)
    assert worst_share(0.5, 6, (Fraction(51, 100), Fraction(49, 100)), fewest=2) > Fraction(1, 10)


def test_the_wealth_against_a_true_mode_does_not_grow_on_average():
    """One step of the supermartingale, by hand for two even classes: the mean over sequences stays at most 1."""
    for n in (2, 3, 4, 6, 8):
        total = Fraction(0)
        for sequence in product((0, 1), repeat=n):  # 1 is the mode; the wager is on 0
            total += Fraction(mode_evidence(sequence, 0, 0.1)) / 2**n
        assert float(total) <= 1.0


@given(st.lists(st.integers(0, 4), min_size=2, max_size=14), st.permutations(range(5)))
def test_the_names_of_the_classes_do_not_matter(classes, names):
    renamed = [names[kind] for kind in classes]
    settled = mode_is_settled(classes, 0.1)
    assert mode_is_settled(renamed, 0.1) == (None if settled is None else names[settled])


@given(st.lists(st.integers(0, 3), min_size=4, max_size=14))
def test_only_the_largest_class_is_ever_named(classes):
    settled = mode_is_settled(classes, 0.1)
    if settled is not None:
        assert classes.count(settled) > max((classes.count(kind) for kind in {*classes} - {settled}), default=0)


@pytest.mark.parametrize("error", [0, -1, 0.6, float("nan")])
def test_an_error_that_cannot_be_is_refused(error):
    with pytest.raises(ValueError, match="error lies in"):
        mode_evidence((0, 0), 0, error)
