"""The tables of docs/reliability.md are those of the results, and are made as a person would write them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "docs" / "reliability_tables.py"
pytestmark = pytest.mark.skipif(not TOOL.is_file(), reason="the tools travel with the repository only")


@pytest.fixture(scope="module")
def tables():
    spec = importlib.util.spec_from_file_location("reliability_tables", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def page():
    return (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")


def results(name):
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))


def test_the_page_shows_every_table_as_the_results_have_it(tables, page):
    """Where this fails a benchmark has run again: python tools/docs/reliability_tables.py --write."""
    assert tables.shown(page) == {name: tables.table(name) for name in tables.TABLES}
    assert tables.rewritten(page) == page


def test_a_page_with_an_old_number_is_told_and_put_right(tables, page, tmp_path, monkeypatch, capsys):
    copy = tmp_path / "reliability.md"
    copy.write_text(page.replace("| always the same | .000 |", "| always the same | .123 |"), encoding="utf-8")
    monkeypatch.setattr(tables, "PAGE", copy)
    monkeypatch.setattr("sys.argv", ["reliability_tables.py"])
    assert tables.main() == 1
    assert "differ from the results: sequential" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["reliability_tables.py", "--write"])
    assert tables.main() == 0
    assert copy.read_text(encoding="utf-8") == page


def test_a_row_of_the_simulation_by_hand(tables):
    numbers = {
        "fixed5_wrong": 0.00945,
        "adaptive_wrong": 0.01555,
        "adaptive_runs": 2.5433,
        "sequential_wrong": 0.0001,
        "sequential_undecided": 1.0,
        "sequential_runs": 12.0,
    }
    (*_, row) = tables.sequential({"agents": {".9 .1": numbers}}).splitlines()
    assert row == "| .9 .1 | .009 | .016, 2.5 | .000, 1.000, 12.0 |"


def test_a_row_of_the_overhead_by_hand(tables):
    found = {
        "queries": 200,
        "runs": 5,
        "bare client": {"wall_s": 32.74, "processor_s": 14.1},
        "layer, identical answers": {"wall_s": 38.34, "processor_s": 17.02},
        "layer, judging": {"wall_s": 150.37, "processor_s": 95.01},
        "overhead, judging excluded": {"processor_ms_a_query": 14.6},
        "overhead, judging included": {"processor_ms_a_query": 404.55},
    }
    assert tables.overhead(found).splitlines()[2:] == [
        "| bare client, 1,000 calls | 32.7 s | 14.1 s |  |",
        "| layer, identical answers (no model is asked) | 38.3 s | 17.0 s | 15 ms of processor |",
        "| layer, five wordings, embedded judge | 150.4 s | 95.0 s | 405 ms of processor |",
    ]


def test_the_simulated_error_is_at_most_the_stated_one_for_every_agent_and_the_page_says_whom_it_saves_runs(page):
    agents = results("sequential_stopping")["agents"]
    assert len(agents) == 10
    for name, row in agents.items():
        assert row["sequential_wrong"] <= 0.1, name
        assert row["sequential05_wrong"] <= 0.05, name
    fewer_than_five = [name for name, row in agents.items() if row["sequential_runs"] < 5]
    fewer_than_adaptive = [name for name, row in agents.items() if row["sequential_runs"] < row["adaptive_runs"]]
    assert (fewer_than_five, fewer_than_adaptive) == (["1"], [])
    assert "takes fewer runs than five only for agents that always say the same" in " ".join(page.split())


def test_what_the_page_says_of_summaries_is_what_was_measured(page):
    domains = results("grounding")["domains"]
    rule = {
        (judge, name): domain[f"sentences_{judge}"]["no_sentence_contradicted"]
        for name, domain in domains.items()
        for judge in ("directed_nli", "action_judge")
    }
    assert all(rule[judge, "all"]["low"] > 0.5 for judge in ("directed_nli", "action_judge"))
    assert all(rule[judge, "all"]["low"] > domains["all"]["lexical_overlap"]["high"] for judge, _ in rule)
    told = {name for (judge, name), found in rule.items() if judge == "directed_nli" and found["low"] > 0.5}
    assert told == {"samsum", "sales_call", "all"}
    statuses = domains["all"]["statuses_directed_nli"]
    words = f"of {sum(statuses.values()):,} claims the directed NLI finds {statuses['not found']:,} nowhere"
    assert words in " ".join(page.split())


def test_what_the_page_says_of_false_sentences_about_tool_outputs_is_what_was_measured(page):
    found = results("grounding_tools")
    said = found["statuses"]["layer"]
    assert [said[kind]["supported"] for kind in ("swapped", "other run")] == [0, 0]
    made, supported = found["judged"]["true"], said["true"]["supported"]
    false = found["judged"]["swapped"] + found["judged"]["other run"]
    told = f"None of {false} false sentences was taken for supported; of {made} true ones {supported} were"
    ahead = found["balanced_accuracy"]["layer more than lexical overlap"]
    more = f"beats counting shared words by {ahead['value']:.3f} [{ahead['low']:.3f}, {ahead['high']:.3f}]"
    assert (ahead["low"] <= 0) is ("which chance alone could just make" in " ".join(page.split()))
    assert told in " ".join(page.split())
    assert more in " ".join(page.split())
