from __future__ import annotations

import numpy as np

from judges import TableJudge
from likewise.core.labels import Relation
from likewise.reliability.consensus import find_consensus
from likewise.reliability.layer import ReliabilityLayer
from likewise.reliability.verdict import Decision


def distances(*rows):
    return np.array(rows, dtype=np.float64)


def test_the_medoid_of_the_largest_class_speaks_for_it():
    # Class 0 = {0, 1, 2}; run 1 is in the middle (0.1 to both others), 0 and 2 are 0.4 apart.
    d = distances([0, 0.1, 0.4, 1], [0.1, 0, 0.1, 1], [0.4, 0.1, 0, 1], [1, 1, 1, 0])
    found = find_consensus((0, 0, 0, 1), d)
    assert (found.run, found.members, found.runs_agreed, found.majority, found.tie) == (
        1,
        (0, 1, 2),
        "3/4",
        True,
        False,
    )


def test_a_tie_is_told_and_no_majority():
    found = find_consensus((0, 1), distances([0, 1], [1, 0]))
    assert found.tie
    assert not found.majority
    assert found.run == 0


def test_runs_whose_pairs_could_not_be_judged_have_no_consensus_and_one_run_speaks_for_itself():
    assert find_consensus((-1, -1), np.full((2, 2), np.nan)).run is None
    assert find_consensus((-1,), np.full((1, 1), np.nan)).run == 0


def test_the_most_frequent_string_is_not_the_consensus():
    """Published: the mode of exact strings. "Lyon" occurs twice; Paris is meant three times, in three spellings."""
    paris = ["Paris.", "It is Paris.", "The capital is Paris."]
    judge = TableJudge({(a, b): Relation.EQUIVALENT for a in paris for b in paris if a != b})
    verdict = ReliabilityLayer(judge=judge).score(["Lyon.", paris[0], "Lyon.", paris[1], paris[2]])
    assert verdict.answer in paris
    assert verdict.runs_agreed == "3/5"


def test_the_tool_call_that_most_runs_make_is_served():
    def call(order, **more):
        return {
            "content": None,
            "tool_calls": [{"function": {"name": "cancel_order", "arguments": {"order_id": order} | more}}],
        }

    verdict = ReliabilityLayer(judge=TableJudge(), handling=None).score([call("#1"), call("#2"), call("#1")])
    assert [c.arguments for c in verdict.tool_calls] == [{"order_id": "#1"}]
    assert verdict.runs_agreed == "2/3"


def test_no_majority_is_flagged():
    verdict = ReliabilityLayer(judge=TableJudge()).score(["a b c", "d e f", "g h i"])
    assert verdict.decision is Decision.FLAG
    assert any("no majority: 1/3" in reason for reason in verdict.reasons)
