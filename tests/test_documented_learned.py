"""What docs/learned.md shows of the learned metric's benchmarks is what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
pytestmark = pytest.mark.skipif(not RESULTS.is_dir(), reason="the benchmarks travel with the repository only")


@pytest.fixture(scope="module")
def page():
    return (ROOT / "docs" / "learned.md").read_text(encoding="utf-8")


def results(name):
    return json.loads((RESULTS / f"learned_{name}.json").read_text(encoding="utf-8"))


def test_every_baseline_and_variant_measured_on_held_out_tasks_has_its_row(page):
    found = results("airline")
    for name, row in (found["baselines"] | found["learned"]).items():
        low, high = row["spearman_95"]
        failure = " / ".join(f"{row['failure_auc'][share]:.2f}" for share in ("25%", "50%", "75%"))
        assert f"| {name} | {row['spearman']:.2f} [{low:.2f}, {high:.2f}] | {row['mae']:.2f} | {failure} |" in page


def test_what_can_be_foretold_at_all_has_its_rows(page):
    found = results("limits")
    for name, row in found["runs_themselves"].items():
        low, high = row["spearman_95"]
        assert f"| {name} | {row['spearman']:.2f} [{low:.2f}, {high:.2f}] | {row['mae']:.2f} |" in page
    curve = found["by_training_tasks"]
    assert f"| tasks | {' | '.join(curve)} |" in page
    for name in next(iter(curve.values())):
        assert f"| {name} | {' | '.join(format(row[name]['spearman'], '.2f') for row in curve.values())} |" in page


def test_every_setting_compared_with_the_exact_value_has_its_row(page):
    for name, row in results("oracle")["settings"].items():
        assert f"| {name} | {row['seeds']} | {row['mae']:.2f} | {row['spearman']:.2f} | {row['bias']:+.2f} |" in page


def test_the_guarantee_held_as_often_as_it_says(page):
    worst = results("coverage")["worst"]
    assert worst["held_minus_confidence_lowest"] >= 0
    assert worst["on_average_true_risk_minus_claim_highest"] <= 0
    assert f"{worst['margin_held_lowest']:.1%}".replace("%", " %") in page


def test_the_speeds_are_those_measured_and_the_bars_are_met_or_said_not_to_be(page):
    found = results("speed")
    assert f"costs {found['new_turn']['processor_ratio']:.2f} times as much" in page
    assert found["new_turn"]["processor_ratio"] <= found["bar"]["ratio"]
    whole = found["end_to_end"]
    for name, key in (
        ("turns a processor second", "turns_a_processor_second"),
        ("the encoder's matrices, 10⁹ operations a turn", "billion_operations_a_turn"),
        ("the encoder, 10⁹ operations a processor second", "encoder_billion_operations_a_processor_second"),
        ("40 turns a second would need", "billion_operations_a_second_for_40_turns"),
    ):
        assert f"| {name} | {whole[key]} |" in page
    missed = 2 * whole["turns_a_processor_second"] < found["bar"]["turns_a_second"]
    assert missed == ("The bar of 40 turns a second is out of reach here" in page)
    assert f"took {found['fitting']['processor_seconds']:.0f} processor seconds" in page


def test_the_bars_against_the_exact_value_are_met_as_it_says(page):
    found = results("oracle")
    first, bar = found["settings"]["beta 1/(1-gamma)"], found["bar"]
    met = (
        first["mae"] <= bar["mae"]
        and first["spearman"] >= bar["spearman"]
        and found["deterministic_largest"] < bar["deterministic_largest"]
    )
    assert met == ("All three bars are met" in page)
    assert f"deterministic agents was {found['deterministic_largest']:.4f}" in page
