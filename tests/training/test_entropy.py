from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judges import FailingJudge
from likewise.metrics.entropy import semantic_entropy
from likewise.training.completions import read_completions
from likewise.training.entropy import SemanticEntropyReward, TokenEntropyReward
from likewise.training.in_group import Siblings, sibling_groups
from training.batches import conversation, judge, prompt

TEXTS = st.sampled_from(["a", "b", "c", "d"])
GROUPS = st.lists(st.lists(TEXTS, min_size=1, max_size=3), min_size=2, max_size=6)


def rewards(completions, columns=None, **options):
    reward = SemanticEntropyReward(judge(), **options)
    return reward([prompt()] * len(completions), completions, **(columns or {}))


def test_a_completion_gets_the_log_of_its_classs_share():
    # a and b mean the same: shares 3/4 and 1/4
    assert rewards(["a", "b", "a", "c"]) == pytest.approx([math.log(3 / 4)] * 3 + [math.log(1 / 4)])


@settings(max_examples=50, deadline=None)
@given(GROUPS)
def test_the_mean_over_a_group_is_minus_the_entropy_of_the_metrics_package(runs):
    completions = [conversation(*run) for run in runs]
    ((group, _),) = sibling_groups(read_completions([prompt()] * len(runs), completions, {}))
    by_turn = [semantic_entropy(row) for row in Siblings(judge()).classes(group)]
    assert np.mean(rewards(completions)) == pytest.approx(-np.mean(by_turn), abs=1e-6)
    assert rewards(completions, per="group") == pytest.approx([-np.mean(by_turn)] * len(runs))


def test_the_undivided_entropy_is_the_same_for_each_and_so_teaches_nothing():
    values = rewards(["a", "b", "c", "d"], per="group")
    assert len(set(values)) == 1
    assert values[0] == pytest.approx(-(0.5 * math.log(2) + 2 * 0.25 * math.log(4)))


def test_last_actions_alone_can_be_compared():
    completions = [conversation("c", "a"), "b", "d"]
    assert rewards(completions, over="last") == pytest.approx([math.log(2 / 3), math.log(2 / 3), math.log(1 / 3)])
    turns = SemanticEntropyReward(judge(), over="last").turn_scores([prompt()] * 3, completions)
    assert turns == [[None, math.log(2 / 3)], [math.log(2 / 3)], [math.log(1 / 3)]]


def test_an_action_gets_the_share_of_its_own_turn_and_an_end_counts_as_a_class():
    turns = SemanticEntropyReward(judge()).turn_scores([prompt()] * 2, [conversation("a", "c"), "b"])
    assert turns == [[0.0, math.log(0.5)], [0.0]]
    assert rewards([conversation("a", "c"), "b"]) == pytest.approx([math.log(0.5) / 2] * 2)


def test_runs_that_were_cut_have_no_class_behind_the_cut():
    # Behind the cut the first is alone, so not measured either.
    assert rewards([conversation("a", "c"), "b"], {"stop": ["finished", "cut"]}) == [0.0, 0.0]


def test_a_completion_alone_or_with_a_judge_that_fails_is_not_measured():
    assert rewards(["a"]) == [None]
    assert SemanticEntropyReward(FailingJudge())([prompt()] * 2, ["a", "b"]) == [None, None]


@pytest.mark.parametrize("option", [{"over": "words"}, {"per": "token"}])
def test_words_for_options_are_these(option):
    with pytest.raises(ValueError, match="'turns' or 'last', per 'completion' or 'group'"):
        SemanticEntropyReward(judge(), **option)


# Tokens


def token_rewards(column, completions=("a",)):
    return TokenEntropyReward()([prompt()] * len(completions), list(completions), token_entropy=column)


def test_token_entropy_is_the_mean_over_all_tokens_that_the_policy_wrote():
    assert token_rewards([[[1.0, 2.0], [6.0]]]) == [-3.0]
    assert token_rewards([[1.0, 2.0]]) == [-1.5]


@pytest.mark.parametrize("column", [[None], [[]], [[[]]]])
def test_a_completion_without_entropies_is_not_measured(column):
    assert token_rewards(column) == [None]


def test_without_the_column_it_refuses_to_work_and_says_what_makes_it():
    with pytest.raises(ValueError, match=r"needs the column 'token_entropy'.*ConsistencyGRPOTrainer makes it"):
        TokenEntropyReward()([prompt()], ["a"])


@pytest.mark.parametrize("wrong", [0.5, [["much"]], [[None]]])
def test_a_column_of_another_shape_is_told_with_the_completion(wrong):
    with pytest.raises(ValueError, match=r"column 'token_entropy', completion 1: a list of turns, .*; got "):
        token_rewards([[[1.0]], wrong], ("a", "b"))


def test_each_action_gets_the_mean_of_its_own_tokens_where_they_can_be_told_apart():
    reward = TokenEntropyReward()
    two = conversation("a", "b")
    assert reward.turn_scores([prompt()], [two], token_entropy=[[[1.0, 2.0], [6.0]]]) == [[-1.5, -6.0]]
    assert reward.turn_scores([prompt()], [two], token_entropy=[[[1.0, 2.0, 6.0]]]) == [[]]


@pytest.mark.parametrize("wrong", [-0.1, math.nan, math.inf])
def test_an_entropy_that_is_none_is_refused(wrong):
    with pytest.raises(ValueError, match="an entropy is a finite number of at least 0"):
        token_rewards([[[wrong]]])
    with pytest.raises(ValueError, match="2 entries for 1"):
        token_rewards([[[1.0]], [[1.0]]])


def test_neither_has_a_lowest_value_and_only_one_needs_our_trainer():
    assert TokenEntropyReward().lowest == SemanticEntropyReward(judge()).lowest == -math.inf
    assert (TokenEntropyReward().needs, SemanticEntropyReward(judge()).needs) == (("token_entropy",), ())
