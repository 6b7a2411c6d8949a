"""MCP annotations that a log carries reach the rules on every road that judges rollouts."""

from __future__ import annotations

from judges import LetterEncoder, TableJudge
from likewise import evaluate, group_rollouts, label_pairs
from likewise.backends.tool_rules import ToolClass, ToolRules
from likewise.core.labels import Relation
from likewise.core.rollout import Action, Rollout, ToolCall, Turn
from likewise.core.tool_hints import META_KEY

HINTS = {"run": {"readOnlyHint": True}}


def runs(meta):
    turns = [(Turn((), Action(tool_calls=(ToolCall("run", {"v": v}),))),) for v in (1, 2)]
    return [Rollout("t", str(i), each, meta=meta) for i, each in enumerate(turns)]


def rule(rollouts, rules=None):
    evaluation = evaluate(rollouts, judge=TableJudge(), encoder=LetterEncoder(), rules=rules)
    return next(iter(evaluation.judge_use.by_rule)), evaluation.signature.rules


def test_evaluate_and_label_pairs_take_the_annotations_of_the_log():
    assert rule(runs({})) == ("tool:same-object-write", ToolRules().rules_id)
    assert rule(runs({META_KEY: HINTS})) == ("tool:other-look-up", ToolRules(hints=HINTS).rules_id)
    for meta, relation in (({}, Relation.CONTRADICTORY), ({META_KEY: HINTS}, Relation.NEUTRAL)):
        (group,) = group_rollouts(runs(meta))
        assert label_pairs(group, judge=TableJudge()).relation.tolist() == [[relation]]


def test_a_pin_goes_before_what_the_log_says():
    pinned = ToolRules(tool_classes={"run": ToolClass.CHANGES})
    assert rule(runs({META_KEY: HINTS}), pinned)[0] == "tool:same-object-write"
