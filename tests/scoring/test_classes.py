from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.core.labels import Judgement, Relation
from likewise.scoring.classes import CLASS_RULE, settle_by_classes

EQ, NE, CO = Relation.EQUIVALENT, Relation.NEUTRAL, Relation.CONTRADICTORY


class Asked:
    """Answers by a function of two texts, and keeps what was asked in which round."""

    def __init__(self, relation):
        self._relation, self.rounds = relation, []

    def __call__(self, pairs):
        self.rounds.append(list(pairs))
        answers = {pair: self._relation(*pair) for pair in pairs}
        return {p: a if isinstance(a, str | Judgement) else Judgement.certain(a, "nli") for p, a in answers.items()}

    @property
    def pairs(self):
        return [pair for asked in self.rounds for pair in asked]


def settled(relation, *scopes, guard=lambda judgement, pair: judgement):
    ask = Asked(relation)
    return settle_by_classes(scopes, ask, guard), ask


def relations(outcomes):
    return {pair: getattr(outcome, "relation", outcome) for pair, outcome in outcomes.items()}


def test_a_is_b_and_b_clashes_with_c_settles_a_and_c():
    said = {("a", "b"): EQ, ("b", "c"): CO}
    outcomes, ask = settled(lambda *pair: said[pair], [("b", "c"), ("a", "b"), ("a", "c")])
    assert relations(outcomes) == {("a", "b"): EQ, ("b", "c"): CO, ("a", "c"): CO}
    assert outcomes["a", "c"].rule == CLASS_RULE
    assert sorted(ask.pairs) == [("a", "b"), ("b", "c")]


def test_two_equivalences_settle_the_third_with_the_less_sure_of_them():
    sure, unsure = (0.9, 0.05, 0.05), (0.5, 0.3, 0.2)
    said = {("a", "b"): Judgement.from_nli(sure, sure), ("a", "c"): Judgement.from_nli(unsure, sure)}
    outcomes, ask = settled(lambda *pair: said[pair], [("a", "b"), ("a", "c"), ("b", "c")])
    assert len(ask.pairs) == 2
    assert outcomes["b", "c"].relation is EQ
    assert min(outcomes["b", "c"].forward[0], outcomes["b", "c"].backward[0]) == 0.5


def test_without_an_equivalence_everything_is_asked():
    pairs = list(combinations("abcde", 2))
    outcomes, ask = settled(lambda *pair: NE, pairs)
    assert sorted(ask.pairs) == pairs
    assert all(outcome.rule == "nli" for outcome in outcomes.values())


def test_twenty_texts_in_four_classes_need_a_quarter_of_the_judging():
    texts = [f"{kind}{i}" for i in range(5) for kind in "abcd"]
    pairs = [tuple(sorted(pair)) for pair in combinations(texts, 2)]
    outcomes, ask = settled(lambda x, y: EQ if x[0] == y[0] else CO, pairs)
    assert relations(outcomes) == {(x, y): EQ if x[0] == y[0] else CO for x, y in pairs}
    # The pivot of each class meets what the earlier classes left: 19 + 14 + 9 + 4 of 190.
    assert len(ask.pairs) == 46


def test_scopes_know_nothing_of_each_other_and_share_their_rounds():
    said = {("a", "b"): EQ, ("b", "c"): CO, ("a", "d"): NE, ("c", "d"): NE}
    together, ask = settled(lambda *pair: said[pair], [("a", "b"), ("b", "c")], [("a", "d"), ("c", "d")])
    assert relations(together) == said
    assert len(ask.rounds) == 1
    alone, _ = settled(lambda *pair: said[pair], [("a", "d"), ("c", "d")])
    assert all(together[pair] == outcome for pair, outcome in alone.items())


def test_a_failure_is_a_reason_and_settles_nothing():
    outcomes, ask = settled(
        lambda *pair: "too long" if pair == ("a", "b") else NE, [("a", "b"), ("a", "c"), ("b", "c")]
    )
    assert relations(outcomes) == {("a", "b"): "too long", ("a", "c"): NE, ("b", "c"): NE}
    assert len(ask.pairs) == 3


def test_what_is_copied_passes_the_guard():
    def guard(judgement, pair):
        return Judgement.certain(NE, "slots:cap") if pair == ("b", "c") else judgement

    outcomes, _ = settled(lambda *pair: EQ, [("a", "b"), ("a", "c"), ("b", "c")], guard=guard)
    assert (outcomes["b", "c"].relation, outcomes["b", "c"].rule) == (NE, "slots:cap")


def test_directions_are_copied_the_right_way_round():
    there, back = (0.2, 0.7, 0.1), (0.1, 0.8, 0.1)
    said = {("a", "b"): Judgement.certain(EQ, "nli"), ("a", "c"): Judgement.from_nli(there, back)}
    outcomes, _ = settled(lambda *pair: said[pair], [("a", "b"), ("a", "c"), ("c", "b")])
    assert (outcomes["c", "b"].forward, outcomes["c", "b"].backward) == (back, there)


pairs = st.lists(
    st.tuples(st.sampled_from("abcdefg"), st.sampled_from("hijklm") | st.sampled_from("abcdefg")).filter(
        lambda pair: pair[0] < pair[1]
    ),
    unique=True,
    max_size=40,
)


@given(pairs, st.dictionaries(st.sampled_from("abcdefghijklm"), st.integers(0, 3)))
def test_with_a_transitive_judge_nothing_changes_and_nothing_is_asked_twice(wanted, kinds):
    def relation(a, b):
        x, y = kinds.get(a, 0), kinds.get(b, 0)
        return EQ if x == y else CO if (x + y) % 2 else NE

    outcomes, ask = settled(relation, wanted)
    assert relations(outcomes) == {pair: relation(*pair) for pair in wanted}
    assert len(set(ask.pairs)) == len(ask.pairs)


@given(pairs, st.randoms(use_true_random=False))
def test_with_any_judge_every_pair_is_settled(wanted, random):
    said = {pair: random.choice([EQ, NE, CO]) for pair in wanted}
    outcomes, ask = settled(lambda *pair: said[pair], wanted)
    assert outcomes.keys() == set(wanted)
    assert all(outcomes[pair].relation is said[pair] for pair in ask.pairs)


def test_no_scope_asks_nobody():
    def never(pairs):
        pytest.fail("asked")

    assert settle_by_classes([], never, lambda judgement, pair: judgement) == {}
