"""Distances between two actions from entailment in both directions."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.core.labels import NOT_MEASURED, Entailment, Judgement, Relation
from likewise.metrics.nli_distance import hard_distance, relation_from_entailment, soft_distance

E, N, C = Entailment.ENTAILS, Entailment.NEUTRAL, Entailment.CONTRADICTS
EQUIVALENT, NEUTRAL, CONTRADICTORY = Relation.EQUIVALENT, Relation.NEUTRAL, Relation.CONTRADICTORY

probabilities = st.tuples(*[st.integers(0, 1000)] * 3).filter(lambda t: sum(t) > 0).map(lambda t: np.array(t) / sum(t))


@pytest.mark.parametrize(
    ("forward", "backward", "relation", "distance"),
    [
        (E, E, EQUIVALENT, 0.0),
        (E, N, NEUTRAL, 0.5),
        (N, E, NEUTRAL, 0.5),
        (N, N, NEUTRAL, 0.5),  # "It is red." / "It is big.": no contradiction is not equivalence
        (E, C, CONTRADICTORY, 1.0),  # entailment one way does not hide contradiction the other way
        (C, E, CONTRADICTORY, 1.0),
        (N, C, CONTRADICTORY, 1.0),
        (C, N, CONTRADICTORY, 1.0),
        (C, C, CONTRADICTORY, 1.0),
    ],
)
def test_each_pair_of_entailments_has_its_relation_and_distance(forward, backward, relation, distance):
    result = relation_from_entailment(np.array([forward], dtype=np.int8), np.array([backward], dtype=np.int8))
    assert result.dtype == np.int8
    assert result.tolist() == [relation]
    assert hard_distance(result).tolist() == [distance]


@pytest.mark.parametrize(
    ("forward", "backward", "expected"),
    [
        ((1.0, 0.0, 0.0), (1.0, 0.0, 0.0), 0.0),
        ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0), 0.5),
        ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), 1.0),
        ((0.8, 0.1, 0.1), (0.6, 0.2, 0.2), 0.2 + 0.5 * (1 - 0.2 - 0.6)),
        ((0.66, 0.24, 0.10), (0.30, 0.10, 0.60), 0.6 + 0.5 * (1 - 0.6 - 0.3)),
        ((0.9, 0.1, 0.0), (0.5, 0.0, 0.5), 0.5 + 0.5 * (1 - 0.5 - 0.5)),
    ],
)
def test_soft_distances_match_the_table_worked_by_hand(forward, backward, expected):
    assert soft_distance(np.array([forward]), np.array([backward])) == pytest.approx([expected])


def test_relations_agree_with_the_judgement_of_single_pairs():
    one_hot = {0: (1.0, 0.0, 0.0), 1: (0.0, 1.0, 0.0), 2: (0.0, 0.0, 1.0)}
    for forward, backward in product(range(3), repeat=2):
        judged = Judgement.from_nli(one_hot[forward], one_hot[backward])
        labels = relation_from_entailment(np.array(forward, dtype=np.int8), np.array(backward, dtype=np.int8))
        assert labels == judged.relation
        soft = soft_distance(np.array([one_hot[forward]]), np.array([one_hot[backward]]))
        assert soft.tolist() == hard_distance(labels[None]).tolist()


@given(probabilities, probabilities)
@settings(deadline=None)
def test_soft_distance_lies_between_zero_and_one_and_is_symmetric(forward, backward):
    there = soft_distance(forward[None], backward[None])
    back = soft_distance(backward[None], forward[None])
    assert 0 <= there[0] <= 1
    assert there.tolist() == back.tolist()


@given(probabilities, probabilities, st.floats(0, 1))
@settings(deadline=None)
def test_soft_distance_grows_as_probability_moves_to_contradiction(forward, backward, share):
    moved = forward * (1 - share) + np.array([0.0, 0.0, share])
    assert soft_distance(moved[None], backward[None])[0] >= soft_distance(forward[None], backward[None])[0] - 1e-12


def test_what_was_not_measured_stays_not_measured():
    missing = np.array([NOT_MEASURED, C], dtype=np.int8)
    other = np.array([C, NOT_MEASURED], dtype=np.int8)
    assert relation_from_entailment(missing, other).tolist() == [NOT_MEASURED, NOT_MEASURED]
    assert np.isnan(hard_distance(np.array([NOT_MEASURED], dtype=np.int8))).all()
    assert np.isnan(soft_distance(np.full((2, 3), np.nan), np.full((2, 3), np.nan))).all()


def test_labels_that_are_no_entailment_are_refused():
    with pytest.raises(ValueError, match=r"entailment labels are 0, 1, 2 or -1 \(not measured\), got 3"):
        relation_from_entailment(np.array([3], dtype=np.int8), np.array([0], dtype=np.int8))
    with pytest.raises(ValueError, match="relation labels"):
        hard_distance(np.array([-2], dtype=np.int8))


def test_logits_are_refused_as_probabilities():
    with pytest.raises(ValueError, match="are these logits"):
        soft_distance(np.array([[4.0, -1.0, -2.0]]), np.array([[1.0, 0.0, 0.0]]))
