from __future__ import annotations

import math

import pytest

from likewise import RSDReward
from likewise.training.guards import TrainingWarning
from likewise.training.mixing import ProgressReward
from likewise.training.reward_base import CompletionScore, Reward, mean_of, needed_curves, progress_curves
from training.batches import conversation, judge, prompt


class Length(Reward):
    """Rewards long actions; knows nothing of empty ones."""

    lowest = 0.0

    def measure(self, completions, columns):
        scores = []
        for completion in completions:
            turns = tuple(float(len(action.text)) or None for action in completion.rollout.actions)
            value = mean_of(turns)
            scores.append(CompletionScore(value, turns, {} if value is None else {"length": value}))
        return scores


def test_a_call_gives_one_number_a_completion_in_order_and_none_where_nothing_was_measured():
    assert Length()([prompt()] * 3, ["abc", "", "a"], [[1], [2], [3]]) == [3.0, None, 1.0]


def test_an_engine_may_hand_on_columns_that_no_reward_knows():
    assert Length()([prompt()], ["abc"], answer=["x"], trainer_state=object(), environments=[None]) == [3.0]


def test_a_reward_is_called_by_names_as_trl_does_and_gives_plain_floats():
    told = {}
    extra = {"trainer_state": object(), "log_extra": told.__setitem__, "log_metric": told.__setitem__}
    asked = {"prompts": [prompt()] * 2, "completions": [[{"role": "assistant", "content": c}] for c in "ab"]}
    values = RSDReward.in_group(judge())(**asked, completion_ids=[[1], [2]], environments=None, **extra)
    assert [type(value) for value in values] == [float, float]
    assert told == {"rsd": 0.0}


def test_turns_are_scored_on_request():
    scores = Length().turn_scores([prompt()] * 2, [conversation("ab", "", "c"), "d"])
    assert scores == [[2.0, None, 1.0], [1.0]]


def test_the_means_of_what_a_reward_is_made_of_are_logged_beside_progress():
    told = {}
    Length()([prompt()] * 3, ["abc", "", "a"], log_metric=told.__setitem__, progress=[[0, 1], None, [0.5, 0.5]])
    assert told == {"length": 2.0, "progress": 0.75}


def test_nothing_is_logged_where_nothing_was_measured():
    told = {}
    with pytest.warns(TrainingWarning):
        ProgressReward()([prompt()], ["a"], log_metric=told.__setitem__, progress=[None])
    assert told == {}


def test_no_number_is_minus_nothing():
    score = CompletionScore(-0.0, (-0.0, None, -1.0), {"rsd": -0.0})
    assert str((score.value, score.turns, score.parts)) == "(0.0, (0.0, None, -1.0), {'rsd': 0.0})"
    assert str(RSDReward.in_group(judge())([prompt()] * 2, ["a", "a"])) == "[0.0, 0.0]"


def test_the_name_that_engines_log_is_the_class():
    assert Length().__name__ == "Length"


def test_a_mean_is_of_what_was_measured_and_there_is_none_of_nothing():
    assert mean_of([1.0, None, 0.0]) == 0.5
    assert mean_of([None]) is None


@pytest.mark.parametrize("curve", [None, [], [0, None], [0, math.nan]])
def test_a_curve_with_a_gap_is_not_measured(curve):
    assert progress_curves({"progress": [curve]}, 1) == [None]


def test_curves_outside_their_range_or_number_are_refused():
    with pytest.raises(ValueError, match=r"progress lies in \[0, 1\]"):
        progress_curves({"progress": [[0, 1.5]]}, 1)
    with pytest.raises(ValueError, match="2 entries for 1"):
        progress_curves({"progress": [[0], [0]]}, 1)


@pytest.mark.parametrize("wrong", [0.5, "half", [0, "half"], [[0], [1]], {"p": 0.5}])
def test_what_is_no_curve_is_told_with_its_column_and_completion(wrong):
    with pytest.raises(ValueError, match=r"column 'progress', completion 1: a curve is a list of numbers, .*; got "):
        progress_curves({"progress": [[0, 0.5], wrong]}, 2)


def test_a_column_of_progress_that_is_one_number_is_told():
    with pytest.raises(ValueError, match=r"column 'progress' is a list with a curve for each completion, got 0.5"):
        progress_curves({"progress": 0.5}, 1)


def test_curves_that_are_needed_are_those_of_the_column():
    assert needed_curves({"progress": [[0, 0.5], None]}, 2, "it") == [[0.0, 0.5], None]
    assert needed_curves({"progress": []}, 0, "it") == []
    with pytest.raises(ValueError, match="it needs the column 'progress'"):
        needed_curves({}, 1, "it")
