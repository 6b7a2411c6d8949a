from __future__ import annotations

import pytest

from likewise import RSDReward
from likewise.training.guards import RewardWatch, flat_share
from training.batches import conversation, judge, prompt


def run(watch, looks):
    """All sentences of a training, from (RSD, progress) of each step."""
    told = []
    for step, (rsd, progress) in enumerate(looks):
        told += watch.observe(step, rsd=rsd, progress=progress)
    return told


def test_a_group_is_flat_where_all_that_was_measured_is_equal():
    assert flat_share([[1.0, 1.0], [1.0, 2.0], [None, 3.0, 3.0], [None, 1.0]]) == pytest.approx(2 / 3)
    assert flat_share([[1.0, None], []]) is None


def test_groups_without_variance_are_told_after_a_window_and_once_a_window():
    watch = RewardWatch(window=3)
    told = [watch.observe(step, groups=[[0.0, 0.0], [1.0, 1.0]]) for step in range(7)]
    assert [len(each) for each in told] == [0, 0, 1, 0, 0, 1, 0]
    assert told[2][0].startswith("step 2: in 100% of the groups of the last 3 observation(s)")


def test_groups_with_variance_are_not_told():
    watch = RewardWatch(window=2)
    assert [watch.observe(step, groups=[[0.0, 1.0], [1.0, 1.0]]) for step in range(5)] == [[]] * 5
    assert [watch.observe(step, flat=None) for step in range(5)] == [[]] * 5


def test_rsd_falling_while_progress_falls_is_a_collapse():
    told = run(RewardWatch(window=2), [(1.0, 0.8), (1.0, 0.8), (0.4, 0.3), (0.2, 0.1)])
    assert len(told) == 1
    assert "RSD fell from 1 to 0.3 while progress fell from 0.8 to 0.2" in told[0]


@pytest.mark.parametrize(
    "looks",
    [
        [(1.0, 0.8)] * 2 + [(0.2, 0.8)] * 2,  # more consistent, as useful
        [(1.0, 0.8)] * 2 + [(1.0, 0.1)] * 2,  # less useful, as inconsistent: bad, yet no collapse into sameness
        [(1.0, 0.8)] * 2 + [(0.95, 0.75)] * 2,  # within the noise
        [(1.0, None)] * 2 + [(0.1, None)] * 2,  # progress not measured: nothing can be said
        [(None, 0.8)] * 2 + [(None, 0.1)] * 2,
        [(1.0, 0.8)] * 3,
    ],
)
def test_what_is_no_collapse_is_not_told(looks):
    assert run(RewardWatch(window=2), looks) == []


def test_acting_alike_below_the_floor_is_useless_even_where_it_never_fell():
    watch = RewardWatch(window=2, floor=0.5, fall=1.0)
    (told,) = run(watch, [(2.0, 0.4), (2.0, 0.4), (0.1, 0.4), (0.1, 0.4)])
    assert "acts alike (RSD 0.1) and does too little (progress 0.4, the floor is 0.5)" in told


def test_acting_alike_above_the_floor_or_unlike_below_it_is_fine():
    assert run(RewardWatch(window=2, floor=0.5), [(2.0, 0.6)] * 2 + [(0.1, 0.6)] * 2) == []
    assert run(RewardWatch(window=2, floor=0.5), [(2.0, 0.4)] * 4) == []


def policy(useless):
    """Four runs of a policy of which so many of four always give up; the others do good things in unlike ways."""
    good = [conversation("a", "c"), conversation("c", "a"), conversation("b", "d"), conversation("c", "c")]
    runs = [conversation("x", "x")] * useless + good[useless:]
    curves = [[0, 0, 0]] * useless + [[0, 0.5, 1]] * (4 - useless)
    told = {}
    values = RSDReward.in_group(judge())([prompt()] * 4, runs, progress=curves, log_metric=told.__setitem__)
    return values, told


def test_a_policy_that_comes_to_do_the_same_useless_thing_is_caught_though_its_reward_is_the_best():
    watch = RewardWatch(window=2, floor=0.5)
    told = []
    for step, useless in enumerate([0, 0, 1, 2, 3, 4, 4, 4]):
        values, logged = policy(useless)
        told += watch.observe(step, groups=[values], rsd=logged["rsd"], progress=logged["progress"])
    assert values == [0.0] * 4
    assert logged == {"rsd": 0.0, "progress": 0.0}
    assert any("RSD fell" in sentence for sentence in told)
    assert any("consistent is not useful" in sentence for sentence in told)
    assert any("they taught nothing" in sentence for sentence in told)


@pytest.mark.parametrize("setting", [{"window": 0}, {"floor": 2}, {"fall": -1}])
def test_settings_that_cannot_be_are_refused(setting):
    with pytest.raises(ValueError, match=r"at least one observation|lies in \[0, 1\]"):
        RewardWatch(**setting)
