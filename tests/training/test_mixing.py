from __future__ import annotations

import math
import pickle
from collections import Counter
from types import SimpleNamespace

import pytest

from likewise import RSDReward
from likewise.training.entropy import SemanticEntropyReward, TokenEntropyReward
from likewise.training.guards import TrainingWarning
from likewise.training.mixing import HybridReward, ProgressFloor, ProgressReward, ShuffledReward
from training.batches import conversation, judge, model, prompt

CURVES = [[0, 0.5, 0.5], [0, 0, 1.0], None]
RUNS = [conversation("a", "a"), conversation("a", "c"), conversation("a", "a")]


def score(reward, runs=RUNS, curves=CURVES, **columns):
    return reward([prompt()] * len(runs), runs, progress=curves, **columns)


def test_progress_is_what_the_actions_added_on_average():
    assert score(ProgressReward()) == [0.25, 0.5, None]
    assert ProgressReward().turn_scores([prompt()], RUNS[:1], progress=CURVES[:1]) == [[0.5, 0.0]]


def test_progress_that_was_measured_for_no_completion_is_none_and_a_plain_warning():
    with pytest.warns(TrainingWarning, match="no completion of a batch has its progress measured, so ProgressReward"):
        assert ProgressReward()([prompt()] * 2, ["a", "b"], progress=[None, [0, None]]) == [None, None]


NEEDING = [
    (ProgressReward(), "ProgressReward"),
    (HybridReward(RSDReward.in_group(judge()), 0.5), "HybridReward"),
    (HybridReward(RSDReward.in_group(judge()), 0), "HybridReward"),
    (ProgressFloor(RSDReward.in_group(judge()), 0.5), "ProgressFloor"),
]


@pytest.mark.parametrize(("reward", "name"), NEEDING)
def test_without_a_column_of_progress_a_reward_that_needs_it_refuses(reward, name):
    for columns in ({}, {"progress": None}):
        with pytest.raises(ValueError, match=f"{name} needs the column 'progress', and the trainer hands on none"):
            reward([prompt()] * 3, RUNS, **columns)


def test_a_hybrid_of_consistency_alone_needs_no_progress():
    assert HybridReward(RSDReward.in_group(judge()), 1)([prompt()] * 3, RUNS) == pytest.approx([-0.4, -0.8, -0.4])


def test_a_curve_that_does_not_fit_its_actions_is_refused():
    with pytest.raises(ValueError, match=r"2 action\(s\) have 3 points of progress, got 2"):
        score(ProgressReward(), RUNS[:1], [[0, 1]])


def test_a_hybrid_is_the_weighted_sum_turn_by_turn():
    group = RSDReward.in_group(judge())
    hybrid = HybridReward(group, 0.75)
    # in-group RSD of the three: D(0,1) = D(1,2) = 0.8, D(0,2) = 0
    assert score(group) == pytest.approx([-0.4, -0.8, -0.4])
    assert score(hybrid) == [pytest.approx(-0.3 + 0.25 * 0.25), pytest.approx(-0.6 + 0.25 * 0.5), None]
    turns = hybrid.turn_scores([prompt()] * 3, RUNS, progress=CURVES)
    assert turns[0] == pytest.approx([0.75 * -0.4 + 0.25 * 0.5, 0.75 * -0.5])
    assert turns[2] == [None, None]


def test_weights_one_and_zero_are_the_parts_themselves_and_need_no_more():
    group = RSDReward.in_group(judge())
    assert score(HybridReward(group, 1)) == score(group)
    assert score(HybridReward(group, 0)) == score(ProgressReward())
    assert HybridReward(TokenEntropyReward(), 0)([prompt()], RUNS[:1], progress=CURVES[:1]) == [0.25]


def test_a_hybrid_knows_its_lowest_value_and_what_its_part_needs():
    assert HybridReward(RSDReward(model()), 0.5).lowest == -3.0
    assert HybridReward(TokenEntropyReward(), 0).lowest == -1.0
    assert HybridReward(TokenEntropyReward(), 0.5).needs == ("token_entropy",)


