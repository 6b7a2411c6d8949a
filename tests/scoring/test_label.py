from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges import FailingJudge, LeaningJudge, NeverJudge, TableJudge
from likewise.backends.label_store import LabelStore
from likewise.backends.tool_rules import ToolRules
from likewise.core.labels import NOT_MEASURED, Judgement, Relation
from likewise.core.rollout import Action
from likewise.scoring import label
from likewise.scoring.label import ActionLabels, Labeller, label_pairs, pair_labels, time_aligned_pairs
from likewise.scoring.stored_judge import StoredJudge
from scoring.runs import CUT, INVALID, call, calls, group, run, speaking

EQ, NE, CO = Relation.EQUIVALENT, Relation.NEUTRAL, Relation.CONTRADICTORY
A, B, C = Action("a"), Action("b"), Action("c")


def settled(judge, *pairs, **more):
    return Labeller(StoredJudge(judge), **more).settle(pairs)


def test_each_distinct_pair_is_judged_once():
    judge = TableJudge()
    settled(judge, (A, B), (A, B), (B, A), (Action(" a "), B), (A, C))
    assert judge.calls == {("a", "b"): 1, ("a", "c"): 1}


def test_what_was_settled_is_not_asked_again_in_a_later_round():
    judge = TableJudge()
    labeller = Labeller(StoredJudge(judge))
    labeller.settle([(A, B)])
    labeller.settle([(B, A), (A, C)])
    assert judge.calls == {("a", "b"): 1, ("a", "c"): 1}


def test_a_judge_is_always_asked_in_one_orientation():
    judge = TableJudge()
    settled(judge, (Action("z"), Action("a")))
    assert list(judge.calls) == [("a", "z")]


def test_looked_up_from_the_other_side_the_directions_are_exchanged():
    labels = settled(LeaningJudge(), (B, A))
    there, back = labels.of(A, B), labels.of(B, A)
    assert (there.forward, there.backward) == ((0.75, 0.25, 0.0), (0.0, 0.75, 0.25))
    assert back == there.flipped


def test_directions_survive_texts_inside_of_calls():
    a, b = calls(call("send", text="a")), calls(call("send", text="b"))
    labels = settled(LeaningJudge(), (b, a))
    assert labels.of(a, b).forward == (0.75, 0.25, 0.0)
    assert labels.of(b, a).forward == (0.0, 0.75, 0.25)


def test_identical_actions_need_no_judge():
    labels = settled(NeverJudge(), (A, Action(" a\n")), (calls(call("get", x=1)), calls(call("get", x=1.0))))
    assert labels.of(A, A) == Judgement.certain(EQ, "identical")
    assert labels.rules == {"identical": 2}


def test_tool_rules_decide_before_the_judge():
    a, b = calls(call("set", id=1, v=1)), calls(call("set", id=1, v=2))
    labels = settled(NeverJudge(), (a, b), (a, A))
    assert labels.of(a, b) == Judgement.certain(CO, "tool:same-object-write")
    assert labels.of(A, a) == Judgement.certain(NE, "tool:call-against-text")


def test_the_slot_guard_decides_before_the_judge():
    five, six = Action("The refund is $5."), Action("The refund is $6.")
    assert settled(NeverJudge(), (five, six)).of(five, six) == Judgement.certain(CO, "slots:value")
    one, two = Action("I cancelled order 1234."), Action("I cancelled order 5678.")
    assert settled(NeverJudge(), (one, two)).of(one, two) == Judgement.certain(NE, "slots:other-object")


def test_exclusive_words_decide_before_the_judge():
    red, blue = Action("I put the red shirt in your cart."), Action("I put the blue shirt in your cart.")
    assert settled(NeverJudge(), (red, blue)).of(red, blue) == Judgement.certain(CO, "aligned:exclusive")


# Bare numbers may count two things, so that the equivalence falls and no contradiction is claimed.
CAPPED = Action("Your total count is 5 today."), Action("Hello, the total count is 6 then.")


@pytest.mark.parametrize(("judged", "relation"), [(EQ, NE), (NE, NE), (CO, CO)])
def test_a_cap_takes_an_equivalence_away_and_nothing_else(judged, relation):
    judge = TableJudge(default=judged)
    labels = settled(judge, CAPPED)
    assert judge.calls.total() == 1
    assert labels.of(*CAPPED).relation is relation
    assert labels.of(*CAPPED).rule == ("slots:cap" if judged is EQ else "nli")


