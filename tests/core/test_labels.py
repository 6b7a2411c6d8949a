from __future__ import annotations

import itertools

import pytest

from likewise.core.labels import Entailment, Judgement, Relation

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
