"""Faults that users of other tools reported in public, each held by a test: those here, and those named in HELD."""

from __future__ import annotations

import ast
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from judges import NeverJudge, TableJudge
from likewise.backends.judges import embedded_judge
from likewise.backends.tool_rules import ToolRules
from likewise.core.labels import Relation
from likewise.core.rollout import Action, ToolCall
from likewise.evaluation.evaluate import evaluate
from likewise.evaluation.gate_rules import GateSettings
from likewise.evaluation.gates import check_gates
from likewise.formats import read_rollouts
from likewise.metrics.pass_k import pass_at_k, pass_hat_k
from likewise.metrics.progress_rate import coefficient_of_variation
from likewise.report.as_json import evaluation_as_json
from likewise.report.html import render_html
from likewise.report.markdown import report_markdown
from likewise.report.terminal import render_terminal
from likewise.scoring.label import Labeller
from likewise.scoring.stored_judge import StoredJudge
from scoring.runs import call, calls, run

TESTS = Path(__file__).parent

HELD: dict[str, tuple[str, ...]] = {
    "tau2-bench#493": ("evaluation/test_evaluate.py::test_one_success_beside_three_broken_runs_is_no_hundred_percent",),
    "deepeval#3141": (
        "backends/test_tool_rules.py::test_the_same_call_twice_equals_the_same_call_twice_and_not_once",
        "metrics/test_tool_sequences.py::test_equal_calls_of_one_tool_are_equal_and_twice_is_not_once",
        "formats/test_messages.py::test_trap_5_of_the_issues_two_equal_calls_in_one_message_stay_two",
    ),
    "deepeval#2242": (
        "metrics/test_tool_sequences.py::test_runs_that_call_no_tool_are_not_perfectly_similar",
        "metrics/test_tool_sequences.py::test_a_run_with_calls_against_one_without_is_a_difference",
    ),
    "deepeval#3175, agent-skills-eval#31": (
        "backends/test_tool_rules.py::test_another_spelling_of_the_same_arguments_is_the_same_call",
        "backends/test_tool_rules.py::test_values_that_only_look_alike_differ",
    ),
    "ragas#1658, webmcp-tools#38": ("backends/test_tool_rules.py::test_parallel_calls_have_no_order",),
    "adk-python#1591, deepeval#3019": (
        "scoring/test_turn_alignment.py::test_one_other_call_is_substituted_and_the_later_steps_are_aligned",
        "metrics/test_tool_sequences.py::test_similarities_match_the_table_worked_by_hand",
        "backends/test_argument_modes.py::test_a_tolerance_includes_its_boundary_in_decimals_as_written",
    ),
    "uqlm#452": (
        "formats/test_uqlm.py::test_issue_452_a_prompt_without_samples_has_one_run_and_nothing_to_compare",
        "formats/test_uqlm.py::test_issue_452_a_blank_answer_is_no_answer_and_two_of_them_do_not_agree",
    ),
    "semantic_uncertainty#3": (
        "core/test_labels.py::test_no_contradiction_either_way_is_not_yet_equivalence",
        "core/test_labels.py::test_all_nine_combinations_follow_definition_1",
    ),
    "isnad#110": (
        "core/test_labels.py::test_contradiction_in_one_direction_wins_over_a_surer_entailment_in_the_other",
    ),
    "txtai#1216": ("backends/test_hf_nli.py::test_the_label_order_is_read_from_the_config",),
    "vanguarstew#934, Scylla#1508": (
        "metrics/test_progress_rate.py::test_the_variation_of_two_trials_uses_the_sample_deviation",
    ),
    "inspect_ai#2914": (
        "formats/test_inspect_ai.py::test_issue_2914_samples_that_failed_stay_in_the_count",
        "evaluation/test_evaluate.py::test_two_of_six_valid_runs_are_two_of_six_and_the_two_broken_ones_are_shown",
    ),
    "inspect_ai#3907": (
        "formats/test_inspect_ai.py::test_issue_3907_and_trap_36_a_sample_written_twice_counts_once_and_the_last_counts",
    ),
    "stella#3264": (
        "formats/test_promptfoo.py::test_issue_3264_a_verdict_that_nobody_reached_is_missing_and_not_zero",
    ),
    "claude-code#5034": (
        "formats/test_claude_code.py::test_issue_5034_partial_lines_of_one_message_are_one_message_and_keep_all_its_calls",
    ),
    "langfuse#6297, #6924": (
        "formats/test_langfuse.py::test_trap_42_and_43_a_trace_is_read_in_order_of_time_with_its_history_once",
        "formats/test_langfuse.py::test_issue_6924_a_trace_without_observations_is_excluded_and_no_run_of_no_calls",
    ),
    "langfuse#15935": ("formats/test_langfuse.py::test_issue_15935_two_traces_of_one_item_are_two_runs_of_it",),
    "promptfoo#5947": (
        "formats/test_promptfoo.py::test_issue_5947_nine_of_ten_repeats_are_ten_runs_and_nine_successes",
        "formats/test_promptfoo.py::test_issue_5947_repeats_out_of_the_cache_are_told",
    ),
    "lm-polygraph#223": ("metrics/test_entropy.py::test_likelihood_weights_count_each_string_once",),
    "webmcp-tools#268, agentv#295": (
        "backends/test_tool_rules.py::test_ignored_arguments_do_not_matter",
        "backends/test_tool_rules_overrides.py::test_modes_decide_as_worked_out_by_hand",
    ),
    "garak#2033, deepeval#3077": ("metrics/test_resampling.py::test_wilson_intervals_match_the_published_values",),
    "ragas#1125, #731": ("evaluation/test_repeatability.py::test_the_share_of_pairs_on_which_all_readings_agree",),
    "openai-agents-python#77, haystack#8951": (
        "reliability/test_runner.py::test_it_works_inside_a_running_loop_from_both_sides",
        "backends/test_progress_judge.py::test_it_works_where_a_loop_is_running_already",
    ),
    "selfcheckgpt#29": ("reliability/test_scores.py::test_the_clashing_sentences_are_quoted_not_the_whole_answers",),
    "TTRV#4": ("training/test_guards.py::test_groups_without_variance_are_told_after_a_window_and_once_a_window",),
    "all runs raise": ("evaluation/test_repeat.py::test_all_runs_failing_is_an_error_that_names_each_cause_once",),
}
"""Fault to the tests elsewhere that hold it."""