@pytest.mark.parametrize("weight", [-0.1, 1.1, math.nan])
def test_a_weight_is_a_share(weight):
    with pytest.raises(ValueError, match=r"a weight lies in \[0, 1\]"):
        HybridReward(ProgressReward(), weight)


def test_below_the_floor_a_completion_gets_the_lowest_value_there_is():
    floor = ProgressFloor(RSDReward.in_group(judge()), 0.6)
    assert score(floor) == [-5.0, pytest.approx(-0.8), None]
    assert floor.turn_scores([prompt()] * 3, RUNS, progress=CURVES)[0] == [-5.0, -5.0]


def test_a_reward_without_a_lowest_value_is_undercut_in_its_batch():
    floor = ProgressFloor(SemanticEntropyReward(judge(), over="last"), 0.6)
    log = math.log
    assert score(floor) == [pytest.approx(log(1 / 3) - 1), pytest.approx(log(1 / 3)), None]


def test_doing_the_same_useless_thing_is_the_best_without_a_floor_and_the_worst_with_it():
    useless, curves = [conversation("d", "d")] * 4, [[0, 0, 0]] * 4
    group = RSDReward.in_group(judge())
    assert score(group, useless, curves) == [0.0] * 4
    assert score(ProgressFloor(group, 0.1), useless, curves) == [-5.0] * 4


@pytest.mark.parametrize("floor", [0, 1.1, math.nan])
def test_a_floor_is_a_share_above_nothing(floor):
    with pytest.raises(ValueError, match=r"a floor of progress lies in \(0, 1\]"):
        ProgressFloor(ProgressReward(), floor)


def test_the_share_below_the_floor_is_logged():
    told = {}
    score(ProgressFloor(RSDReward.in_group(judge()), 0.6), log_metric=told.__setitem__)
    assert told == {"rsd": pytest.approx(0.8 * 2 / 3), "below_floor": 0.5, "progress": 0.75}


# The control


def values_in(reward, calls, **columns):
    prompts = [prompt("p"), prompt("q")] * 3
    texts = ["a", "d", "c", "e", "x", "d"]
    return [tuple(reward(prompts, texts, **columns)) for _ in range(calls)]


def test_shuffled_rewards_are_those_of_the_same_group_in_another_order():
    plain = values_in(RSDReward.in_group(judge()), 1)[0]
    dealt = values_in(ShuffledReward(RSDReward.in_group(judge())), 20)
    for values in dealt:
        assert Counter(values[::2]) == Counter(plain[::2])
        assert Counter(values[1::2]) == Counter(plain[1::2])
    assert len(set(dealt)) > 3


def test_a_deal_depends_on_seed_and_step_alone():
    def deal(seed, step):
        state = SimpleNamespace(global_step=step)
        return values_in(ShuffledReward(RSDReward.in_group(judge()), seed), 1, trainer_state=state)

    deals = [deal(seed, step) for seed in range(3) for step in range(5)]
    assert deals == [deal(seed, step) for seed in range(3) for step in range(5)]
    assert len({str(each) for each in deals}) > 3


def test_turns_of_a_dealt_completion_share_its_value():
    reward = ShuffledReward(RSDReward.in_group(judge()), 1)
    turns = reward.turn_scores([prompt()] * 3, RUNS)
    assert all(len(row) == 2 and len(set(row)) == 1 for row in turns)


@pytest.mark.parametrize("make", [ShuffledReward, lambda r: ProgressFloor(r, 0.5), lambda r: HybridReward(r, 0.5)])
def test_mixtures_travel_and_close_what_they_hold(make, tmp_path):
    reward = make(RSDReward.in_group(judge(), store=tmp_path / "labels.sqlite"))
    again = pickle.loads(pickle.dumps(reward))
    assert score(again) == score(reward)
    reward.close()
    again.close()
