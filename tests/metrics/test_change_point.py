"""The change test: ranks, capital, and how often it is wrong."""

import math

import numpy as np
import pytest
from scipy import stats

from likewise.metrics.change_point import STAKES, Alarm, change_evidence, sequential_ranks
from likewise.metrics.intervals import lower_share_limit

ONE_DAY = (np.array([0]), np.array([False]))


def days(lengths):
    """Blocks of so many observations, none marked."""
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    return starts, np.zeros(len(lengths), dtype=bool)


def even(n):
    """Ranks that are spread evenly, in an order without a trend (golden-ratio steps)."""
    return np.modf(np.arange(1, n + 1) * 0.6180339887498949)[0]


# Ranks


def test_a_rank_is_the_share_below_plus_a_tie_broken_part_of_those_alike():
    values = np.array([0.5, 0.9, 0.1, 0.9, 0.9, 0.0])
    ties = np.array([0.5, 0.5, 0.5, 0.5, 0.25, 0.75])
    ranks = sequential_ranks(values, ties, [0] * 6)
    assert np.isnan(ranks[:4]).all()
    # The fifth: two of five are lower, three are alike (itself among them). The sixth: the lowest of six.
    assert ranks[4:].tolist() == pytest.approx([(2 + 0.25 * 3) / 5, 0.75 / 6])


def test_observations_of_different_strata_are_never_compared():
    values = np.array([0.1, 0.9] * 6)
    both = sequential_ranks(values, np.full(12, 0.5), ["a", "b"] * 6)
    alone = sequential_ranks(values[::2], np.full(6, 0.5), ["a"] * 6)
    assert both[::2].tolist() == pytest.approx(alone.tolist(), nan_ok=True)


def test_ranks_are_uniform_and_independent_whatever_the_ties():
    generator = np.random.default_rng(4)
    values = generator.choice([1.0, 2 / 3, 1 / 3, 0.0], 4000, p=[0.7, 0.2, 0.07, 0.03])
    ranks = sequential_ranks(values, generator.random(4000), generator.integers(0, 3, 4000).tolist())
    measured = ranks[~np.isnan(ranks)]
    assert len(measured) == 4000 - 3 * 4
    assert stats.kstest(measured, "uniform").pvalue > 0.001
    assert abs(stats.spearmanr(measured[1:], measured[:-1]).statistic) < 4 / math.sqrt(len(measured))


# Capital


def test_no_bettor_wins_or_loses_on_average():
    low, belief = STAKES[:, 0], STAKES[:, 1]
    assert (low * (belief / low) + (1 - low) * ((1 - belief) / (1 - low))).tolist() == pytest.approx(
        [1.0] * len(STAKES)
    )
    assert (belief > low).all()
    assert (belief < 1).all()


def test_the_capital_is_the_sum_over_starts_of_what_was_set_aside_times_what_its_bettors_made():
    generator = np.random.default_rng(0)
    ranks = generator.random(40)
    starts, marked = days([10] * 4)
    marked[2] = True

    def grown(start):
        return np.mean(
            [
                math.prod(b / c if rank <= c else (1 - b) / (1 - c) for rank in ranks[start:].tolist())
                for c, b in STAKES.tolist()
            ]
        )

    shares = {10: 0.5 / 2, 20: 0.5 / 6 + 0.5 / 2, 30: 0.5 / 12}
    expected = 1 - sum(shares.values()) + sum(share * grown(start) for start, share in shares.items())
    evidence = change_evidence(ranks, starts, marked, 1e-9)
    assert evidence.alarm is None
    assert evidence.capital == pytest.approx(expected)


def test_the_first_block_has_nothing_to_be_compared_with():
    assert change_evidence(np.full(500, 0.001), *ONE_DAY, 0.01) == (None, 1.0)


def test_an_observation_without_a_rank_changes_nothing():
    ranks = np.array([0.5] * 10 + [0.04] * 3)
    gaps = np.insert(ranks, [4, 11, 12], math.nan)
    plain = change_evidence(ranks, np.array([0, 10]), np.array([False, False]), 1e-9)
    assert change_evidence(gaps, np.array([0, 11]), np.array([False, False]), 1e-9).capital == pytest.approx(
        plain.capital
    )