@pytest.mark.parametrize(("judged", "relation"), [(EQ, CO), (NE, NE), (CO, CO)])
def test_the_one_amount_that_differs_makes_an_equivalence_a_contradiction(judged, relation):
    # a refund of $5 and one of $6 are not both right; whether it is one refund, the judge says with "equivalent"
    pair = Action("Your total refund is $5 today."), Action("Hello, the total refund is $6 then.")
    labels = settled(TableJudge(default=judged), pair)
    assert labels.of(*pair).relation is relation
    assert labels.of(*pair).rule == ("slots:lone-value" if judged is EQ else "nli")


def test_what_takes_an_equivalence_back_is_looked_for_in_equivalences_only(monkeypatch):
    asked = []
    monkeypatch.setattr(label, "lone_value", lambda a, b: asked.append((a, b)))
    same, other = (Action("I am here."), Action("Here I am.")), (Action("I am here."), Action("Go away."))
    judge = TableJudge({("Here I am.", "I am here."): EQ}, default=NE)
    labels = settled(judge, same, other)
    assert [labels.of(*pair).relation for pair in (same, other)] == [EQ, NE]
    assert asked == [("Here I am.", "I am here.")]


def test_a_users_rules_are_the_labellers():
    a, b = calls(call("f", v=[1, 2])), calls(call("f", v=[2, 1]))
    rules = ToolRules(overrides={"list-order": EQ})
    assert settled(NeverJudge(), (a, b)).of(a, b).relation is NE
    assert settled(NeverJudge(), (a, b), rules=rules).of(a, b).relation is EQ


# Failures


@pytest.mark.parametrize("silent", ["", " \n", "\u200b"])
def test_two_empty_actions_are_not_measured_and_one_against_words_is_a_difference(silent):
    labels = settled(NeverJudge(), (Action(silent), Action("")), (Action(silent), Action("Done.")))
    assert labels.of(Action(silent), Action("")) is None
    assert "two empty completions are no agreement" in labels.failure(Action(silent), Action(""))
    assert labels.of(Action(silent), Action("Done.")).relation is Relation.NEUTRAL


def test_a_failed_pair_becomes_a_reason_and_the_rest_is_still_judged():
    judge = FailingJudge(on={"b"}, default=EQ, problem="too long")
    labels = settled(judge, (A, B), (A, C), (B, C), (C, Action("d")))
    assert labels.of(A, B) is None
    assert labels.of(B, C) is None
    assert labels.of(A, C).relation is EQ
    assert labels.of(C, Action("d")).relation is EQ
    assert sorted(labels.failures.values()) == ["too long", "too long"]
    assert labels.rules == {"nli": 2}
    assert max(judge.calls.values()) == 1


def test_where_every_pair_fails_every_pair_has_a_reason():
    labels = settled(FailingJudge(), (A, B), (A, C))
    assert len(labels.failures) == 2
    assert labels.rules.total() == 0


def test_a_failed_text_fails_every_action_that_needs_it():
    a, b = Action("a", (call("get", q="x"),)), Action("b", (call("get", q="x"),))
    labels = settled(FailingJudge(on={"a"}), (A, B), (a, b))
    assert labels.of(A, B) is labels.of(a, b) is None


def test_a_pair_never_asked_for_is_a_key_error_and_not_a_guess():
    labels = settled(TableJudge(), (A, B))
    assert labels.asked(B, A)
    assert not labels.asked(A, C)
    with pytest.raises(KeyError):
        labels.of(A, C)
    with pytest.raises(KeyError):
        ActionLabels().of(A, A)


def test_words_that_spell_a_call_keep_their_own_judgement():
    words, made = Action('get({"q":"x"})'), calls(call("get", q="x"))
    labels = settled(TableJudge(), (words, A), (made, A))
    assert labels.of(words, A).rule == "nli"
    assert labels.of(made, A).rule == "tool:call-against-text"


def test_a_text_beyond_the_limit_is_a_failure_with_a_reason_and_nobody_is_asked(monkeypatch):
    monkeypatch.setattr(label, "MAX_CHARACTERS", 5)
    labels = settled(NeverJudge(), (A, Action("far too long")))
    assert list(labels.failures.values()) == ["a text of over 5 characters is a dump, not an action"]


# Properties

actions = st.builds(
    Action,
    st.sampled_from(["", "a", "b", "I pay $5.", "I pay $6.", "I cannot do it."]),
    st.lists(
        st.builds(
            lambda name, value, text: call(name, id=1, value=value, text=text),
            st.sampled_from(["get_it", "set_it"]),
            st.integers(0, 1),
            st.sampled_from(["x", "y"]),
        ),
        max_size=2,
    ).map(tuple),
)
pair_lists = st.lists(st.tuples(actions, actions), min_size=1, max_size=6)


