from __future__ import annotations

import pytest

from judges import LetterEncoder, TableJudge
from learned.samples import run_of
from likewise.core.errors import GroupError
from likewise.core.labels import Relation
from likewise.evaluation.fit import encode_tasks, fit_rsd
from likewise.evaluation.measured_tasks import measure_tasks, task_digest
from likewise.learned.model import RSDModel
from likewise.learned.options import FitOptions

JUDGE = TableJudge({("x", "y"): Relation.CONTRADICTORY})
RUNS = [
    run_of((letter, "x"), (letter, done), task=letter, run=str(k)) for letter in "abcd" for k, done in enumerate("xyx")
]


def test_tasks_are_encoded_state_by_state():
    runs = encode_tasks(measure_tasks(RUNS, judge=JUDGE), LetterEncoder(), FitOptions())
    assert [each.task_id for each in runs] == list("abcd")
    assert [len(states) for states in runs[0].states] == [2, 2, 2]
    assert runs[0].distance.tolist() == [[0, 1], [0, 0], [0, 1]]


@pytest.mark.torch
def test_a_model_says_how_it_was_made_and_is_the_same_from_disk(tmp_path):
    options = FitOptions(steps=20, every=10)
    model = fit_rsd(RUNS, options=options, judge=JUDGE, encoder=LetterEncoder(), demo="a test")
    assert model.facts["judge"] == "table"
    assert model.facts["tasks"] == 4
    assert model.facts["rollouts"] == 12
    assert model.facts["demo"] == "a test"
    assert set(model.facts["seen_tasks"]) == {task_digest(each) for each in "abcd"}
    assert len(model.facts["training"]["held_out_tasks"]) == 1
    model.save(tmp_path / "m")
    again = RSDModel.load(tmp_path / "m", LetterEncoder())
    assert [s.value for s in again.score_turns(RUNS[0])] == [s.value for s in model.score_turns(RUNS[0])]


@pytest.mark.torch
def test_an_agent_that_never_differs_has_next_to_no_divergence():
    # They end by themselves: of the last state before a cut nothing is measured, so nothing is learned there.
    runs = [run_of((a, "x"), (a, "z"), task=a, run=str(k)) for a in "abcdef" for k in range(3)]
    options = FitOptions(steps=200, every=50, rate=2e-3, mix=0.05)
    model = fit_rsd(runs, options=options, judge=JUDGE, encoder=LetterEncoder())
    assert max(score.value for run in runs for score in model.score_turns(run)) < 0.01


def test_refuses_runs_without_repeats():
    with pytest.raises(GroupError, match="nothing to compare"):
        fit_rsd(RUNS[:1], judge=JUDGE, encoder=LetterEncoder())
