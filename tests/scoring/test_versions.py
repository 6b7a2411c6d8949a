"""Distances between the runs of two versions."""

import numpy as np
import pytest

from judges import TableJudge
from likewise.core.group import LengthPolicy
from likewise.core.labels import Relation
from likewise.scoring.label import Labeller
from likewise.scoring.score import ScoringOptions
from likewise.scoring.stored_judge import StoredJudge
from likewise.scoring.versions import pooled, pooled_distances, pooled_pairs
from scoring.runs import CUT, INVALID, group, run, speaking


def distances(base, candidate, relations=None, **options):
    both = pooled(base, candidate)
    labels = Labeller(StoredJudge(TableJudge(relations))).settle(pooled_pairs(both))
    return pooled_distances(both, labels, ScoringOptions(**{"gamma": 0.5} | options))


def test_distances_are_discounted_sums_of_turn_distances():
    # "ab" against "ac": 0 then 0.5 at a half; against "b": 1 (contradiction) then END against c.
    base, candidate = speaking("ab", "ac"), speaking("b")
    matrix = distances(base, candidate, {("a", "b"): Relation.CONTRADICTORY})
    expected = np.array([[0, 0.25, 1.5], [0.25, 0, 1.5], [1.5, 1.5, 0]])
    assert matrix == pytest.approx(expected)


def test_the_length_policy_counts():
    matrix = distances(speaking("ab"), speaking("a"), length_policy=LengthPolicy.TRUNCATE)
    assert matrix[0, 1] == 0.0


def test_runs_keep_their_order_the_base_first_and_invalid_ones_are_left_out():
    base = group(run("1", "a"), run("2", stop=INVALID), run("3", "b"))
    candidate = group(run("1", "c"), run("2", "d", stop=CUT))
    both = pooled(base, candidate)
    assert [rollout.run_id for rollout in both.rollouts] == ["base/1", "base/3", "candidate/1", "candidate/2"]
    assert both.valid == both.rollouts
