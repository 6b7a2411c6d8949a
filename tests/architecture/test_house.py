from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "likewise"
MODULES = sorted(path for path in SRC.rglob("*.py") if "models" not in path.relative_to(SRC).parts)
LONGEST = 400

TESTED_ELSEWHERE: dict[str, str] = {
    "__main__.py": "beside the command's other start; cli/test_start.py",
    "evaluation/results.py": "plain data; filled in evaluation/test_evaluate.py",
    "scoring/results.py": "plain data; filled in scoring/test_score.py and scoring/test_fork.py",
    "formats/exchanges.py": "formats/test_openai_responses.py and test_anthropic_messages.py, both ways to use it",
    "formats/field_runs.py": "formats/test_mapped.py and test_table.py, both ways to use it",
    "formats/fields.py": "helpers of the readers; formats/test_bad_input.py walks every refusal",
    "formats/inspect_samples.py": "a part of formats/inspect_ai.py; formats/test_inspect_ai.py",
    "formats/otel_attributes.py": "a part of formats/otel.py; formats/test_otel.py",
    "formats/otel_spans.py": "a part of formats/otel.py; formats/test_otel.py",
    "formats/literals.py": "helper of the readers; formats/test_messages.py",
    "formats/rollout_set.py": "plain data; formats/test_registry.py",
    "cli/check.py": "beside its sister; cli/test_run.py",
    "reliability/account.py": "a part of each verdict; reliability/test_layer.py",
    "reliability/agents.py": "run by the runner; reliability/test_runner.py",
    "reliability/answers.py": "a part of the scores; reliability/test_scores.py",
    "reliability/attribution.py": "beside the other measured effects; reliability/test_verify.py",
    "reliability/batch.py": "driven by a command; cli/test_run.py",
    "reliability/cancelling.py": "a part of the runner's promise; reliability/test_runner.py",
    "reliability/citations.py": "a field; reliability/test_fields.py",
    "reliability/clashes.py": "a part of the scores; reliability/test_scores.py",
    "reliability/handling.py": "what the layer does; reliability/test_layer.py",
    "reliability/mitigations.py": "beside the other measured effects; reliability/test_verify.py",
    "reliability/recording.py": "files of a command; cli/test_run.py",
    "reliability/runs.py": "how outputs are read; reliability/test_fields.py",
    "reliability/variance.py": "a part of the scores; reliability/test_scores.py",
    "reliability/verdict.py": "plain data; reliability/test_layer.py and test_scores.py",
    "reliability/wrapped.py": "the layer at work; reliability/test_layer.py and test_runner.py",
    "report/verdict_table.py": "printed by a command; cli/test_run.py",
    "report/charts.py": "drawings inside the page; report/test_html.py",
    "report/fork_tree.py": "a drawing inside the page; report/test_html.py",
    "report/inspection.py": "printed by a command; tests/cli and e2e",
    "report/judge_table.py": "printed by a command; tests/cli and e2e",
    "store/migrations/versions/r0001_first_layout.py": "a step of store/migrate.py; store/test_migrate.py",
    "evaluation/change.py": "plain data and its verdicts; evaluation/test_compare.py",
    "report/compare_charts.py": "drawings inside the page; report/test_compare_faces.py",
    "report/compare_html.py": "a face of a comparison; report/test_compare_faces.py",
    "report/compare_json.py": "a face of a comparison; report/test_compare_faces.py",
    "report/compare_junit.py": "a face of a comparison; report/test_compare_faces.py",
    "report/compare_markdown.py": "a face of a comparison; report/test_compare_faces.py",
    "report/compare_terminal.py": "a face of a comparison; report/test_compare_faces.py",
    "report/compare_words.py": "helpers of the comparison; report/test_compare_faces.py",
    "report/markdown_text.py": "helpers of the Markdown; report/test_markdown.py",
    "report/plan_json.py": "a face of a plan; evaluation/test_plan.py",
    "report/predict_charts.py": "drawings inside the page; report/test_predict_words.py",
    "report/predict_html.py": "a face of a prediction; report/test_predict_words.py",
    "report/predict_json.py": "a face of a prediction; report/test_predict_words.py",
    "report/predict_terminal.py": "a face of a prediction; report/test_predict_words.py",
    "report/tables_json.py": "a face of the tables; report/test_tables_words.py",
    "report/tables_terminal.py": "a face of the tables; report/test_tables_words.py",
    "report/tables_text.py": "faces of the tables; report/test_tables_words.py",
    "report/states.py": "a line under the report; cli/test_gate_options.py",
    "report/side_by_side.py": "a part of the page; report/test_html.py",
    "report/text.py": "helpers of the reports; report/test_terminal.py",
    "report/word_diff.py": "a part of the page; report/test_html.py",
    "report/words.py": "helpers of the reports; report/test_terminal.py and test_html.py",
    "service/access.py": "who may ask; service/test_proxy.py and test_analyze_routes.py",
    "service/agents.py": "what analyze runs; service/test_analyze_routes.py",
    "service/call.py": "a request of the proxy, read; service/test_proxy.py and test_verified.py",
    "service/disconnect.py": "clients that hang up; service/test_openai_client.py and test_pass_through.py",
    "service/docs_page.py": "a page of the application; service/test_app.py",
    "service/errors.py": "a part of every route; service/test_app.py",
    "service/examples.py": "a part of the document; service/test_app.py",
    "service/health_routes.py": "for what watches; service/test_app.py and test_metrics.py",
    "service/schemas.py": "what goes over the wire; service/test_analyze_routes.py and its sisters",
    "service/service.py": "what all routes share; service/test_app.py and test_server.py",
    "service/wire.py": "how everything is sent; service/test_verified.py",
    "cli/serve.py": "the process; service/test_server.py",
    "service/figures.py": "what is followed over time; service/test_regressions.py and dashboard/test_history.py",
    "service/page_settings.py": "a part of the settings; service/test_alert_channels.py and tests/test_deploy.py",
    "service/retention.py": "one setting, two places; service/dashboard/test_settings_pages.py",
    "service/dashboard/access.py": "sessions and forms of the pages; service/dashboard/test_sign_in.py",
    "service/dashboard/agents_view.py": "what a page shows; service/dashboard/test_history.py",
    "service/dashboard/task_view.py": "what a page shows; service/dashboard/test_tasks.py",
    "backends/chat_client.py": "the endpoint's part of a chat judge; test_llm_judge.py",
    "backends/hf_network.py": "the network of a cross-encoder; test_hf_nli.py",
    "cli/judge_options.py": "a part of the commands that judge; tests/cli/test_judge.py",
    "backends/tool_rules_plan.py": "one table and one plan with backends/tool_rules.py; test_tool_rules.py",
    "cli/errors.py": "a part of every command; tests/cli and e2e",
    "cli/inspect.py": "tests/cli and e2e",
    "cli/label.py": "cli/test_label.py and e2e/test_label_process.py",
    "report/label_table.py": "printed by a command; cli/test_label.py",
    "cli/judge_eval.py": "tests/cli and e2e",
    "cli/main.py": "tests/cli and e2e",
    "cli/options.py": "a part of every command; tests/cli and e2e",
    "cli/progress.py": "tests/cli and e2e",
    "cli/report.py": "tests/cli and e2e",
}
"""Modules without a test file of their own, and where they are tested."""


