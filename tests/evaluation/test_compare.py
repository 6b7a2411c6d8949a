"""Two versions on the same tasks."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from likewise.core.errors import GroupError
from likewise.evaluation.change import Change
from likewise.evaluation.compare import MOST_RUNS, compare
from likewise.metrics.power import detectable_difference
from likewise.metrics.resampling import bootstrap_mean
from likewise.metrics.testing import TwoVersions
from sides_factory import figures, pair_of_sides, side

BASE = [1.0, 1.2, 0.8, 1.1, 0.9, 1.0, 1.3, 0.7]


def of(comparison, figure="rsd"):
    return next(difference for difference in comparison.differences if difference.figure == figure)


# The three verdicts


def test_a_rise_in_every_task_is_worse_and_a_fall_better():
    base, candidate = pair_of_sides(BASE, [value + 0.5 + 0.01 * i for i, value in enumerate(BASE)])
    worse, better = compare(base, candidate), compare(candidate, base)
    assert (worse.verdict, better.verdict) == (Change.WORSE, Change.BETTER)
    difference = of(worse).difference
    assert difference.value == pytest.approx(0.5 + 0.01 * 3.5)
    assert of(worse).p_value == 2 / 2**8  # all of one sign: only the observed pattern and its mirror


def test_tasks_that_all_change_by_as_much_are_decided_without_an_interval():
    base, candidate = pair_of_sides(BASE, [v + 0.5 for v in BASE])
    found = of(compare(base, candidate))
    assert (found.difference.low, found.change) == (None, Change.WORSE)


def test_differences_that_cancel_are_undecided():
    base, candidate = pair_of_sides(BASE, [v + (0.5 if i % 2 else -0.5) for i, v in enumerate(BASE)])
    comparison = compare(base, candidate)
    assert comparison.verdict is Change.UNDECIDED
    assert of(comparison).p_value == 1.0


def test_the_p_value_is_that_of_counting_sign_patterns_and_the_interval_that_of_a_bootstrap():
    change = [0.4, 0.1, -0.2, 0.3, 0.2, 0.5, -0.1, 0.3]
    base, candidate = pair_of_sides(BASE, [a + b for a, b in zip(BASE, change, strict=True)])
    found = of(compare(base, candidate))
    sums = [abs(sum(s * d for s, d in zip(signs, change, strict=True))) for signs in product((1, -1), repeat=8)]
    assert found.p_value == pytest.approx(np.mean([total >= abs(sum(change)) - 1e-9 for total in sums]))
    expected = bootstrap_mean(np.array(change), 0.95, 10_000, 0)
    assert (found.difference.low, found.difference.high) == pytest.approx((expected.low, expected.high))
    assert found.base.value == pytest.approx(np.mean(BASE))


def test_fewer_than_six_tasks_cannot_decide_and_say_so_by_having_no_p_value():
    base, candidate = pair_of_sides(BASE[:5], [v + 1 for v in BASE[:5]])
    comparison = compare(base, candidate)
    assert comparison.verdict is Change.UNDECIDED
    assert of(comparison).p_value is None
    assert of(comparison).tasks == 5


@pytest.mark.parametrize(("tasks", "best"), [(1, "1"), (3, "0.25"), (5, "0.062")])
def test_few_tasks_have_a_reason_in_place_of_interval_and_p_value(tasks, best):
    found = of(compare(*pair_of_sides(BASE[:tasks], [v + 1 + 0.1 * i for i, v in enumerate(BASE[:tasks])])))
    assert found.difference.value > 0
    # all signs alike: two of 2^n patterns are as extreme
    assert f"a p-value of {best} at best; 6 tasks are the fewest" in found.p_reason
    assert (found.difference.reason is None) is (tasks >= 5)
    assert of(compare(*pair_of_sides(BASE, BASE))).p_reason is None


def test_a_figure_that_no_task_has_on_both_sides_says_so_for_both():
    found = of(compare(*pair_of_sides([None] * 6, BASE[:6])))
    assert found.difference.reason == "no task was measured"
    assert found.p_reason == "no shared task has this figure on both sides"


def test_which_way_is_better_depends_on_the_figure():
    fails, passes = (False,) * 4, (True,) * 4
    base = side("base", [figures(f"t{i}", outcomes=fails if i else passes) for i in range(9)])
    candidate = side("candidate", [figures(f"t{i}", outcomes=passes) for i in range(9)])
    comparison = compare(base, candidate, deciding=["success_rate"])
    assert comparison.verdict is Change.BETTER
    assert of(comparison, "success_rate").difference.value == pytest.approx(8 / 9)
    assert of(comparison, "pass_hat_k").change is Change.BETTER


# Families of tests


def test_deciding_figures_are_adjusted_by_holm_among_themselves():
    base, candidate = pair_of_sides(BASE, [v + 0.5 for v in BASE])
    alone, together = compare(base, candidate), compare(base, candidate, deciding=["rsd", "success_rate"])
    assert of(alone).p_adjusted == of(alone).p_value == 2 / 2**8
    assert of(together).p_adjusted == 2 * 2 / 2**8  # the smaller of two
    assert of(together, "success_rate").p_adjusted == 1.0
    # Beside the deciding ones stand the others, adjusted among themselves: aligned RSD is the smallest of six.
    assert of(alone, "aligned_rsd").p_adjusted == pytest.approx(6 * 2 / 2**8)


def test_one_worse_figure_makes_the_verdict_worse_whatever_else_is_better():
    base = side("base", [figures(f"t{i}", v, outcomes=(True,) * 4) for i, v in enumerate(BASE)])
    candidate = side("candidate", [figures(f"t{i}", v - 0.5, outcomes=(False,) * 4) for i, v in enumerate(BASE)])
    comparison = compare(base, candidate, deciding=["rsd", "success_rate"])
    assert (of(comparison).change, of(comparison, "success_rate").change) == (Change.BETTER, Change.WORSE)
    assert comparison.verdict is Change.WORSE


# Figures by hand


def test_every_figure_is_the_mean_over_tasks_of_candidate_minus_base():
    base = side(
        "base", [figures("a", 1.0, (True, True, False, False), contradictory=1), figures("b", 2.0, (True,) * 4)]
    )
    candidate = side(
        "candidate", [figures("a", 1.5, (True,) * 4, contradictory=3), figures("b", 1.0, (True, True, True, False))]
    )
    comparison = compare(base, candidate, k=2)
    means = {d.figure: (d.base.value, d.candidate.value, d.difference.value) for d in comparison.differences}
    assert means["rsd"] == pytest.approx((1.5, 1.25, -0.25))
    assert means["success_rate"] == pytest.approx((0.75, 0.875, 0.125))
    assert means["contradiction_share"] == pytest.approx((0.05, 0.15, 0.1))
    assert means["pass_hat_k"] == pytest.approx(((1 / 6 + 1) / 2, (1 + 3 / 6) / 2, (5 / 6 - 1 / 2) / 2))
    # CV of 1, 1, 0, 0: sd = sqrt(1/3), mean 1/2; of 1, 1, 1, 0: sd = 1/2, mean 3/4; of 1, 1, 1, 1: 0.
    first, second = math.sqrt(1 / 3) / 0.5, 0.5 / 0.75
    assert means["cv"] == pytest.approx((first / 2, second / 2, (second - first) / 2))


def test_a_task_without_a_figure_on_one_side_is_named_with_the_reason():
    base, candidate = pair_of_sides([*BASE, None], [*[v + 0.5 for v in BASE], 1.0])
    comparison = compare(base, candidate)
    assert of(comparison).tasks == 8
    assert of(comparison).left_out == {"t8": "base: one valid rollout"}
    # Success of t8 is known on both sides, so it counts there.
    assert of(comparison, "success_rate").tasks == 9


def test_a_mean_of_zero_leaves_the_cv_out_as_the_paper_does():
    base = side("base", [figures("a", outcomes=(False,) * 4), figures("b")])
    comparison = compare(base, side("candidate", [figures("a"), figures("b")]))
    assert of(comparison, "cv").tasks == 1
    assert "the mean is 0" in of(comparison, "cv").left_out["a"]


def test_k_is_the_largest_that_half_of_the_tasks_allow():
    counts = [8, 8, 4, 2]
    tasks = [figures(f"t{i}", outcomes=(True,) * n) for i, n in enumerate(counts)]
    assert compare(side("base", tasks), side("candidate", tasks)).k == 8
    assert compare(side("base", tasks[1:]), side("candidate", tasks[1:])).k == 4
    assert compare(side("base", tasks), side("candidate", tasks), k=3).k == 3


def test_rewards_are_used_for_the_cv_only_where_every_run_has_one():
    base = side("base", [figures("a", rewards=(1.0, 0.5, 0.5, 0.0))])
    assert compare(base, base).scores == "reward"
    assert of(compare(base, base), "cv").base.value == pytest.approx(np.std([1, 0.5, 0.5, 0], ddof=1) / 0.5)
    assert compare(base, side("candidate", [figures("a", rewards=None)])).scores == "outcome"


# What is shared, and what is not


def test_tasks_of_one_side_are_listed_not_dropped():
    base = side("base", [figures("a"), figures("b"), figures("c")])
    comparison = compare(base, side("candidate", [figures("b"), figures("d")]))
    assert (comparison.only_base, comparison.only_candidate) == (("a", "c"), ("d",))
    assert [task.task_id for task in comparison.tasks] == ["b"]


def test_no_shared_task_is_refused_with_some_of_each_side():
    with pytest.raises(GroupError, match="no task is on both sides: base has 'a', candidate has 'b'"):
        compare(side("base", [figures("a")]), side("candidate", [figures("b")]))


@pytest.mark.parametrize(
    ("field", "value"), [("gamma", 0.9), ("judge", "other"), ("length_policy", "truncate"), ("rules", "mine")]
)
def test_numbers_made_differently_are_refused_by_the_name_of_what_differs(field, value):
    base, candidate = side("base", [figures("a")]), side("candidate", [figures("a")], **{field: value})
    with pytest.raises(GroupError, match=f"measured differently \\({field}: .* and {value}\\)"):
        compare(base, candidate)


def test_another_seed_is_no_matter_and_another_version_a_warning():
    base = side("base", [figures("a")])
    assert compare(base, side("candidate", [figures("a")], seed=3, resamples=9)).warnings == ()
    (warning,) = compare(base, side("candidate", [figures("a")], version="2")).warnings
    assert "likewise 1 and 2" in warning


def test_uneven_numbers_of_runs_are_a_warning():
    comparison = compare(side("b", [figures("a")]), side("c", [figures("a", outcomes=(True,) * 8)]))
    assert any("1 task(s) have more runs on one side: 'a'" in warning for warning in comparison.warnings)


# What would decide


def test_further_runs_follow_from_the_noise_of_runs_when_tasks_agree():
    # Every task changes by 0.1; single runs make a task's RSD uncertain by 0.2 on each side: noise of a change .08.
    # The changes seen are 0.1 +- 0.3, of variance .0957 with n - 1: of it .08 is noise, .0157 differs between tasks.
    change = [0.4, -0.2] * 10
    base, candidate = pair_of_sides([1.0] * 20, [1.0 + c for c in change], stderr=0.2)
    found = of(compare(base, candidate))
    assert found.change is Change.UNDECIDED
    variance = np.var(change, ddof=1)
    reach = 2.0930 + 0.8610  # t quantiles of .975 and .8 with 19 degrees of freedom
    room = 20 * (0.1 / reach) ** 2 - (variance - 0.08)
    assert room > 0
    assert found.needed.runs == math.ceil(4 * (0.08 / room - 1))
    assert found.detectable == pytest.approx(reach * math.sqrt(variance / 20), abs=1e-3)


def test_tasks_that_differ_among_themselves_need_more_tasks_whatever_the_runs():
    base, candidate = pair_of_sides([1.0] * 10, [1.0 + c for c in [0.9, -0.7] * 5], stderr=0.01)
    needed = of(compare(base, candidate)).needed
    assert needed.runs is None
    assert "only more tasks decide" in needed.reason
    # Cohen's d = .1/.8433: 564 tasks by the t quantiles near normal: (1.96 + .84)^2 / d^2 = 558.
    assert 555 <= needed.tasks + 10 <= 565


def test_cut_runs_are_a_warning_that_names_the_tasks():
    base, candidate = pair_of_sides([1.0] * 6, [1.2] * 6)
    cut = replace(base.tasks["t2"], partly_measured=True)
    found = compare(replace(base, tasks={**base.tasks, "t2": cut}), candidate)
    (warning,) = (each for each in found.warnings if "lower edge" in each)
    assert warning.startswith("RSD is a lower edge in 1 task(s) with cut runs or failed judgements")
    assert "t2" in warning


def test_more_further_runs_than_anyone_makes_are_not_named():
    # As above, but with noise that leaves next to no room: 4 (noise/room - 1) is about 290,000 runs.
    change = [0.4, -0.2] * 10
    allowed = 20 * (0.1 / detectable_difference(1.0, 20, 0.8, 0.05)) ** 2
    noise = np.var(change, ddof=1) - allowed + 1e-6
    base, candidate = pair_of_sides([1.0] * 20, [1.0 + c for c in change], stderr=math.sqrt(noise / 2))
    needed = of(compare(base, candidate)).needed
    assert (needed.runs, needed.reason) == (None, f"over {MOST_RUNS:,} further runs a task")
    assert needed.tasks > 0


def test_unknown_noise_is_said_not_guessed():
    base, candidate = pair_of_sides(BASE, [v + 0.1 * (-1) ** i + 0.02 for i, v in enumerate(BASE)], stderr=None)
    assert of(compare(base, candidate), "contradiction_share").needed.reason == "no difference is seen"
    assert "not known" in of(compare(base, candidate)).needed.reason


# Task by task


def test_tasks_are_called_by_adjusted_p_values():
    tasks = [figures(f"t{i}", 1.0 + (i == 0), outcomes=(i != 1,) * 12) for i in range(4)]
    base = side("base", [figures(f"t{i}", 1.0, outcomes=(True,) * 12) for i in range(4)])
    runs = {f"t{i}": TwoVersions(1.0 if i == 0 else 0.0, 0.002 if i == 0 else 0.9, 2.0, 0.5, 0.2) for i in range(4)}
    found = {task.task_id: task for task in compare(base, side("candidate", tasks), between=runs).tasks}
    assert (found["t0"].rsd, found["t0"].rsd_p_adjusted) == (Change.WORSE, pytest.approx(0.008))
    assert (found["t1"].success, found["t1"].rsd) == (Change.WORSE, Change.UNDECIDED)
    # Fisher: 12 of 12 against 0 of 12 has probability 2/C(24, 12); four tasks by Benjamini and Hochberg.
    assert found["t1"].success_p_adjusted == pytest.approx(4 * 2 / math.comb(24, 12))
    assert not any(task.acts_otherwise for task in found.values())


def test_without_the_runs_a_task_has_no_p_value_of_its_rsd():
    base, candidate = pair_of_sides(BASE, [v + 0.5 for v in BASE])
    task = compare(base, candidate).tasks[0]
    assert (task.runs, task.rsd_p_adjusted, task.rsd) == (None, None, Change.UNDECIDED)
    assert task.rsd_difference == pytest.approx(0.5)


def test_what_cannot_be_asked_is_refused():
    base, candidate = pair_of_sides(BASE, BASE)
    with pytest.raises(ValueError, match="no figure rds; there are rsd"):
        compare(base, candidate, deciding=["rds"])
    with pytest.raises(ValueError, match="no figure given"):
        compare(base, candidate, deciding=[])


def test_the_same_seed_gives_the_same_comparison():
    base, candidate = pair_of_sides(BASE * 3, [v + 0.1 * (-1) ** i for i, v in enumerate(BASE * 3)])
    assert compare(base, candidate, seed=1) == compare(base, candidate, seed=1)