@pytest.mark.parametrize("name", [name for names in HELD.values() for name in names])
def test_every_test_that_is_said_to_hold_a_fault_is_there(name):
    file, _, function = name.partition("::")
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    assert function in {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}


def outcomes(successes, runs, task="t"):
    return [run(str(n), "x", task=task, success=n < successes) for n in range(runs)]


def test_issue_497_pass_hat_2_of_three_in_four_is_one_half_and_the_plug_in_value_stands_nowhere():
    """tau2-bench#497: C(3, 2)/C(4, 2) = 0.5, and not (3/4)^2 = 0.5625."""
    evaluation = evaluate(outcomes(3, 4), judge=NeverJudge())
    assert evaluation.summary.pass_hat_k[2].value == 0.5
    gates = check_gates(evaluation, GateSettings())
    for face in (json.dumps(evaluation_as_json(evaluation)), report_markdown(evaluation, gates)):
        assert "0.5625" not in face
        assert "56%" not in face


def test_issue_493_one_good_run_beside_three_broken_ones_heads_no_face_with_100_percent(tmp_path):
    """tau2-bench#493: four tasks of one run, one with reward 1, three ended by an infrastructure error."""
    chat = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "done"}]
    simulations = [
        {"id": "0", "task_id": "0", "trial": 0, "termination_reason": "user_stop", "messages": chat}
        | {"reward_info": {"reward": 1.0}},
        *(
            {"id": task, "task_id": task, "trial": 0, "termination_reason": "infrastructure_error", "messages": chat}
            | {"reward_info": None}
            for task in "123"
        ),
    ]
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"info": {}, "tasks": [], "simulations": simulations}), encoding="utf-8")
    evaluation = evaluate(read_rollouts(path), judge=NeverJudge())
    summary = evaluation_as_json(evaluation)["summary"]
    assert (summary["success_rate"]["n"], summary["pass_hat_k"]["1"]["n"]) == (1, 1)
    assert summary["tasks_without_valid"] == ["1", "2", "3"]
    assert summary["success_rate_all"]["value"] == 0.25
    assert [len(score.valid) for score in evaluation.tasks] == [1, 0, 0, 0]
    terminal = Console(file=io.StringIO(), width=150)
    render_terminal(evaluation, terminal)
    shown = " ".join(terminal.file.getvalue().split())
    assert "success 25% (no interval), mean over tasks, where the 3 runs that failed in the harness count" in shown
    assert "pass^k 1: 100% (no interval), 1 of 4 tasks" in shown
    assert "no valid run 1, 2, 3" in shown
    markdown = report_markdown(evaluation, check_gates(evaluation, GateSettings()))
    assert "| success, 3 broken runs as failures | 25% |" in markdown
    assert "| success without them (1 of 4 tasks) | 100% |" in markdown
    assert re.findall(r'lead-value">([^<]*)<', render_html(evaluation)) == ["–", "25%"]


