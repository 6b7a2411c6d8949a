"""Two versions read as runs: measured alike, and compared with each other."""

import pytest

from judges import LetterEncoder, TableJudge
from likewise.core.errors import GroupError
from likewise.core.labels import Relation
from likewise.evaluation.compare import compare
from likewise.evaluation.versions import Measuring
from likewise.scoring.score import ScoringOptions
from scoring.runs import INVALID, run

HALF = ScoringOptions(gamma=0.5)


def measuring(judge=None, **more):
    return Measuring(judge=judge or TableJudge(), encoder=LetterEncoder(), options=HALF, **more)


def version(prefix, **tasks):
    return [run(f"{prefix}{i}", *text, task=task) for task, texts in tasks.items() for i, text in enumerate(texts)]


def test_the_difference_between_runs_is_that_of_the_rsds():
    base, candidate = version("b", a=["x", "x", "x"]), version("c", a=["x", "y", "z"])
    first, second, between = measuring(TableJudge({("y", "z"): Relation.CONTRADICTORY})).both(base, candidate)
    assert (first.tasks[0].rsd.value, second.tasks[0].rsd.value) == (0.0, pytest.approx(2 / 3))
    found = between["a"]
    assert found.difference == pytest.approx(2 / 3)
    # Base against candidate: x to x 0, x to y 0.5, x to z 0.5, three times each.
    assert found.between == pytest.approx(1 / 3)
    # Of the 20 divisions of x x x x y z, those with three x together are C(4, 3) = 4 and their mirrors: all as extreme.
    assert found.difference_p == pytest.approx(8 / 20)


def test_versions_that_are_each_consistent_but_act_otherwise_are_told_apart():
    base, candidate = version("b", a=["x"] * 5), version("c", a=["y"] * 5)
    _, _, between = measuring().both(base, candidate)
    found = between["a"]
    assert (found.difference, found.difference_p) == (0.0, 1.0)
    assert (found.shift, found.shift_p) == (0.5, 2 / 252)
    task = compare(*measuring().both(base, candidate)[:2], between=between).tasks[0]
    assert (task.rsd, task.acts_otherwise) == ("undecided", True)


def test_each_pair_of_texts_is_judged_once_for_both_sides_and_between_them():
    judge = TableJudge()
    measuring(judge).both(version("b", a=["x", "y"]), version("c", a=["x", "y", "z"]))
    assert sorted(judge.calls.values()) == [1, 1, 1]  # xy, xz, yz


def test_tasks_without_a_scored_run_on_both_sides_are_not_compared_run_by_run():
    base = [*version("b", a=["x", "x"], only=["x", "x"]), run("i", task="broken", stop=INVALID)]
    candidate = [*version("c", a=["x", "y"], other=["x"], broken=["x"])]
    _, _, between = measuring().both(base, candidate)
    assert between.keys() == {"a"}


def test_run_ids_may_be_the_same_on_both_sides_and_generators_are_read_once():
    base, candidate = version("r", a=["x", "x"]), version("r", a=["x", "y"])
    _, _, between = measuring().both(iter(base), iter(candidate))
    assert between["a"].difference == pytest.approx(0.5)


def test_a_side_without_runs_is_refused():
    with pytest.raises(GroupError, match="no rollouts"):
        measuring().both([], version("c", a=["x", "x"]))
