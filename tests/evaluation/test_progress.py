"""The progress of runs, from their logs or their reward."""

from dataclasses import replace

import pytest

from likewise.core.errors import GroupError
from likewise.evaluation.progress import logged_curve, reward_curve, trials_of, with_own_curve
from scoring.runs import CUT, INVALID, run


def trial(curve, *, task="t", name="0", stop=None, **more):
    """A run of as many turns as its curve has steps."""
    made = run(name, *["act"] * (len(curve) - 1), task=task, **({} if stop is None else {"stop": stop}))
    return replace(made, meta={"progress": curve}, **more)


def scored(reward, turns=2, *, task="s", **more):
    return replace(run("0", *["act"] * turns, task=task), reward=reward, **more)


def test_a_curve_has_a_point_before_the_first_turn_and_one_after_each():
    assert logged_curve(trial([0, 0.5, 1])).tolist() == [0, 0.5, 1]
    assert logged_curve(run("0", "act")) is None
    assert logged_curve(replace(run("0", "act"), meta={"progress": []})) is None


@pytest.mark.parametrize("progress", [[0], [0, 1, 1], [0, 2], [0, "1"], "01", [0, float("nan")], {"0": 1}, 1])
def test_what_is_no_curve_of_the_run_is_refused_by_its_name(progress):
    with pytest.raises(GroupError, match="run '0' of task 't': its progress is no list of 2 numbers"):
        logged_curve(replace(run("0", "act"), meta={"progress": progress}))


def test_a_reward_is_progress_at_the_last_turn():
    assert reward_curve(scored(0.5)).tolist() == [0, 0, 0.5]
    assert reward_curve(scored(None, success=True)).tolist() == [0, 0, 1]
    assert reward_curve(scored(None)) is None
    assert reward_curve(scored(7.0)) is None
    assert reward_curve(scored(-1.0)) is None


def test_trials_equal_numbers_worked_by_hand():
    runs = [trial([0, 1], name="0"), trial([0, 0, 1], name="1"), trial([0, 0.5], task="u")]
    found = trials_of(runs, 4, {"t", "u"})
    assert found.auc == {"t": [pytest.approx(0.875), pytest.approx(0.625)], "u": [pytest.approx(0.4375)]}
    assert found.progress == {"t": [1, 1], "u": [0.5]}
    assert found.per_turn == {"t": [1, 0.5], "u": [0.5]}


def test_failed_runs_are_counted_and_runs_without_progress_too_and_a_cut_run_keeps_what_it_reached():
    runs = [
        trial([0, 1], name="0"),
        trial([0, 1], name="1", stop=INVALID, problem="broken"),
        trial([0, 0.5, 0.5], name="2", stop=CUT),
        run("3", "act"),
    ]
    found = trials_of(runs, 2, {"t"})
    assert (found.invalid, found.unknown) == (1, 1)
    assert found.auc["t"] == [0.75, pytest.approx((0.25 + 0.5) / 2)]


def test_rewards_stand_in_only_where_no_run_of_the_task_has_sub_goals():
    runs = [trial([0, 1]), replace(run("1", "act"), reward=1.0), scored(1.0)]
    assert with_own_curve(runs) == {"t"}
    found = trials_of(runs, 2, {"t"})
    assert found.auc == {"t": [0.75], "s": [0.25]}
    assert (found.unknown, found.by_reward) == (1, {"s"})


def test_a_run_that_began_at_its_best_has_no_progress_per_turn():
    found = trials_of([trial([1, 1])], 1, {"t"})
    assert (found.auc["t"], found.per_turn["t"]) == ([1.0], [])


def test_a_run_longer_than_the_limit_is_refused_by_its_name():
    with pytest.raises(GroupError, match="run '0' of task 't' has 2 turns, the turn limit is 1"):
        trials_of([trial([0, 0, 1])], 1, {"t"})
