"""What tasks are measured by, from an evaluation or its report: both the same."""

import json
from dataclasses import replace

import pytest

from likewise.core.errors import RolloutFormatError
from likewise.evaluation.task_numbers import NUMBERS, numbers_of, read_numbers
from likewise.report.as_json import evaluation_as_json
from likewise.scoring.results import TurnScore
from report_factory import evaluation as made_evaluation


@pytest.fixture
def evaluation():
    return made_evaluation()


@pytest.fixture
def report(evaluation, tmp_path):
    """Write a report, changed by a function of its JSON."""

    def _report(change=lambda data: data):
        path = tmp_path / "report.json"
        data = evaluation_as_json(evaluation)
        path.write_text(json.dumps(change(data) or data), encoding="utf-8")
        return path

    return _report


def test_numbers_are_those_of_the_scores(evaluation):
    for score, found in zip(evaluation.tasks, numbers_of(evaluation), strict=True):
        known = [run.success for run in score.valid if run.success is not None]
        assert (found.task_id, found.successes, found.failures) == (score.task_id, sum(known), known.count(False))
        assert list(found.values) == list(NUMBERS)
        assert found.values["rsd"] == score.rsd.value
        assert found.values["turns"] == sum(len(run.turns) for run in score.valid) / len(score.valid)
        assert found.values["unique_paths"] == score.tool_use.unique_paths / len(score.valid)


def test_the_mean_distance_weighs_each_pair_and_turn_alike(evaluation):
    turns = (
        TurnScore(0, 0.5, 0.0, equivalent=1, neutral=1, contradictory=1, ended=0, unmeasured=0),
        TurnScore(1, 1.0, 0.0, equivalent=0, neutral=0, contradictory=0, ended=1, unmeasured=2),
        TurnScore(2, None, 0.0, equivalent=0, neutral=0, contradictory=0, ended=0, unmeasured=3),
    )
    changed = replace(evaluation, tasks=(replace(evaluation.tasks[0], turns=turns),))
    assert numbers_of(changed)[0].values["mean_distance"] == pytest.approx((3 * 0.5 + 1 * 1.0) / 4)
    nothing = replace(evaluation, tasks=(replace(evaluation.tasks[0], turns=()),))
    assert numbers_of(nothing)[0].values["mean_distance"] is None


def test_a_report_gives_the_same_numbers(evaluation, report):
    assert read_numbers(report()) == numbers_of(evaluation)


def without(key):
    def change(data):
        del data["tasks"][0][key]

    return change


def put(value, *place):
    def change(data):
        at = data["tasks"][0]
        for key in place[:-1]:
            at = at[key]
        at[place[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("tool_use"), "lacks the field 'tool_use'"),
        (put(3, "task_id"), "a task id is text"),
        (put(float("nan"), "rsd", "value"), "is no finite number"),
        (put("much", "rsd", "value"), "not as likewise writes it"),
        (put([{"turn": 0}], "turns"), "not as likewise writes it"),
        (lambda data: {"schema": "other"}, "no report"),
    ],
)
def test_what_is_no_report_is_refused_with_its_place(report, change, message):
    with pytest.raises(RolloutFormatError, match=message):
        read_numbers(report(change))


def test_a_file_that_is_no_json_is_refused(tmp_path):
    path = tmp_path / "r.json"
    path.write_text("[" * 100_000)
    with pytest.raises(RolloutFormatError, match="not JSON"):
        read_numbers(path)


def test_a_report_that_is_too_large_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "r.json"
    with path.open("wb") as file:
        file.truncate(2**30 + 1)  # a hole: takes no space
    with pytest.raises(RolloutFormatError, match="bytes is not read"):
        read_numbers(path)
