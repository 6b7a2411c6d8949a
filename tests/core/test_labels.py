from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.core.labels import Entailment, Judgement, Relation
from likewise.metrics.nli_distance import soft_distance

ENTAILS, NEUTRAL, CONTRADICTS = (0.8, 0.1, 0.1), (0.1, 0.8, 0.1), (0.1, 0.1, 0.8)
EQ, NE, CO = Relation.EQUIVALENT, Relation.NEUTRAL, Relation.CONTRADICTORY


@pytest.mark.parametrize(
    ("forward", "backward", "relation"),
    [
        (ENTAILS, ENTAILS, EQ),
        (ENTAILS, NEUTRAL, NE),
        (NEUTRAL, NEUTRAL, NE),
        (ENTAILS, CONTRADICTS, CO),
        (NEUTRAL, CONTRADICTS, CO),
        (CONTRADICTS, CONTRADICTS, CO),
    ],
)
def test_both_directions_make_the_relation_and_their_order_does_not_matter(forward, backward, relation):
    assert Judgement.from_nli(forward, backward).relation is relation
    assert Judgement.from_nli(backward, forward).relation is relation


def test_contradiction_in_one_direction_wins_over_a_surer_entailment_in_the_other():
    """alizahidraja/isnad#110: entailment .66 was looked at first, and the contradiction .60 was lost."""
    judgement = Judgement.from_nli((0.66, 0.24, 0.10), (0.30, 0.10, 0.60))
    assert judgement.relation is CO


def test_no_contradiction_either_way_is_not_yet_equivalence():
    """lorenzkuhn/semantic_uncertainty#3: "It is red." / "It is big." are neutral."""
    assert Judgement.from_nli(NEUTRAL, NEUTRAL).relation is NE
    assert Judgement.from_nli(ENTAILS, NEUTRAL).relation is not EQ


def test_all_nine_combinations_follow_definition_1():
    triples = {Entailment.ENTAILS: ENTAILS, Entailment.NEUTRAL: NEUTRAL, Entailment.CONTRADICTS: CONTRADICTS}
    for a, b in itertools.product(Entailment, repeat=2):
        expected = CO if Entailment.CONTRADICTS in (a, b) else EQ if a == b == Entailment.ENTAILS else NE
        assert Judgement.from_nli(triples[a], triples[b]).relation is expected


def test_a_rules_judgement_is_certain_in_both_directions():
    assert Judgement.certain(CO, "tool:x") == Judgement(CO, (0.0, 0.0, 1.0), (0.0, 0.0, 1.0), "tool:x")


def test_flipping_exchanges_directions_and_twice_is_nothing():
    judgement = Judgement.from_nli(ENTAILS, NEUTRAL)
    assert judgement.flipped == Judgement(NE, NEUTRAL, ENTAILS, "nli")
    assert judgement.flipped.flipped == judgement


def test_relations_grow_with_distance():
    assert list(Relation) == sorted([CO, EQ, NE]) == [EQ, NE, CO]


# Confidence


@pytest.mark.parametrize(
    ("forward", "backward", "confidence"),
    [
        ((0.8, 0.1, 0.1), (0.7, 0.2, 0.1), 0.7),  # equivalent: the weaker of the two entailments
        ((0.1, 0.1, 0.8), (0.3, 0.4, 0.3), 0.8),  # contradictory: the stronger of the two
        ((0.2, 0.2, 0.6), (0.9, 0.1, 0.0), 0.6),  # contradictory against a surer entailment
        ((0.1, 0.8, 0.1), (0.3, 0.5, 0.2), 0.7),  # neutral: what is left of 0.2 contradictory and 0.1 equivalent
        ((0.9, 0.1, 0.0), (0.1, 0.9, 0.0), 0.9),  # neutral: one entails and the other does not
        ((0.48, 0.42, 0.10), (0.46, 0.48, 0.06), 0.44),  # neutral by a hair: 1 - 0.10 - 0.46
    ],
)
def test_confidence_is_the_probability_of_the_stated_relation_worked_out_by_hand(forward, backward, confidence):
    judgement = Judgement.from_nli(forward, backward)
    assert judgement.confidence == pytest.approx(confidence)
    assert judgement.flipped.confidence == judgement.confidence


@pytest.mark.parametrize("relation", list(Relation))
def test_a_judgement_by_rule_is_certain(relation):
    assert Judgement.certain(relation, "rule").confidence == 1.0


triples = st.tuples(*[st.floats(0, 1)] * 3).filter(lambda t: sum(t) > 0).map(lambda t: tuple(p / sum(t) for p in t))


@given(triples, triples)
def test_the_confidences_of_the_three_relations_are_a_distribution(forward, backward):
    parts = [Judgement(relation, forward, backward, "nli").confidence for relation in Relation]
    assert sum(parts) == pytest.approx(1.0)
    assert min(parts) >= -1e-9
    assert max(parts) <= 1 + 1e-9


@given(triples, triples)
def test_the_expected_distance_under_the_confidences_is_the_soft_distance(forward, backward):
    equivalent, neutral, contradictory = (Judgement(r, forward, backward, "nli").confidence for r in Relation)
    rows = (np.array(triple, dtype=np.float64) for triple in (forward, backward))
    assert contradictory + 0.5 * neutral + 0.0 * equivalent == pytest.approx(float(soft_distance(*rows)))


def test_words_of_the_judge_travel_along_and_are_no_part_of_the_judgement():
    judgement = Judgement(NE, NEUTRAL, ENTAILS, "llm", ("my words",))
    assert judgement == Judgement(NE, NEUTRAL, ENTAILS, "llm")
    assert judgement.flipped.answers == ("my words",)
