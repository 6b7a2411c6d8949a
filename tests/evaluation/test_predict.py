"""Does consistency predict success? Expected values are worked by hand or by scipy."""

import numpy as np
import pytest
from scipy import stats

from likewise.core.errors import GroupError
from likewise.evaluation.predict import predict as predict_whole
from likewise.evaluation.task_numbers import NUMBERS, TaskNumbers


def task(name, failures, successes, **values):
    return TaskNumbers(name, dict.fromkeys(NUMBERS, 0.5) | values, failures, successes)


def predict(tasks, **options):
    """With few draws, which is enough where no interval is checked."""
    return predict_whole(tasks, **{"resamples": 200, "permutations": 300} | options)


def by_name(prediction):
    return {each.name: each for each in prediction.predictors}


RSD, LENGTH, FAILED = [0.1, 0.4, 0.2, 0.9, 0.7, 0.3, 0.8, 0.6], [4, 9, 5, 6, 8, 3, 9, 7], [0, 1, 0, 4, 2, 0, 3, 2]
TASKS = [
    task(f"t{i}", failed, 4 - failed, rsd=rsd, turns=turns)
    for i, (rsd, turns, failed) in enumerate(zip(RSD, LENGTH, FAILED, strict=True))
]


def test_numbers_are_correlated_with_the_failure_rate_as_scipy_has_it():
    found = by_name(predict(TASKS))
    assert found["rsd"].correlation.value == pytest.approx(stats.spearmanr(RSD, FAILED).statistic)
    assert found["turns"].correlation.value == pytest.approx(stats.spearmanr(LENGTH, FAILED).statistic)
    xy, xz, yz = (stats.spearmanr(a, b).statistic for a, b in ((RSD, FAILED), (RSD, LENGTH), (FAILED, LENGTH)))
    partial = (xy - xz * yz) / np.sqrt((1 - xz**2) * (1 - yz**2))
    assert found["rsd"].partial.value == pytest.approx(partial)
    assert (found["turns"].partial, found["turns"].partial_p, found["turns"].beside_length) == (None, None, None)


def test_the_auroc_is_that_of_runs_of_two_tasks():
    wins = pairs = 0.0
    for i in range(8):
        for j in range(8):
            weight = FAILED[i] * (4 - FAILED[j]) * (i != j)
            pairs += weight
            wins += weight * ((RSD[i] > RSD[j]) + 0.5 * (RSD[i] == RSD[j]))
    found = by_name(predict(TASKS))
    assert found["rsd"].auroc.value == pytest.approx(wins / pairs)
    assert found["rsd"].auroc.low <= wins / pairs <= found["rsd"].auroc.high
    difference = found["rsd"].auroc.value - found["turns"].auroc.value
    assert found["rsd"].beside_length.value == pytest.approx(difference)


def test_a_number_that_is_the_same_for_all_tasks_tells_nothing():
    found = by_name(predict(TASKS))["total_variance"]
    assert found.auroc.value == 0.5
    assert (found.correlation.value, found.auroc_p, found.partial_p) == (None, None, None)
    assert "the same for all tasks" in found.correlation.reason


def test_the_best_stands_first_and_p_values_are_adjusted_over_the_numbers_of_consistency():
    prediction = predict(TASKS)
    aurocs = [each.auroc.value for each in prediction.predictors]
    assert aurocs == sorted(aurocs, reverse=True)
    assert prediction.predictors[0].name == "rsd"
    found = by_name(prediction)
    assert found["rsd"].auroc_p_adjusted == found["rsd"].auroc_p  # the only one of them that varies
    assert found["turns"].auroc_p_adjusted is None
    two = [TaskNumbers(t.task_id, {**t.values, "aligned_rsd": t.values["rsd"]}, t.failures, t.successes) for t in TASKS]
    assert by_name(predict(two))["rsd"].auroc_p_adjusted == pytest.approx(2 * found["rsd"].auroc_p)


def test_tasks_without_a_number_or_an_outcome_are_left_out_and_named():
    tasks = [*TASKS, task("mute", 0, 0), task("single", 1, 1, rsd=None)]
    prediction = predict(tasks, notes=["a note"])
    assert prediction.without_outcome == ("mute",)
    assert by_name(prediction)["rsd"].left_out == ("single",)
    assert by_name(prediction)["rsd"].tasks == 8
    assert by_name(prediction)["turns"].tasks == 9
    assert (prediction.failures, prediction.successes, prediction.notes) == (13, 21, ("a note",))


def test_a_number_of_few_tasks_is_undefined_with_the_reason():
    tasks = [task("a", 1, 0, rsd=1.0), task("b", 0, 1, rsd=0.5), *(task(f"x{i}", 1, 1, rsd=None) for i in range(3))]
    found = by_name(predict(tasks))["rsd"]
    assert found.auroc.reason == "2 task(s) have it; to correlate takes at least 3"
    assert (found.auroc_p, found.correlation_p, found.partial_p) == (None, None, None)


def test_differences_of_rounding_alone_are_ties():
    tasks = [task(f"t{i}", i % 2, 1 - i % 2, rsd=0.3 + i % 2 * 1e-12) for i in range(6)]
    assert by_name(predict(tasks))["rsd"].auroc.value == 0.5


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        (TASKS[:2], "2 task.s. have a run with a known outcome; to correlate takes at least 3"),
        ([task(f"t{i}", 0, 2) for i in range(5)], "all 10 runs succeeded: nothing to predict"),
        ([task(f"t{i}", 1, 0) for i in range(5)], "all 5 runs failed"),
    ],
)
def test_what_cannot_be_predicted_is_refused(tasks, message):
    with pytest.raises(GroupError, match=message):
        predict(tasks)


def test_the_same_seed_gives_the_same_result():
    assert predict(TASKS, seed=1) == predict(TASKS, seed=1) != predict(TASKS, seed=2)
