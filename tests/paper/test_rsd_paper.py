"""Sentences of arXiv:2610.33012 as tests, on finite processes solved by enumeration."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.core.labels import Entailment
from likewise.metrics.bounds import (
    average_case_band,
    dominant_class,
    dominant_class_sharp,
    error_band,
    immediate_contradiction,
    immediate_divergence,
    trajectory_agreement,
    trajectory_agreement_at_root,
)
from likewise.metrics.divergence import discounted_sum, monte_carlo_rsd, per_turn_mean
from likewise.metrics.nli_distance import hard_distance, relation_from_entailment

N_ACTIONS, N_TURNS = 3, 3
seeds = st.integers(0, 10**6)


class FiniteProcess:
    """An agent that draws one of three actions at each of three turns, by its own history; solved by enumeration."""

    def __init__(self, seed, concentration=0.3):
        generator = np.random.default_rng(seed)
        self.gamma = generator.uniform(0.1, 0.95)
        # Two of the actions may mean the same; all others are neutral or contradict.
        meaning = generator.integers(0, N_ACTIONS, N_ACTIONS)
        between = np.triu(generator.choice([0.5, 1.0], (N_ACTIONS, N_ACTIONS)), 1)
        between += between.T
        self.distance = np.where(meaning[:, None] == meaning, 0.0, between[meaning][:, meaning])
        self.meaning = meaning
        self.trajectories = list(product(range(N_ACTIONS), repeat=N_TURNS))
        policy = {
            history: generator.dirichlet([concentration] * N_ACTIONS)
            for turn in range(N_TURNS)
            for history in product(range(N_ACTIONS), repeat=turn)
        }
        self.first = policy[()]
        self.chance = np.array(
            [math.prod(policy[tau[:t]][tau[t]] for t in range(N_TURNS)) for tau in self.trajectories]
        )

    def divergences(self):
        """D of every pair of trajectories and its probability under two independent rollouts."""
        sums, chances = [], []
        for (a, p), (b, q) in product(zip(self.trajectories, self.chance, strict=True), repeat=2):
            sums.append(sum(self.gamma**t * self.distance[a[t], b[t]] for t in range(N_TURNS)))
            chances.append(p * q)
        return np.array(sums), np.array(chances)

    @property
    def rsd(self):
        sums, chances = self.divergences()
        return float(sums @ chances)


processes = seeds.map(FiniteProcess)


def test_definition_1_the_distance_is_symmetric_and_zero_on_the_diagonal():
    labels = np.array(list(product(range(3), repeat=2)), dtype=np.int8)
    there = hard_distance(relation_from_entailment(labels[:, 0], labels[:, 1]))
    back = hard_distance(relation_from_entailment(labels[:, 1], labels[:, 0]))
    assert there.tolist() == back.tolist()
    assert set(there.tolist()) == {0.0, 0.5, 1.0}
    same = np.array([Entailment.ENTAILS], dtype=np.int8)  # a text entails itself, both ways
    assert hard_distance(relation_from_entailment(same, same)).tolist() == [0.0]


@pytest.mark.parametrize(("gamma", "turns"), [(0.8, 1), (0.8, 5), (0.5, 20), (0.95, 3)])
def test_when_all_actions_contradict_rsd_is_the_geometric_sum(gamma, turns):
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    rsd = monte_carlo_rsd(np.ones((3, turns)), pairs, 3, gamma)
    assert rsd.value == pytest.approx((1 - gamma**turns) / (1 - gamma))
    assert rsd.value < 1 / (1 - gamma)


def test_a_deterministic_agent_has_rsd_zero():
    process = FiniteProcess(0)
    process.chance = np.eye(len(process.trajectories))[4]
    assert process.rsd == 0.0


@pytest.mark.parametrize("seed", range(4))
def test_equation_1_the_mean_over_pairs_of_sampled_rollouts_approaches_the_expected_divergence(seed):
    process = FiniteProcess(seed, concentration=1.0)
    # All pairs of independent draws: the estimator is unbiased, so many groups average to the enumerated value.
    generator = np.random.default_rng(11)
    pairs = np.array([[i, j] for i in range(4) for j in range(i + 1, 4)])
    trajectories, values = np.array(process.trajectories), []
    for _ in range(250):
        drawn = trajectories[generator.choice(len(trajectories), 4, p=process.chance)]
        turns = process.distance[drawn[pairs[:, 0]], drawn[pairs[:, 1]]]
        values.append(monte_carlo_rsd(turns, pairs, 4, process.gamma).value)
    assert np.mean(values) == pytest.approx(process.rsd, abs=5 * np.std(values) / math.sqrt(250) + 1e-9)


@given(processes)
@settings(max_examples=25, deadline=None)
def test_equation_2_rsd_is_the_distance_now_plus_the_discounted_rsd_of_what_follows(process):
    # The recursion over pairs of histories, against the sum over whole trajectories.
    trajectories, chance = process.trajectories, process.chance

    def value(prefix_a, prefix_b):
        t = len(prefix_a)
        if t == N_TURNS:
            return 0.0
        mass = {
            p: sum(c for tau, c in zip(trajectories, chance, strict=True) if tau[: len(p)] == p)
            for p in [prefix_a, prefix_b, *[(*p, x) for p in (prefix_a, prefix_b) for x in range(N_ACTIONS)]]
        }
        if mass[prefix_a] == 0 or mass[prefix_b] == 0:
            return 0.0
        total = 0.0
        for x, y in product(range(N_ACTIONS), repeat=2):
            weight = mass[(*prefix_a, x)] / mass[prefix_a] * mass[(*prefix_b, y)] / mass[prefix_b]
            if weight > 0:
                total += weight * (process.distance[x, y] + process.gamma * value((*prefix_a, x), (*prefix_b, y)))
        return total

    assert value((), ()) == pytest.approx(process.rsd, abs=1e-9)


@given(processes, st.floats(0.01, 3))
@settings(max_examples=50, deadline=None)
def test_trajectory_agreement_two_rollouts_diverge_by_delta_with_probability_at_most_u_over_delta(process, delta):
    sums, chances = process.divergences()
    bound = trajectory_agreement(process.rsd, delta)
    if bound.defined:
        assert chances[sums >= delta].sum() <= bound.value + 1e-12
    else:
        assert process.rsd / delta >= 1
    root = trajectory_agreement_at_root(process.rsd)
    if root.defined and process.rsd > 0:
        assert chances[sums >= math.sqrt(process.rsd)].sum() <= root.value + 1e-12


@given(processes)
@settings(max_examples=50, deadline=None)
def test_immediate_contradiction_and_immediate_divergence_are_at_most_u(process):
    now = np.outer(process.first, process.first)
    contradiction = now[process.distance == 1].sum()
    neutral = now[process.distance == 0.5].sum()
    bound = immediate_contradiction(process.rsd)
    assert contradiction <= (bound.value if bound.defined else 1) + 1e-12
    expected = float((now * process.distance).sum())
    assert immediate_divergence(float(neutral), float(contradiction)) == pytest.approx(expected)
    assert expected <= process.rsd + 1e-12


@given(processes)
@settings(max_examples=50, deadline=None)
def test_dominant_action_class_some_class_has_probability_at_least_one_minus_two_u(process):
    largest = max(process.first[process.meaning == kind].sum() for kind in set(process.meaning.tolist()))
    for bound in (dominant_class(process.rsd), dominant_class_sharp(process.rsd)):
        if bound.defined:
            assert largest >= bound.value - 1e-9


@given(st.lists(st.floats(0.001, 1), min_size=2, max_size=5))
@settings(max_examples=100, deadline=None)
def test_the_sharp_dominant_class_holds_where_all_that_differ_are_neutral(weights):
    # The tightest case: U equals half the probability that two actions differ.
    shares = np.array(weights) / sum(weights)
    u = 0.5 * (1 - np.sum(shares**2))
    for bound in (dominant_class(u), dominant_class_sharp(u)):
        if bound.defined:
            assert shares.max() >= bound.value - 1e-7  # the root at U = 1/4 takes half of the digits


@pytest.mark.parametrize("m", [0.55, 0.7, 0.9, 0.99])
def test_the_sharp_dominant_class_is_reached_by_two_neutral_classes(m):
    u = 0.5 * (1 - m**2 - (1 - m) ** 2)
    assert dominant_class_sharp(u).value == pytest.approx(m)


def test_u_of_one_tenth_gives_0_80_and_0_887():
    assert round(dominant_class(0.1).value, 2) == 0.80
    assert round(dominant_class_sharp(0.1).value, 3) == 0.887


def test_a_majority_is_guaranteed_below_one_quarter_only():
    assert dominant_class(0.2499).value > 0.5
    assert dominant_class(0.25).value == 0.5
    assert not dominant_class_sharp(0.25).defined


@given(processes, seeds)
@settings(max_examples=30, deadline=None)
def test_error_propagation_a_judge_wrong_by_eps_moves_u_by_at_most_eps_over_one_minus_gamma(process, seed):
    truth = process.rsd
    noise = np.triu(np.random.default_rng(seed).uniform(-0.2, 0.2, process.distance.shape), 1)
    judged = np.clip(process.distance + noise + noise.T, 0, 1)
    eps = float(np.abs(judged - process.distance).max())
    process.distance = judged
    bound = error_band(0.0, eps, process.gamma)
    assert abs(process.rsd - truth) <= bound.value + 1e-12


@pytest.mark.parametrize("supremum", [0.5, 1.0])
def test_hard_labels_leave_the_theorem_empty_while_the_average_case_band_is_not(supremum):
    assert not error_band(0.5, supremum, 0.8).defined
    assert average_case_band(np.full(10, 0.05), 0.8).value == pytest.approx(0.05 * (1 - 0.8**10) / 0.2)


def test_the_divergence_of_a_group_is_the_discounted_sum_of_its_per_turn_means():
    turns = np.array([[1.0, 0.5, 0.0], [0.0, 0.5, 1.0], [0.5, 0.5, 0.5]])
    total = sum(0.8**t * mean for t, mean in enumerate((0.5, 0.5, 0.5)))
    assert per_turn_mean(turns).tolist() == [0.5, 0.5, 0.5]
    assert discounted_sum(turns, 0.8).mean() == pytest.approx(total)
