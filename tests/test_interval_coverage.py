"""The simulation study of benchmarks/, in small: what it promises must show in a few seconds too.

Binomial limits: with n replications a coverage of p is measured within 4 sqrt(p (1 - p)/n).
"""

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from likewise.report.words import percent

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
pytestmark = pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="the benchmarks travel with the repository only")


@pytest.fixture(scope="module")
def study():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import interval_coverage
    finally:
        sys.path.remove(str(BENCHMARKS))
    return interval_coverage


def slack(share, n):
    return 4 * math.sqrt(share * (1 - share) / n)


@pytest.mark.parametrize("kind", ["one decision", "independent turns", "branches"])
def test_the_closed_form_of_the_true_rsd_is_what_pairs_of_runs_show(study, kind):
    for agreement in (0.9, 0.5):
        drawn = study.draw(np.random.default_rng(1), np.full(40_000, agreement), 2, kind)
        assert drawn.mean() == pytest.approx(float(study.truth(np.array(agreement), kind)), abs=0.01)


def test_one_task_is_covered_and_never_given_no_width(study):
    for row in study.single_task(60, np.random.default_rng(2)):
        assert row["coverage"] >= 0.95 - slack(0.95, 60)
        assert row["zero_width"] == 0


def test_runs_of_two_lengths_are_covered_over_the_turns_that_were_seen(study):
    rows = study.two_lengths(60, np.random.default_rng(5))
    assert min(row["coverage"] for row in rows) >= 0.95 - slack(0.95, 60)
    # What the limit leaves out is what has not come yet: the study must show that, too.
    assert all(row["coverage_of_all_ten_turns"] <= row["coverage"] for row in rows)


def test_the_jackknife_t_interval_fails_where_runs_agree_as_was_found_before(study, monkeypatch):
    monkeypatch.setattr(study, "RUNS", (3,))
    rows = study.single_task(200, np.random.default_rng(3))
    old = [row["coverage_of_jackknife_t"] for row in rows if row["agreement"] == 0.98]
    assert max(old) < 0.65  # so the study can tell a bad interval from a good one


def test_the_mean_over_thirty_tasks_is_covered_about_as_often_as_said(study, monkeypatch):
    monkeypatch.setattr(study, "POPULATIONS", dict(list(study.POPULATIONS.items())[:2]))
    for row in study.over_tasks(300, np.random.default_rng(4)):
        assert 0.92 - slack(0.92, 300) <= row["coverage"] <= 0.97 + slack(0.97, 300)


def test_compare_seldom_calls_a_change_where_there_is_none_and_often_where_there_is(study, monkeypatch):
    monkeypatch.setattr(study, "POPULATIONS", dict(list(study.POPULATIONS.items())[1:2]))
    assert all(row["called"] <= 0.06 + slack(0.06, 400) for row in study.false_alarms(400, np.random.default_rng(5)))
    agreement = np.random.default_rng(6).uniform(0.5, 1.0, (100, 30))
    base, candidate = (study.draw(np.random.default_rng(7), a, 8, "branches") for a in (agreement, agreement - 0.4))
    assert (study.called(candidate.mean(axis=-1) - base.mean(axis=-1)) == 1).mean() > 0.95


def test_the_committed_results_keep_what_is_promised():
    worst = json.loads((BENCHMARKS / "results" / "interval_coverage.json").read_text())["worst"]
    assert worst["single_task_at_least_0.95"] >= 0.95
    assert worst["single_task_zero_width"] == 0
    low, high = worst["mean_over_30_tasks_between_0.92_and_0.97"]
    assert 0.92 <= low <= high <= 0.97
    assert worst["compare_false_alarms_at_most_0.06"] <= 0.06


def test_the_documented_power_is_that_of_the_committed_results():
    rows = json.loads((BENCHMARKS / "results" / "interval_coverage.json").read_text())["power"]
    rises: dict[float, dict[tuple[int, int], str]] = {}
    for row in rows:
        cells = rises.setdefault(round(row["rise_in_mean_rsd"], 2), {})
        cells[row["runs"], row["tasks"]] = percent(row["called_worse"])
    documented = (BENCHMARKS.parent / "docs" / "compare.md").read_text(encoding="utf-8")
    for rise, cells in rises.items():
        for runs in (3, 4, 8):
            shown = " | ".join(cells[runs, tasks] for tasks in (10, 30, 100))
            assert f"| {rise:.2f} | {runs} | {shown} |" in documented
