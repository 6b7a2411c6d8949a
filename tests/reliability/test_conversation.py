from __future__ import annotations

import json

from judges import LetterEncoder, TableJudge
from likewise.core.labels import Relation
from likewise.core.rollout import StopReason
from likewise.evaluation.evaluate import evaluate
from likewise.formats.native import write_rollouts
from likewise.formats.registry import read_rollouts
from likewise.reliability.agents import current_run
from likewise.reliability.conversation import converse
from likewise.reliability.handling import Handling
from likewise.reliability.layer import ReliabilityLayer

LAYER = ReliabilityLayer(3, judge=TableJudge(), encoder=LetterEncoder())


def refund_agent(messages):
    """Looks the order up in the first turn; in the second, one run of three refunds another order."""
    if len(messages) == 1:
        return {"content": "", "tool_calls": [{"function": {"name": "get_order", "arguments": {"order_id": "#1"}}}]}
    order = "#2" if current_run().index == 2 else "#1"
    return {"content": "", "tool_calls": [{"function": {"name": "refund_order", "arguments": {"order_id": order}}}]}


def environment(calls):
    def step(messages):
        calls.append(json.dumps(messages[-1]["tool_calls"][0]["function"]))
        return [{"role": "tool", "name": "get_order", "content": "paid"}] if len(calls) == 1 else None

    return step


def test_every_turn_is_sampled_from_one_history_and_the_environment_moves_once_a_turn():
    calls = []
    held = converse(LAYER.wrap(refund_agent), "Refund #1, please", environment(calls))
    assert [json.loads(call)["name"] for call in calls] == ["get_order", "refund_order"]
    assert held.ended == "the environment ended it"
    assert held.divergence[0].value == 0.0
    assert held.divergence[1].value > 0  # two of three pairs differ
    assert held.verdicts[1].tool_calls[0].arguments == {"order_id": "#1"}
    assert [message["role"] for message in held.messages] == ["user", "assistant", "tool", "assistant"]


def test_the_recorded_conversation_is_a_group_that_report_reads(tmp_path):
    held = converse(LAYER.wrap(refund_agent), "Refund #1, please", environment([]))
    path = tmp_path / "held.jsonl"
    assert write_rollouts(path, held.rollouts("refund")) == 3
    read = list(read_rollouts(path))
    assert {turn.observations for r in read for turn in r.turns[1:]} == {read[0].turns[1].observations}
    scored = evaluate(read, judge=TableJudge(), store=None).tasks[0]
    assert scored.turns[0].mean_distance == 0.0
    assert scored.turns[1].mean_distance == held.divergence[1].value


def test_a_refused_action_is_not_taken():
    judge = TableJudge({("Yes, done.", "No, never."): Relation.CONTRADICTORY})
    layer = ReliabilityLayer(2, judge=judge, handling=Handling(critical="refuse"))
    asked = []
    held = converse(
        layer.wrap(lambda messages: ["Yes, done.", "No, never."][current_run().index]), "Refund?", asked.append
    )
    assert asked == []
    assert held.ended.startswith("refused: runs 0 and 1")
    assert held.messages[-1]["role"] == "user"


def test_a_sample_that_fails_in_a_turn_is_cut_there():
    def agent(messages):
        if len(messages) > 1 and current_run().index == 1:
            raise ValueError("no")
        return "Fine."

    held = converse(LAYER.wrap(agent), "Hello", lambda m: [{"role": "user", "content": "And?"}], turns=2)
    assert [(len(r.turns), r.stop) for r in held.rollouts("t")] == [
        (2, StopReason.FINISHED),
        (1, StopReason.CUT),
        (2, StopReason.FINISHED),
    ]
