"""README and docs say of speed what the files under benchmarks/results say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
pytestmark = pytest.mark.skipif(not RESULTS.is_dir(), reason="the results travel with the repository only")


def results(name):
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def words(path):
    return " ".join((ROOT / path).read_text(encoding="utf-8").split())


def test_the_readmes_seconds_of_a_report():
    cold, warm = results("report_time")["cold"], results("report_time")["warm_median"]
    said = words("README.md")
    assert f"{cold['processor_seconds']:.0f} processor seconds with an empty label store" in said
    assert f"{warm['processor_seconds']:.1f} with a full one" in said
    assert f"peak memory {max(cold['peak_megabytes'], warm['peak_megabytes']):.0f} MB" in said


def test_the_readmes_comparison_with_one_pair_at_a_time():
    measured = results("label_throughput")
    pairs = measured["rollouts"].split(", ")[-1].split()[0]
    said = f"{measured['fewer rows']} times fewer rows through the model, {measured['times faster']} times faster"
    assert f"{said}, {measured['labels that differ']} of {pairs} labels differs" in words("README.md")


def test_what_is_said_of_a_million_pairs():
    stream = results("label_stream")["stream, hash judge"]
    said = words("docs/labelling.md")
    assert (stream["pairs"], stream["distinct"]) == (1_000_000, 300_000)
    peak = f"**{stream['peak_megabytes']} MB at its peak**"
    assert (
        f"{peak} and {stream['processor_seconds']} processor seconds: {stream['pairs_per_processor_second']:,}" in said
    )
    assert f"texts of {stream['mean_characters_of_a_text']} characters on average" in said


@pytest.mark.parametrize(
    ("way", "name"),
    [
        ("likewise", "likewise"),
        ("uqlm", "uqlm 0.6.7"),
        ("lm-polygraph style", "lm-polygraph style"),
        ("one pair at a time", "one pair at a time, one direction"),
    ],
)
def test_the_table_of_what_goes_through_the_model(way, name):
    _, case = results("judge_peers")["counted over all tasks"]
    row, ours = case[way], case["likewise"]
    share = "" if way == "likewise" else f"{row['token positions'] / ours['token positions']:.2f} "
    assert f"| {name} | {row['rows']:,} | {row['token positions']:,} | {share}|" in words("docs/judges.md")