def test_an_alarm_is_raised_once_and_names_the_block_it_began_with():
    ranks = np.concatenate([even(100), np.full(50, 0.02)])
    starts, marked = days([10] * 15)
    evidence = change_evidence(ranks, starts, marked, 0.01)
    assert evidence.alarm is not None
    assert evidence.alarm.start == 100
    assert 100 <= evidence.alarm.at < 110
    assert evidence.capital >= 100
    earlier = change_evidence(ranks[: evidence.alarm.at], starts[:11], marked[:11], 0.01)
    assert earlier.alarm is None


def test_what_was_decided_stays_decided_when_more_is_seen():
    generator = np.random.default_rng(2)
    ranks = np.concatenate([generator.random(100), generator.random(200) ** 3])
    starts, marked = days([10] * 30)
    full = change_evidence(ranks, starts, marked, 0.05)
    assert full.alarm is not None
    cut = full.alarm.at + 1
    assert change_evidence(ranks[:cut], starts[starts < cut], marked[starts < cut], 0.05) == full


def test_a_marked_block_needs_less_evidence():
    ranks = np.concatenate([even(300), np.full(20, 0.03)])
    starts, marked = days([10] * 32)
    plain = change_evidence(ranks, starts, marked, 0.01).alarm
    marked[30] = True
    told = change_evidence(ranks, starts, marked, 0.01).alarm
    assert isinstance(plain, Alarm)
    assert isinstance(told, Alarm)
    assert told.at < plain.at


# How often it is wrong, and how soon it is right


def series(generator, draw, per_day, alpha=0.05):
    """One life: verdicts in Poisson numbers a day, and its evidence."""
    lengths = generator.poisson(per_day, 60) + 1
    values = draw(np.repeat(np.arange(60), lengths))
    starts, marked = days(lengths)
    marked[::9] = True
    ranks = sequential_ranks(values, generator.random(len(values)), generator.integers(0, 2, len(values)).tolist())
    return change_evidence(ranks, starts, marked, alpha), starts


@pytest.mark.parametrize("failing", [0.02, 0.1, 0.5])
def test_sixty_days_without_a_change_raise_a_false_alarm_no_more_often_than_stated(failing):
    generator = np.random.default_rng(7)
    lives = 250
    alarms = sum(
        series(generator, lambda day: (generator.random(len(day)) >= failing).astype(float), 15)[0].alarm is not None
        for _ in range(lives)
    )
    # Even a rate of .05 would explain so many alarms: the exact lower limit at 99 % is not above it.
    assert lower_share_limit(alarms, lives, 0.01) <= 0.05


def test_contradictions_that_become_three_times_as_frequent_are_found_within_days():
    generator = np.random.default_rng(3)
    delays = []
    for _ in range(40):
        evidence, starts = series(
            generator, lambda day: (generator.random(len(day)) >= np.where(day < 20, 0.1, 0.3)).astype(float), 20
        )
        if evidence.alarm is not None and evidence.alarm.at >= starts[20]:
            delays.append(int(np.searchsorted(starts, evidence.alarm.at, side="right")) - 1 - 20)
    assert len(delays) >= 34
    assert np.median(delays) <= 6


# Refusals


def test_what_cannot_be_tested_is_refused():
    ranks = np.array([0.5, 0.5])
    with pytest.raises(ValueError, match=r"a false alarm rate lies in \(0, 1\), got 1.0"):
        change_evidence(ranks, *ONE_DAY, 1.0)
    with pytest.raises(ValueError, match=r"a false alarm rate lies in \(0, 1\), got 0.0"):
        change_evidence(ranks, *ONE_DAY, 0.0)
    with pytest.raises(ValueError, match="blocks begin at position 0, ascend"):
        change_evidence(ranks, np.array([1]), np.array([False]), 0.05)
    with pytest.raises(ValueError, match="blocks begin at position 0, ascend"):
        change_evidence(ranks, np.array([0, 1, 1]), np.array([False] * 3), 0.05)
    assert change_evidence(np.array([]), *ONE_DAY, 0.05) == (None, 1.0)