def name_of(path):
    return path.relative_to(SRC).as_posix()


def mirror(path):
    return ROOT / "tests" / path.relative_to(SRC).with_name(f"test_{path.name}")


def test_every_module_has_a_test_file_that_mirrors_it_or_a_reason():
    modules = [path for path in MODULES if path.name != "__init__.py"]
    orphans = [name_of(path) for path in modules if not mirror(path).exists()]
    assert sorted(set(orphans) - TESTED_ELSEWHERE.keys()) == []


def test_the_table_of_reasons_speaks_of_modules_that_exist():
    assert sorted(TESTED_ELSEWHERE.keys() - {name_of(path) for path in MODULES}) == []
    assert all(TESTED_ELSEWHERE.values())


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_fits_into_a_head(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST


def undocumented(tree):
    """Public functions, classes and methods without a docstring; what a function defines inside is its own affair."""
    found = []

    def visit(node, prefix):
        for child in node.body:
            if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            special = child.name.startswith("__") and child.name.endswith("__")
            if child.name.startswith("_") and not special:
                continue
            if ast.get_docstring(child) is None:
                found.append(f"{prefix}{child.name}")
            if isinstance(child, ast.ClassDef):
                visit(child, f"{prefix}{child.name}.")

    visit(tree, "")
    return found


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_everything_public_has_a_docstring(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    assert undocumented(tree) == []


def test_the_check_for_docstrings_can_fail():
    tree = ast.parse("def f(): pass\nclass C:\n    'c'\n    def g(self): pass\n    def _h(self): pass\n")
    assert undocumented(tree) == ["f", "C.g"]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_what_a_module_offers_is_listed_once_and_exists(path):
    parts = path.relative_to(SRC).with_suffix("").parts
    module = import_module(".".join(["likewise", *(part for part in parts if part != "__init__")]))
    names = getattr(module, "__all__", [])
    assert len(set(names)) == len(names)
    assert [name for name in names if not hasattr(module, name)] == []


FOR_THE_TYPE_CHECKER = {"report/html.py"}
"""Modules with an assertion that only tells the type checker what cannot be otherwise."""


@pytest.mark.parametrize("path", [path for path in MODULES if name_of(path) not in FOR_THE_TYPE_CHECKER], ids=name_of)
def test_no_assert_steers_the_program(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Assert)] == []
