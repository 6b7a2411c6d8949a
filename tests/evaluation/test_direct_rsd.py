"""Direct RSD of the tasks of a method; expected values are worked by hand."""

import pytest

from judges import FailingJudge, TableJudge
from likewise.core.errors import GroupError
from likewise.core.labels import Relation
from likewise.evaluation.direct_rsd import direct_rsd
from scoring.runs import CUT, run


def test_direct_rsd_of_runs_is_the_discounted_sum_worked_by_hand():
    runs = [run("0", "yes", "end"), run("1", "no", "end"), run("2", "yes", "end")]
    found = direct_rsd(runs, judge=TableJudge({("yes", "no"): Relation.CONTRADICTORY}))
    assert found.by_task == {"t": pytest.approx(2 / 3)}  # two of three pairs contradict at turn 0 and agree after
    assert found.warnings == ()
    cut = direct_rsd([*runs[:2], run("2", "yes", stop=CUT)], judge=TableJudge({("yes", "no"): Relation.CONTRADICTORY}))
    assert "1 task(s) have runs that were cut" in cut.warnings[-1]


def test_a_task_of_which_nothing_could_be_judged_has_no_rsd():
    runs = [run("0", "It rained in the night."), run("1", "We left by the first train.")]  # no rule settles these
    runs += [run(str(n), "same", task="u") for n in range(2)]
    found = direct_rsd(runs, judge=FailingJudge())
    assert found.by_task == {"u": 0}
    assert any("could not be judged" in warning for warning in found.warnings)


def test_a_method_without_two_runs_of_a_task_is_refused():
    with pytest.raises(GroupError, match="no task has two valid runs"):
        direct_rsd([run("0", "yes")], judge=TableJudge())
