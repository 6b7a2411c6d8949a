"""The tables of the paper; expected values are worked by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from evaluation.test_progress import scored, trial
from likewise.core.errors import GroupError
from likewise.evaluation.paper_tables import paper_tables, tables_of
from likewise.evaluation.progress import Trials
from scoring.runs import run

BASE = [trial([0, 1], task="a"), trial([0, 0, 1], task="a", name="1"), trial([0, 0.5], task="b"),
        trial([0, 0], task="b", name="1")]  # fmt: skip
STEADY = [trial([0, 1], task="a"), trial([0, 1], task="a", name="1"), trial([0, 0.5], task="b"),
          trial([0, 0.5], task="b", name="1")]  # fmt: skip


def cells(table, method):
    (row,) = (row for row in table.rows if row.method == method)
    return row.cells


def test_table_1_equals_the_one_worked_by_hand():
    tables = paper_tables({"steady": STEADY, "base": BASE}, base="base", turn_limit=4)
    assert [row.method for row in tables.performance.rows] == ["base", "steady"]
    base, steady = (cells(tables.performance, name) for name in ("base", "steady"))
    # base a: areas .875 and .625 (mean .75, sd .25/sqrt 2); b: .4375 and 0 (mean .21875, CV sqrt 2)
    assert base["auc"].value.value == pytest.approx((0.75 + 0.21875) / 2)
    assert base["auc_cv"].value.value == pytest.approx((0.25 / math.sqrt(2) / 0.75 + math.sqrt(2)) / 2)
    assert base["progress"].value.value == pytest.approx((1 + 0.25) / 2)
    assert base["progress_cv"].value.value == pytest.approx((0 + math.sqrt(2)) / 2)
    assert base["per_turn"].value.value == pytest.approx(((1 + 0.5) / 2 + (0.5 + 0) / 2) / 2)
    assert base["auc"].change is None
    assert steady["auc"].value.value == pytest.approx((0.875 + 0.4375) / 2)
    assert steady["auc"].change.value == pytest.approx(0.65625 / 0.484375 - 1)
    assert steady["auc_cv"].change.value == pytest.approx(-1)
    assert "2 tasks" in steady["auc"].change.reason
    assert tables.performance.tasks == dict.fromkeys(tables.performance.tasks, 2)
    assert (tables.ablation, tables.divergence, tables.left_out) == (None, None, {})


def test_a_cv_of_the_table_is_the_mean_of_those_of_scipy():
    rng = np.random.default_rng(5)
    own = {f"t{i}": rng.uniform(0.1, 1, 8).tolist() for i in range(6)}
    tables = tables_of({"m": Trials(own, own)}, base="m")
    expected = np.mean([stats.variation(values, ddof=1) for values in own.values()])
    assert cells(tables.performance, "m")["auc_cv"].value.value == pytest.approx(expected)
    assert cells(tables.performance, "m")["auc"].value.low is not None


def test_cvs_are_compared_on_the_common_support_and_the_other_tasks_are_named():
    other = [trial([0, 0], task="a"), trial([0, 0], task="a", name="1"), *STEADY[2:], trial([0, 1], task="c")]
    tables = paper_tables({"base": [*BASE, trial([0, 1], task="d")], "other": other}, base="base", turn_limit=4)
    assert tables.left_out == {
        "a": "a method never made progress, so that its CV is undefined",
        "d": "not every method has a valid trial with progress",
        "c": "not every method has a valid trial with progress",
    }
    assert tables.performance.tasks["auc"] == 2
    assert tables.performance.tasks["auc_cv"] == 1
    assert cells(tables.performance, "other")["auc_cv"].value.value == 0
    assert cells(tables.performance, "other")["auc"].value.value == pytest.approx(0.4375 / 2)


def test_one_trial_has_no_cv():
    tables = paper_tables({"base": BASE[:1], "other": STEADY[:2]}, base="base")
    assert tables.left_out == {"a": "a method has fewer than two valid trials"}
    cell = cells(tables.performance, "base")["auc_cv"]
    assert (cell.value.value, cell.value.reason) == (None, "no task has it for every method")


def test_the_turn_limit_is_the_longest_run_of_any_method():
    tables = paper_tables({"base": BASE, "long": [trial([0, 0, 0, 0, 0, 1], task="a")]}, base="base")
    assert tables.turn_limit == 5
    # (0.5 + 4)/5 and (0.5 + 3)/5; task b is not shared
    assert cells(tables.performance, "base")["auc"].value.value == pytest.approx((0.9 + 0.7) / 2)


def test_the_ablation_is_sorted_by_lambda_and_stands_in_no_other_table():
    lambdas = {"half": 0.5, "none": 0.0}
    tables = paper_tables({"base": BASE, "half": STEADY, "none": BASE}, base="base", lambdas=lambdas)
    assert [(row.method, row.mixing) for row in tables.ablation.rows] == [("base", None), ("none", 0.0), ("half", 0.5)]
    assert [row.method for row in tables.performance.rows] == ["base"]


def test_direct_rsd_stands_beside_its_change():
    rsd = {"base": {"a": 1.0, "b": 3.0, "c": 9.0}, "steady": {"a": 0.5, "b": 0.5}}
    tables = paper_tables({"base": BASE, "steady": STEADY}, base="base", rsd=rsd)
    base, steady = (cells(tables.divergence, name)["rsd"] for name in ("base", "steady"))
    assert (base.value.value, steady.value.value, steady.change.value) == (2.0, 0.5, -0.75)
    assert tables.divergence.tasks == {"rsd": 2}


def test_notes_tell_what_the_numbers_leave_out_and_rest_on():
    base = [*BASE, run("9", "act", task="a"), scored(1.0), scored(0.0, task="s")]
    base[-1] = scored(0.5, task="r")
    tables = paper_tables({"base": base, "steady": [*STEADY, scored(1.0), scored(1.0, task="r")]}, base="base")
    notes = "\n".join(tables.notes)
    assert "base: 1 valid trial(s) have no progress and are left out" in notes
    assert "2 of 4 task(s) have no sub-goals in any log" in notes
    assert "tasks have 1 to 2 valid trials with progress" in notes


@pytest.mark.parametrize(
    ("methods", "more", "message"),
    [
        ({"base": BASE, "other": []}, {}, "there are no runs of 'other'"),
        ({"base": BASE, "other": [trial([0, 1], task="z")]}, {}, "no task was run by all methods"),
        ({"other": BASE}, {}, "the base 'base' is none of the methods: other"),
        ({"base": BASE}, {"lambdas": {"half": 0.5}}, "a lambda is given for what is no method: half"),
        ({"base": BASE}, {"turn_limit": 1}, "the turn limit is 1"),
    ],
)
def test_what_cannot_be_a_table_is_refused(methods, more, message):
    with pytest.raises(GroupError, match=message):
        paper_tables(methods, base="base", **more)
