from __future__ import annotations

import pickle

import numpy as np
import pytest

from judges import FailingJudge, NeverJudge
from likewise.core.group import RolloutGroup
from likewise.training import in_group
from likewise.training.completions import read_completions
from likewise.training.in_group import Siblings, sibling_groups
from training.batches import conversation, judge, prompt


def groups(completions, prompts=None, **columns):
    return list(sibling_groups(read_completions(prompts or [prompt()] * len(completions), completions, columns)))


def test_siblings_are_those_of_one_prompt_wherever_they_lie_in_the_batch():
    found = groups(["a", "x", "b", "y"], [prompt("p"), prompt("q"), prompt("p"), prompt("q")])
    assert [here for _, here in found] == [[(0, 0), (2, 1)], [(1, 0), (3, 1)]]
    assert [[run.actions[0].text for run in group.rollouts] for group, _ in found] == [["a", "b"], ["x", "y"]]
    assert all(isinstance(group, RolloutGroup) for group, _ in found)


def test_tasks_of_one_prompt_are_told_apart():
    found = groups(["a", "x", "b"], task_id=["1", "2", "1"])
    assert [here for _, here in found] == [[(0, 0), (2, 1)], [(1, 0)]]


def test_no_completions_have_no_groups():
    assert groups([]) == []


def test_distances_are_those_of_the_relations_with_ends_filled_in():
    ((group, _),) = groups([conversation("a", "a"), "b", conversation("c", "d")])
    _, distance = Siblings(judge()).distances(group)
    # pairs (0, 1), (0, 2), (1, 2); the second ended after one turn
    assert distance.tolist() == [[0.0, 1.0], [1.0, 0.5], [0.5, 1.0]]


def test_to_say_nothing_is_an_act_like_others_and_no_agreement_with_a_sibling_that_says_nothing():
    ((group, _),) = groups([conversation("", "a"), conversation("", "c"), conversation(" ", "a")])
    siblings = Siblings(judge())
    _, distance = siblings.distances(group)
    # nothing against nothing is neutral, 0.5, whatever the turns after it are: c contradicts a, a is a
    assert distance.tolist() == [[0.5, 1.0], [0.5, 0.0], [0.5, 1.0]]
    assert siblings.classes(group)[0].tolist() == [0, 1, 2]


def test_classes_are_chains_of_mutual_entailment_and_ended_runs_are_one():
    ((group, _),) = groups(["a", "b", conversation("c", "d")])
    assert Siblings(judge()).classes(group).tolist() == [[0, 0, 1], [0, 0, 1]]


def test_classes_of_answers_look_at_last_actions_alone():
    ((group, _),) = groups([conversation("c", "a"), "b", "d"])
    assert Siblings(judge()).answer_classes(group).tolist() == [0, 0, 1]


def test_a_pair_is_judged_once_in_all_calls():
    table = judge()
    siblings = Siblings(table)
    ((group, _),) = groups(["a", "c", "a"])
    for _ in range(3):
        siblings.labels(group)
    assert table.calls.total() == 1


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(in_group, "REMEMBERED", 2)
    table = judge()
    siblings = Siblings(table)
    ((group, _),) = groups(["a", "c"])
    for _ in range(3):  # the third pair is one too many: forgotten, and asked again
        siblings.labels(group)
    assert table.calls.total() == 2


def test_the_store_remembers_for_the_next_process(tmp_path):
    ((group, _),) = groups(["a", "c"])
    first = Siblings(judge(), store=tmp_path / "labels.sqlite")
    known = first.labels(group)
    first.close()
    second = Siblings(NeverJudge("table"), store=tmp_path / "labels.sqlite")
    assert np.array_equal(second.labels(group).relation, known.relation)
    second.close()


def test_settings_travel_and_what_was_opened_does_not(tmp_path):
    siblings = Siblings(judge(), store=tmp_path / "labels.sqlite")
    ((group, _),) = groups(["a", "c"])
    siblings.labels(group)
    again = pickle.loads(pickle.dumps(siblings))
    assert again.distances(group)[1].tolist() == [[1.0]]
    siblings.close()
    again.close()


def test_runs_without_an_action_or_whose_pairs_failed_have_no_class():
    ((group, _),) = groups(["a", [], "c"])
    assert Siblings(judge()).answer_classes(group).tolist() == [0, -1, 1]
    assert Siblings(FailingJudge()).answer_classes(group).tolist() == [-1, -1, -1]


@pytest.mark.parametrize("n", [1, 0])
def test_a_run_alone_has_no_class(n):
    found = groups(["a"][:n])
    assert all(Siblings(judge()).answer_classes(group).tolist() == [-1] for group, _ in found)
