"""What the layer promises, each with the tests that show it; the table stands in design/0013."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
NOTE = TESTS.parent / "design" / "0013-reliability-layer.md"
pytestmark = pytest.mark.skipif(not NOTE.is_file(), reason="the design notes travel with the repository only")

R = "reliability"
PROMISES: dict[str, tuple[str, ...]] = {
    "any callable, an endpoint, agents of frameworks are wrapped": (
        f"{R}/test_runner.py::test_callables_of_every_kind_are_run",
        f"{R}/test_endpoint.py::test_five_samples_by_one_request",
        f"{R}/integrations/test_openai_agents.py::test_an_agent_of_the_sdk_is_wrapped_as_it_is",
        f"{R}/integrations/test_langchain.py::test_a_chat_model_a_chain_and_a_graph_are_wrapped_as_they_are",
        f"{R}/integrations/test_pydantic_ai.py::test_an_agent_is_wrapped_as_it_is",
        f"{R}/integrations/test_crewai.py::test_a_crew_and_a_single_agent_are_wrapped_as_they_are",
        f"{R}/integrations/test_autogen.py::test_a_function_that_makes_an_agent_is_wrapped",
        f"{R}/integrations/test_ag2.py::test_an_agent_is_wrapped_as_it_is",
    ),
    "0 to 5 of 5 runs fail in any way: counted, in time, nothing left running": (
        f"{R}/test_runner.py::test_runs_that_fail_are_counted_and_enter_no_score",
        f"{R}/test_faults.py::test_failed_runs_of_a_sync_agent_are_counted_and_their_threads_end",
        f"{R}/test_faults.py::test_no_connection_is_left_open_whatever_an_endpoint_does",
        f"{R}/test_faults.py::test_a_query_takes_a_tenth_more_than_the_deadline_at_most_whether_its_runs_are_slow_or_fail",
    ),
    "a cancelled caller leaves nothing behind": (
        f"{R}/test_runner.py::test_a_cancelled_caller_cancels_all_runs",
        f"{R}/test_faults.py::test_a_cancelled_caller_leaves_no_connection_open",
    ),
    "awkward agents are answered in words or worked with": (
        f"{R}/test_awkward_agents.py::test_what_cannot_be_read_is_a_failed_run_that_says_why",
        f"{R}/test_awkward_agents.py::test_strange_errors_end_their_run_alone",
        f"{R}/test_awkward_agents.py::test_a_sync_agent_may_run_a_loop_of_its_own",
        f"{R}/test_loose_json.py::test_repair_has_an_end_whatever_the_text",
    ),
    "passing errors are retried, others not; a budget stops further runs": (
        f"{R}/test_runner.py::test_a_passing_error_is_retried_and_a_lasting_one_is_not",
        f"{R}/test_runner.py::test_tokens_and_cost_are_added_up_and_a_limit_stops_further_runs",
    ),
    "fields are read from fenced, prefixed, broken JSON; plain text has no findings": (
        f"{R}/test_fields.py::test_fenced_prefixed_and_slightly_broken_json_is_read",
        f"{R}/test_fields.py::test_plain_text_is_an_answer_whose_findings_are_not_measured",
        f"{R}/test_fields.py::test_an_extractor_of_the_users_own_reads_anything",
    ),
    "canonical and embedding variance, each with its name; volume; intervals": (
        "metrics/test_total_variance.py::test_a_hundred_findings_against_ninety_nine_of_them",
        "metrics/test_total_variance.py::test_ten_findings_against_nine_of_them",
        "metrics/test_total_variance.py::test_total_variance_equals_the_double_sum_and_the_closed_form",
        "metrics/test_total_variance.py::test_volume_variance_of_counts_is_their_sample_variance",
        f"{R}/test_scores.py::test_findings_and_sources_are_sets_over_the_union",
        f"{R}/test_scores.py::test_the_embedding_form_says_so_and_follows_its_closed_form",
        f"{R}/test_scores.py::test_two_runs_have_a_wide_interval_and_a_note",
    ),
    "a critical contradiction caps the label; the clashing sentences are quoted": (
        f"{R}/test_published_faults.py::test_a_contradiction_is_critical_even_where_most_runs_agree",
        f"{R}/test_scores.py::test_the_clashing_sentences_are_quoted_not_the_whole_answers",
    ),
    "the five answers on the economy, Drug X, and the post's own tests, with the embedded judge": (
        f"{R}/test_embedded.py::test_growth_contradicts_contraction_in_every_pair_and_neither_contradicts_itself",
        f"{R}/test_embedded.py::test_growth_is_one_class_that_speaks_through_its_middle_and_is_refused_all_the_same",
        f"{R}/test_embedded.py::test_a_direct_contradiction_is_critical_and_never_medium",
        f"{R}/test_embedded.py::test_identical_answers_score_below_a_tenth",
        f"{R}/test_embedded.py::test_the_five_rules_of_the_post_hold_with_the_embedded_judge",
        f"{R}/test_embedded.py::test_a_clean_agent_gets_no_advice_with_the_embedded_judge",
        f"{R}/test_embedded.py::test_a_mode_that_there_is_not_is_refused_before_any_model_loads",
    ),
    "the medoid of the largest class is served, or its tool call; ties and a missing majority are told": (
        f"{R}/test_consensus.py::test_the_medoid_of_the_largest_class_speaks_for_it",
        f"{R}/test_consensus.py::test_the_tool_call_that_most_runs_make_is_served",
        f"{R}/test_consensus.py::test_a_tie_is_told_and_no_majority",
    ),
    "noop, flag, refuse, reask, raise, or a function of the user's": (
        f"{R}/test_layer.py::test_verbs_for_a_contradiction",
        f"{R}/test_layer.py::test_raise_carries_the_verdict",
        f"{R}/test_layer.py::test_reask_runs_anew_once_then_refuses",
        f"{R}/test_layer.py::test_a_way_of_ones_own_gets_the_verdict_and_has_the_last_word",
    ),
    "modes are a pure state machine with the published defaults": (
        f"{R}/test_policy.py::test_the_defaults_are_the_published_ones",
        f"{R}/test_policy.py::test_adaptive_table",
        f"{R}/test_policy.py::test_sequential_goes_on_one_by_one_until_the_mode_is_settled_or_the_budget_spent",
        f"{R}/test_layer.py::test_sequential_takes_as_many_runs_as_it_is_told_at_most",
        f"{R}/test_mode_plan.py::test_it_gives_the_table_of_the_benchmark",
    ),
    "sequential mode keeps its stated error": (
        f"{R}/test_stopping.py::test_the_error_is_at_most_the_stated_one_over_all_sequences",
        f"{R}/test_stopping.py::test_a_looser_wager_would_fail_that_test",
        "docs/test_reliability_tables.py::test_the_simulated_error_is_at_most_the_stated_one_for_every_agent_and_the_page_says_whom_it_saves_runs",
    ),
    "advice is data with its evidence, and is tested by running again": (
        f"{R}/test_remediation.py::test_advice_to_lower_the_temperature_carries_the_evidence_against_it_and_no_promise",
        f"{R}/test_remediation.py::test_rules_of_ones_own",
        f"{R}/test_verify.py::test_a_fix_that_steadies_helps_and_one_that_changes_nothing_does_not",
        f"{R}/test_verify.py::test_a_fix_that_steadies_the_agent_on_wrong_answers_does_not_help",
        f"{R}/test_verify.py::test_variance_is_attributed_to_the_module_that_makes_it",
    ),
    "mitigations with published evidence are wrappers": (
        f"{R}/test_verify.py::test_query_sets_decay_to_one_over_the_run",
        f"{R}/test_verify.py::test_the_intersection_keeps_what_all_sets_propose_and_the_first_set_where_nothing_is_common",
        f"{R}/test_verify.py::test_the_research_agent_searches_what_is_common_and_answers_in_fields",
    ),
    "sentences are read against sources, quoted with offsets; what was not checked is said": (
        f"{R}/test_grounding.py::test_each_sentence_has_its_status_and_the_passage_with_its_offsets",
        f"{R}/test_grounding.py::test_a_passage_without_a_word_of_the_sentence_is_found_by_meaning_in_a_long_source",
        f"{R}/test_grounding.py::test_a_value_that_differs_is_a_contradiction_whatever_the_judge_says",
        f"{R}/test_grounding.py::test_runs_that_agree_on_what_no_source_says_get_a_warning_of_their_own",
        f"{R}/test_grounding.py::test_what_was_not_checked_is_never_served_without_a_word_and_the_policy_decides",
    ),
    "k runs send one refund at most, and none without permission": (
        f"{R}/test_replay.py::test_without_a_recorder_five_runs_send_five_refunds",
        f"{R}/test_replay.py::test_a_stubbed_refund_is_never_sent_and_reads_are_made_once",
        f"{R}/test_replay.py::test_a_permitted_refund_is_sent_once_for_all_runs_and_asked_about_once",
        f"{R}/test_replay.py::test_a_refund_that_is_not_permitted_is_not_sent",
        f"{R}/test_replay.py::test_runs_that_disagree_on_the_amount_send_one_refund_and_the_others_are_refused",
        f"{R}/test_call_record.py::test_one_change_in_five_spellings_is_asked_about_and_made_once",
    ),
    "a conversation is sampled turn by turn from one history, and is a group that report reads": (
        f"{R}/test_conversation.py::test_every_turn_is_sampled_from_one_history_and_the_environment_moves_once_a_turn",
        f"{R}/test_conversation.py::test_the_recorded_conversation_is_a_group_that_report_reads",
    ),
    "scripts, a running loop, a notebook's kernel, FastAPI, fifty threads": (
        "e2e/test_examples.py::test_a_contradiction_is_not_served",
        f"{R}/test_runner.py::test_it_works_inside_a_running_loop_from_both_sides",
        "e2e/test_examples.py::test_the_notebook_runs_from_top_to_bottom_in_a_kernel",
        f"{R}/test_where_it_works.py::test_a_handler_of_fastapi_answers_many_at_once",
        f"{R}/test_where_it_works.py::test_a_pool_of_fifty_threads_shares_one_wrapped_agent",
    ),
    "the command asks, logs in full, goes on where it was stopped, and checks recorded runs": (
        "cli/test_run.py::test_the_log_holds_all_texts_is_gone_on_with_and_checked",
        "cli/test_run.py::test_an_interrupted_run_keeps_its_verdicts_and_goes_on_from_there",
        "cli/test_run.py::test_check_tells_recorded_runs_without_an_answer",
        "cli/test_run.py::test_sequential_mode_takes_the_runs_it_is_given_at_most_and_refuses_what_it_cannot_do_with",
    ),
    "a test of the user's fails where an agent differs": (
        "test_pytest_plugin.py::test_an_agent_that_answers_alike_passes_and_one_that_does_not_fails_with_the_number",
    ),
    "three examples and a notebook run offline, and on a real endpoint by one line": (
        "e2e/test_examples.py::test_five_runs_send_one_refund",
        "e2e/test_examples.py::test_one_line_puts_a_real_endpoint_in_place",
    ),
}
"""What is promised to the tests that show it. What the published code got wrong is in test_published_faults.py."""


@pytest.mark.parametrize("name", sorted({name for names in PROMISES.values() for name in names}))
def test_every_test_that_is_said_to_show_a_promise_is_there(name):
    file, _, function = name.partition("::")
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    assert function in {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}


def test_the_note_names_the_tests_of_each_promise():
    rows = [f"| {promise} | {', '.join(f'`{name}`' for name in names)} |" for promise, names in PROMISES.items()]
    table = NOTE.read_text(encoding="utf-8").split("| promise | tests |\n|---|---|\n")[1]
    assert table.splitlines()[: len(rows) + 1] == rows
