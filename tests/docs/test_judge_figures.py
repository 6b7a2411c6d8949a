"""README and model card say of the judge what benchmarks/results/judge_accuracy.json says, for the head that ships."""

import json
from pathlib import Path

import pytest

from likewise.backends.judges import embedded_judge

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "judge_accuracy.json"
CARD = ROOT / "src" / "likewise" / "models" / "nli" / "CARD.md"
pytestmark = pytest.mark.skipif(not RESULTS.is_file(), reason="the results travel with the repository only")


@pytest.fixture(scope="module")
def results():
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def interval(estimate):
    return f"{estimate['value']:.3f} [{estimate['low']:.3f}, {estimate['high']:.3f}]"


def words(path):
    return " ".join(path.read_text(encoding="utf-8").split())


def test_the_results_are_of_the_judge_that_ships(results):
    assert results["judge"].startswith(embedded_judge(1).judge_id)


@pytest.mark.parametrize("path", [ROOT / "README.md", CARD], ids=["README", "card"])
def test_what_is_said_of_held_out_pairs_with_calls(results, path):
    whole = results["gold dev, with calls"]["all kinds"]["embedded judge behind rules and slot guard, calls by rule"]
    assert f"{interval(whole['accuracy'])}, macro-F1 {interval(whole['macro_f1'])}" in words(path)


def test_the_cards_table_of_held_out_text_pairs(results):
    gold, variants = "gold dev, text-text, five folds by task", "written variants, domain by domain"
    for part, judge, name in (
        (gold, "boosting on surface features", "boosting on surface features"),
        (gold, "cosine, best thresholds", "cosine, thresholds chosen on the test pairs"),
        (gold, "embedded judge alone", "**as shipped**"),
        (variants, "embedded judge alone", "**as shipped**"),
        ("written variants, airline (unseen by the network too)", "embedded judge alone", "**as shipped**"),
    ):
        row = results[part][judge]
        bold = "**" if name.startswith("**") else ""
        figures = " | ".join(f"{bold}{row[figure]['value']:.3f}{bold}" for figure in ("accuracy", "macro_f1"))
        assert f"| {name} | {figures} |" in words(CARD)


def test_swaps_and_false_alarms(results):
    made = results["made pairs and paraphrases, domain by domain"]
    for row in (
        "swaps in otherwise the same words: found contradictory",
        "swaps in other words: found contradictory",
        "equivalent, reworded by a program: false alarms (called contradictory)",
        "equivalent, written variants: false alarms (called contradictory)",
    ):
        assert f"| {made[row]['judge alone']['value']:.3f} | {interval(made[row]['whole road'])} |" in words(CARD)
    for row in ("swaps in otherwise the same words: found contradictory", "swaps in other words: found contradictory"):
        assert f"{made[row]['whole road']['value']:.3f}" in words(ROOT / "README.md")