def test_issue_540_tasks_that_flip_are_counted_and_so_is_what_luck_moves():
    """tau2-bench#540: four runs of 50 tasks; 32 to 42 % of them flip, and scores must differ by 10 to 11 points.

    Its result files are not among the samples, so the smallest input of their kind: 18 of 50 tasks flip, six each with
    1, 2 and 3 of 4 successes. Their points are those of the variance c (n - c) / n^2; ours divides by n (n - 1), which
    has no bias, and is sqrt(4 / 3) as large.
    """
    successes = [1] * 6 + [2] * 6 + [3] * 6 + [4] * 16 + [0] * 16
    rollouts = [each for task, count in enumerate(successes) for each in outcomes(count, 4, str(task))]
    evaluation = evaluate(rollouts, judge=NeverJudge(), resamples=50)
    summary = evaluation_as_json(evaluation)["summary"]
    assert summary["outcomes_flip"]["value"] == 18 / 50
    assert 0.32 <= summary["outcomes_flip"]["value"] <= 0.42
    published = 1.959964 * (2 * 6 * (3 / 16 + 4 / 16 + 3 / 16)) ** 0.5 / 50
    assert 0.10 <= published <= 0.11
    assert summary["single_run_gap"]["value"] == pytest.approx(published * (4 / 3) ** 0.5)
    # all of 4 and none of 4 are what does not flip
    assert summary["pass_at_k"]["4"]["value"] - summary["pass_hat_k"]["4"]["value"] == pytest.approx(18 / 50)
    terminal = Console(file=io.StringIO(), width=150)
    render_terminal(evaluation, terminal)
    assert "36% of 50 tasks both succeed and fail" in terminal.file.getvalue()


def test_issue_1542_pass_at_k_and_pass_hat_k_have_their_own_names_and_values():
    """evalscope#1542: one success in four, k = 4."""
    assert (pass_hat_k(np.array([1]), np.array([4]), 4)[0], pass_at_k(np.array([1]), np.array([4]), 4)[0]) == (0, 1)
    summary = evaluation_as_json(evaluate(outcomes(1, 4), judge=NeverJudge()))["summary"]
    assert summary["pass_hat_k"]["4"]["value"] == 0
    assert summary["pass_at_k"]["4"]["value"] == 1


def test_issue_5947_nine_of_ten_is_never_all_of_ten():
    """promptfoo#5947: C(9, 10)/C(10, 10) = 0, where 0.9^10 would be 0.35."""
    summary = evaluate(outcomes(9, 10), judge=NeverJudge()).summary
    assert summary.pass_hat_k[1].value == pytest.approx(0.9)
    assert summary.pass_hat_k[10].value == 0


def test_issue_3175_the_order_of_nested_keys_and_1_against_1_0_make_no_difference_and_that_of_lists_does():
    """deepeval#3175, agent-skills-eval#31, dokimos#103."""
    one = call("search", query="x", options={"limit": 10, "sort": "asc"}, fields=["a", "b"])
    other = ToolCall("search", {"fields": ["a", "b"], "options": {"sort": "asc", "limit": 10.0}, "query": "x"})
    swapped = call("search", query="x", options={"limit": 10, "sort": "asc"}, fields=["b", "a"])
    labels = Labeller(StoredJudge(NeverJudge(), None), ToolRules()).settle(
        [(calls(one), calls(other)), (calls(one), calls(swapped))]
    )
    assert labels.of(calls(one), calls(other)).relation is Relation.EQUIVALENT
    assert labels.of(calls(one), calls(swapped)).relation is not Relation.EQUIVALENT


def test_issue_1658_parallel_calls_have_no_order_and_calls_of_two_turns_do():
    """ragas#1658, webmcp-tools#38."""
    weather, match = call("get_weather", city="LA"), call("get_match", city="LA")

    def rsd(*runs):
        return evaluate([run(str(n), *turns) for n, turns in enumerate(runs)], judge=NeverJudge()).tasks[0].rsd.value

    assert rsd([calls(weather, match)], [calls(match, weather)]) == 0
    in_turns = ([calls(weather), calls(match)], [calls(match), calls(weather)])
    assert rsd(*in_turns) == pytest.approx(0.5 + 0.8 * 0.5)


