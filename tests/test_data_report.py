"""The whole road on data that does not travel with the repository: published figures, real judges."""

from __future__ import annotations

import json

import pytest

from data_folder import data_folder
from likewise import evaluate, read_rollouts
from likewise.backends.action_judge import embedded_judge
from likewise.evaluation.judge_eval import evaluate_judge, read_labelled_pairs
from likewise.evaluation.results import Evaluation
from likewise.report.as_json import evaluation_as_json
from likewise.report.html import render_html
from likewise.scoring.stored_judge import StoredJudge

pytestmark = [pytest.mark.data, pytest.mark.model, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def airline() -> Evaluation:
    return evaluate(read_rollouts(data_folder() / "rollouts/tau-bench/gpt-4o-airline-tasks-0-29.json"))


def test_pass_hat_k_of_the_airline_runs_counts_runs_cut_by_the_step_limit_as_failed(airline: Evaluation) -> None:
    assert (airline.summary.tasks, airline.summary.rollouts, airline.summary.valid) == (30, 120, 120)
    found = {k: estimate.value for k, estimate in airline.summary.pass_hat_k.items()}
    assert found == pytest.approx({1: 0.3, 2: 0.172222, 3: 0.141667, 4: 0.133333}, abs=1e-6)


def test_tasks_that_flip_are_those_of_the_file(airline: Evaluation) -> None:
    # Counted in the file itself: 14 of 30 tasks have 1 to 3 successes of 4. The mean of p (1 - p) is pass^1 - pass^2.
    assert airline.summary.outcomes_flip.value == pytest.approx(14 / 30)
    variance = 0.3 - 0.172222
    assert airline.summary.single_run_gap.value == pytest.approx(1.959964 * (2 * variance / 30) ** 0.5, abs=1e-5)


def test_the_three_cut_runs_leave_a_band_and_no_end(airline: Evaluation) -> None:
    banded = {score.task_id: score.rsd_band for score in airline.tasks if score.rsd_band is not None}
    assert set(banded) == {"2", "9"}  # one run of task 2 and two of task 9 reached the step limit
    assert all(low < high for low, high in banded.values())


def test_every_number_lies_in_its_range(airline: Evaluation) -> None:
    for score in airline.tasks:
        assert score.rsd.value is not None
        assert 0 <= score.rsd.value <= 5
        assert score.rsd.low is not None
        assert 0 <= score.rsd.low <= score.rsd.value <= (score.rsd.high or 0) <= 5
        assert 0 <= (score.aligned_rsd.value or 0) <= 5
        assert 0 <= (score.total_variance.value or 0) <= 1


def test_the_report_of_real_rollouts_is_strict_json_and_a_page(airline: Evaluation) -> None:
    text = json.dumps(evaluation_as_json(airline), allow_nan=False)
    assert json.loads(text)["summary"]["tasks"] == 30
    assert render_html(airline).rstrip().endswith("</html>")


def test_json_envelopes_and_calls_written_as_text_are_read_and_scored() -> None:
    rollouts = read_rollouts(data_folder() / "rollouts/tau2/airline_relaxed_grok-3-mini_4trials.json")
    assert any("tool call in text" in note for rollout in rollouts for note in rollout.notes)
    assert not any(a.text.lstrip().startswith('{"message"') for rollout in rollouts for a in rollout.actions)
    evaluation = evaluate(rollouts)
    assert evaluation.summary.rollouts == 4
    assert evaluation.tasks[0].rsd.value is not None


def test_the_judge_stays_at_its_stated_figure_on_gold_pairs_of_actions() -> None:
    labelled = read_labelled_pairs(data_folder() / "gold/action_pairs_dev.jsonl")
    assert len(labelled.pairs) == 232
    score = evaluate_judge(labelled, StoredJudge(embedded_judge()))
    assert score.accuracy.value == pytest.approx(0.927, abs=0.01)  # as in the model card
    assert not score.not_measured
