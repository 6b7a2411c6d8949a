from __future__ import annotations

import gzip
import json
from collections import Counter

import numpy as np
import pytest

from likewise.core.labels import Judgement, Relation
from likewise.report.label_lines import LabelSummary, label_line, spooled_lines
from likewise.scoring.label_stream import SettledPair, StreamCounts

THIRD = float(np.float32(1 / 3))
JUDGED = SettledPair(
    "aa", "bb", Judgement.from_nli((THIRD, 0.5, 0.25), (0.0, 1.0, 0.0)), {"task": "7", "runs": ["x", "y"], "turn": 0}
)


def test_a_line_holds_ids_relation_probabilities_rule_place_and_signature():
    record = json.loads(label_line(JUDGED, "made:so"))
    assert list(record) == ["a", "b", "relation", "forward", "backward", "rule", "place", "signature"]
    assert record["relation"] == "neutral"
    assert record["backward"] == [0.0, 1.0, 0.0]
    assert record["place"] == {"task": "7", "runs": ["x", "y"], "turn": 0}
    assert (record["a"], record["b"], record["rule"], record["signature"]) == ("aa", "bb", "nli", "made:so")


def test_single_precision_comes_back_exactly():
    assert np.float32(json.loads(label_line(JUDGED, ""))["forward"][0]) == np.float32(1 / 3)


def test_a_pair_without_a_label_has_a_reason_and_no_relation():
    record = json.loads(label_line(SettledPair("aa", "bb", "a dump \ud800", {}), "s"))
    assert record["relation"] is None
    assert record["reason"] == "a dump \ud800"
    assert "rule" not in record


@pytest.mark.parametrize("packed", [False, True])
def test_spooled_lines_are_what_the_file_will_hold_and_equal_lines_equal_bytes(tmp_path, packed):
    contents = []
    for _ in range(2):
        with spooled_lines(tmp_path, packed=packed) as lines:
            lines.write("one")
            lines.write("two")
            lines.close()
            lines.content.seek(0)
            contents.append(lines.content.read())
    assert contents[0] == contents[1]
    assert (gzip.decompress(contents[0]) if packed else contents[0]) == b"one\ntwo\n"


def test_a_spool_has_no_name_that_could_stay_behind(tmp_path):
    with spooled_lines(tmp_path, packed=False) as lines:
        lines.write("x" * 100_000)
        assert list(tmp_path.iterdir()) == []


def summary(**changes):
    counts = StreamCounts(5, 4, Counter(neutral=2, equivalent=1), Counter({"nli": 3}), Counter({"no": 1}))
    given = {
        "signature": "s",
        "counts": counts,
        "from_store": 1,
        "from_judge": 2,
        "by_class": 0,
        "excluded": 3,
        "warnings": ("w",),
        "notes": ("n",),
        "seconds": 2.0,
        "out": "o.jsonl",
    }
    return LabelSummary(**(given | changes))


def test_the_summary_as_json_has_every_count():
    assert summary().as_json() == {
        "schema": "likewise.label-summary/1",
        "signature": "s",
        "out": "o.jsonl",
        "pairs": 5,
        "distinct_pairs": 4,
        "relations": {"equivalent": 1, "neutral": 2, "contradictory": 0},
        "by_rule": {"nli": 3},
        "not_measured": {"no": 1},
        "judge_use": {"from_store": 1, "from_model": 2, "by_class": 0},
        "excluded_count": 3,
        "warnings": ["w"],
        "notes": ["n"],
        "seconds": 2.0,
        "pairs_per_second": 2.0,
    }


def test_no_time_no_pace():
    assert summary(seconds=0.0).as_json()["pairs_per_second"] is None


def test_relations_are_named_as_in_the_type():
    assert {relation.name.lower() for relation in Relation} == set(summary().as_json()["relations"])