NEGATIONS = [("I like pizza.", "I dont like pizza."), ("The flag is enabled.", "The flag is disabled.")]


@pytest.mark.parametrize("pair", NEGATIONS)
def test_issue_134_a_negation_and_an_antonym_contradict(pair):
    """sentence-transformers#134, entroly#416."""
    (judgement,) = embedded_judge().judge([pair])
    assert judgement.relation is Relation.CONTRADICTORY


def test_issue_416_antonyms_in_fragments_contradict_without_asking_the_judge():
    labeller = Labeller(StoredJudge(NeverJudge()), ToolRules())
    pair = (Action("flag enabled"), Action("flag disabled"))
    judgement = labeller.settle([pair]).of(*pair)
    assert judgement is not None
    assert (judgement.relation, judgement.rule) == (Relation.CONTRADICTORY, "opposites")


def test_issue_2914_scores_with_other_keys_in_another_epoch_break_nothing(tmp_path):
    """inspect_ai#4357, #3840: dicts {a} and {a, b} as values; the reward is missing and the values are kept."""
    samples = [
        {
            "id": 1,
            "epoch": epoch,
            "messages": [{"role": "user", "content": "Q", "source": "input"}, {"role": "assistant", "content": "A"}],
            "scores": {"s": {"value": value, "answer": "A", "explanation": "why"}},
        }
        for epoch, value in ((1, {"a": 1}), (2, {"a": 1, "b": 0}))
    ]
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"eval": {"task": "t", "model": "m"}, "samples": samples}), encoding="utf-8")
    found = read_rollouts(path)
    assert [each.reward for each in found] == [None, None]
    assert [each.meta["scores"]["s"] for each in found] == [{"a": 1}, {"a": 1, "b": 0}]
    assert all("reward that is not a number" in each.notes for each in found)


def test_issue_3264_a_reward_that_nobody_gave_is_missing_and_enters_no_mean(tmp_path):
    """stella#3264, RL#2479, slime#2157, trl#5775: 0.0, null, an object; null with an error is no run at all."""
    records = [
        {"reward": 0.0, "success": False},
        {"reward": None},
        {"reward": {"a": 1}},
        {"reward": 1.0, "success": True},
        {"reward": None, "stop": "invalid", "problem": "VerifierTimeoutError"},
    ]
    lines = [
        {"schema": "likewise.rollout/1", "task_id": "t", "run_id": str(n), "turns": [{"action": {"text": "x"}}]}
        | record
        for n, record in enumerate(records)
    ]
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    found = read_rollouts(path)
    assert [each.reward for each in found] == [0.0, None, None, 1.0, None]
    summary = evaluate(found, judge=NeverJudge()).summary
    assert (summary.rollouts, summary.valid) == (5, 4)
    assert (summary.success_rate.value, summary.success_rate_all.value) == (0.5, pytest.approx(1 / 3))


def test_issue_51_four_runs_at_temperature_0_do_vary_and_one_domain_far_more_than_the_others():
    """tau2-bench#51: success of four whole runs by domain; telecom ranges over 11.4 points."""
    domains = {
        "airline": [58, 52, 60, 58],
        "retail": [66.67, 70.18, 65.79, 65.79],
        "telecom": [80.7, 83.33, 81.58, 92.11],
    }
    cv = {name: coefficient_of_variation(np.array(scores, dtype=float)) for name, scores in domains.items()}
    for name, scores in domains.items():
        assert cv[name].value == pytest.approx(np.std(scores, ddof=1) / np.mean(scores))
        assert cv[name].low is not None
        assert cv[name].value > 0.02
    assert np.ptp(domains["telecom"]) == pytest.approx(11.41)


def test_issue_11317_two_answers_of_json_that_differ_in_their_fields_do_not_agree():
    """vllm-ascend#11317: one request, temperature 0, one seed, two verdicts: total variance of two runs is 1."""
    answers = ('{"level": "neutral", "score": 60}', '{"level": "weakly consistent", "score": 70}')
    runs = [run(str(n), Action(answer)) for n, answer in enumerate(answers)]
    assert evaluate(runs).tasks[0].total_variance.value == 1


def test_all_runs_raising_is_no_evidence_and_no_agreement():
    from likewise.core.rollout import StopReason

    result = evaluate([run(str(n), stop=StopReason.INVALID) for n in range(5)], judge=TableJudge())
    assert result.summary.valid == 0
    for number in (result.tasks[0].rsd, result.tasks[0].total_variance, result.summary.success_rate):
        assert number.value is None
        assert number.reason
