"""What docs/predict.md says of tau-bench airline is what was measured, and the measured tasks give it again."""

import json
from pathlib import Path

import pytest

from likewise.evaluation.predict import predict
from likewise.evaluation.task_numbers import TaskNumbers

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "predict_airline.json"
pytestmark = pytest.mark.skipif(not RESULTS.is_file(), reason="the benchmarks travel with the repository only")


@pytest.fixture(scope="module")
def results():
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def test_the_measured_tasks_give_the_committed_numbers(results):
    tasks = [TaskNumbers(t["task_id"], t["values"], t["failures"], t["successes"]) for t in results["tasks"]]
    again = {each.name: each for each in predict(tasks, permutations=200).predictors}
    for number in results["numbers"]:
        assert again[number["name"]].auroc.as_json() == number["auroc"]
        assert again[number["name"]].correlation.as_json() == number["rank_correlation"]


def test_the_page_shows_the_committed_numbers(results):
    page = (ROOT / "docs" / "predict.md").read_text(encoding="utf-8")
    for number in results["numbers"]:
        auroc = number["auroc"]
        shown = f"{auroc['value'] * 100:.0f} % [{auroc['low'] * 100:.0f} to {auroc['high'] * 100:.0f}]"
        assert f"| {number['title']} | {shown} | {number['auroc_p_value']:.2f} |" in page


def test_nothing_is_told_from_chance_as_the_page_says(results):
    for number in results["numbers"]:
        assert number["auroc"]["low"] < 0.5 < number["auroc"]["high"]
        assert number["given_length_p_adjusted"] is None or number["given_length_p_adjusted"] > 0.05