@given(pair_lists, st.randoms(use_true_random=False))
def test_neither_the_order_of_pairs_nor_the_side_changes_an_answer(pairs, random):
    expected = settled(LeaningJudge(), *pairs)
    turned = [(b, a) if random.random() < 0.5 else (a, b) for a, b in random.sample(pairs, len(pairs))]
    other = settled(LeaningJudge(), *turned)
    for a, b in pairs:
        assert other.of(a, b) == expected.of(a, b)
        answer = expected.of(a, b)  # none where neither says anything
        assert other.of(b, a) == (None if answer is None else answer.flipped)


@given(pair_lists)
def test_one_round_answers_as_many_rounds_do(pairs):
    together = settled(LeaningJudge(), *pairs)
    labeller = Labeller(StoredJudge(LeaningJudge()))
    for pair in pairs:
        labeller.settle([pair])
    assert all(labeller.labels.of(*pair) == together.of(*pair) for pair in pairs)


# The store


def test_a_second_labeller_with_the_same_store_asks_nothing():
    with LabelStore(None) as store:
        first = Labeller(StoredJudge(LeaningJudge(), store)).settle([(B, A), (A, C)])
        second_judge = StoredJudge(NeverJudge(LeaningJudge.judge_id), store)
        second = Labeller(second_judge).settle([(A, B), (C, A)])
    assert second_judge.from_store == 2
    assert second_judge.from_judge == 0
    assert second.of(A, B) == first.of(A, B)
    assert second.of(C, A) == first.of(C, A)


# Arrays


def test_labels_of_a_group_are_arrays_with_gaps_where_a_run_has_no_action():
    judge = TableJudge({("b", "c"): CO})
    labels = label_pairs(speaking("ab", "ac", "a"), judge=judge)
    assert labels.pairs.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert labels.relation.tolist() == [[EQ, CO], [EQ, NOT_MEASURED], [EQ, NOT_MEASURED]]
    assert labels.rule == (("identical", "nli"), ("identical", None), ("identical", None))
    assert np.isnan(labels.forward[1:, 1]).all()
    assert labels.forward[0].tolist() == [[1, 0, 0], [0, 0, 1]]
    assert labels.relation.dtype == np.int8
    assert judge.calls == {("b", "c"): 1}


def test_a_failed_cell_is_not_measured():
    labels = label_pairs(speaking("ab", "ac"), judge=FailingJudge(on={"b"}))
    assert labels.relation.tolist() == [[EQ, NOT_MEASURED]]
    assert labels.rule == (("identical", None),)


def test_a_groups_arrays_keep_the_side_of_each_run():
    labels = label_pairs(speaking("b", "a"), judge=LeaningJudge())
    assert labels.forward[0, 0].tolist() == [0.0, 0.75, 0.25]
    assert labels.backward[0, 0].tolist() == [0.75, 0.25, 0.0]


def test_invalid_runs_are_not_labelled_and_cut_ones_are():
    runs = group(run("0", "a"), run("1", "b", stop=INVALID), run("2", "a", "c", stop=CUT))
    labels = label_pairs(runs, judge=NeverJudge())
    assert labels.relation.tolist() == [[EQ, NOT_MEASURED]]


@pytest.mark.parametrize("texts", [("a",), ("", ""), ("",)])
def test_groups_without_pairs_or_turns_have_empty_arrays(texts):
    labels = label_pairs(speaking(*texts), judge=NeverJudge())
    pairs, turns = len(texts) * (len(texts) - 1) // 2, max(map(len, texts))
    assert labels.relation.shape == (pairs, turns)
    assert labels.forward.shape == (pairs, turns, 3)
    assert labels.pairs.shape == (pairs, 2)


def test_time_aligned_pairs_are_those_of_each_turn_that_both_have():
    found = list(time_aligned_pairs(speaking("ab", "c", "de")))
    texts = [(a.text, b.text) for a, b in found]
    assert texts == [("a", "c"), ("a", "d"), ("b", "e"), ("c", "d")]


def test_pair_labels_and_label_pairs_agree():
    runs = speaking("ab", "ba", "aa")
    labels = Labeller(StoredJudge(LeaningJudge())).settle(itertools.chain(time_aligned_pairs(runs)))
    assert pair_labels(runs, labels).relation.tolist() == label_pairs(runs, judge=LeaningJudge()).relation.tolist()
