"""An empty completion is no answer, in whatever log it stands, and two of them are no agreement."""

from __future__ import annotations

import json

import pytest

from formats.seeds import SEEDS, UQLM
from judges import NeverJudge
from likewise.core.rollout import StopReason
from likewise.evaluation.evaluate import evaluate
from likewise.formats import read_rollouts

ANSWERS = ("It is c\\u00f6ld.", "It is cold.", "cold, wet", "warm", "cold")
CHATS = ("tau-bench", "tau2", "inspect", "otel", "promptfoo", "openai-responses", "anthropic-messages", "openai-chat")
BLANK = [(name, seed.name, seed.data) for name in CHATS for seed in SEEDS[name] if seed.name != "i.eval"]
BLANK += [("table", seed.name, seed.data) for seed in SEEDS["table"] if not seed.name.endswith("parquet")]
BLANK += [("uqlm", "u.json", json.dumps(UQLM).encode())]


def silenced(data):
    """The same file with every final answer empty; what tools returned ("cold" in Oslo) goes with them."""
    for answer in ANSWERS:
        data = data.replace(answer.encode(), b"")
    return data


@pytest.mark.parametrize(("name", "file", "data"), BLANK, ids=[f"{name}-{file}" for name, file, _ in BLANK])
def test_runs_that_end_in_an_empty_answer_gave_none_and_do_not_agree(name, file, data, tmp_path):
    path = tmp_path / file
    path.write_bytes(silenced(data))
    found = read_rollouts(path, format=name)
    assert len(found), found.excluded
    assert all(each.answer is None or not each.valid for each in found), [each.answer for each in found]
    for score in evaluate(found, judge=NeverJudge(), pool=True).tasks:
        assert score.total_variance.value is score.agreement.value is None
        assert (
            score.rsd.value is None
            or score.rsd_band is not None
            or all(run.actions[-1].tool_calls for run in score.valid)
        )


@pytest.mark.parametrize(
    ("keys", "stop", "said"),
    [
        ({"finish_reason": "stop"}, StopReason.INVALID, "no text and no tool call of the agent is recorded"),
        ({"finish_reason": "length"}, StopReason.INVALID, "no text and no tool call of the agent is recorded"),
        ({"finish_reason": "error"}, StopReason.INVALID, "no text and no tool call of the agent is recorded"),
        ({"finish_reason": "error", "text": "Hal"}, StopReason.INVALID, "infra_error: finish_reason error"),
        ({"finish_reason": "length", "text": "Hal"}, StopReason.CUT, None),
        ({"finish_reason": "content_filter", "text": "Hal"}, StopReason.CUT, None),
    ],
)
def test_how_a_completion_ended_decides_what_its_text_is_worth(keys, stop, said, tmp_path):
    text = keys.pop("text", "")
    messages = [{"role": "user", "content": "Q"}, {"role": "assistant", "content": text}]
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps({"task_id": "t", "messages": messages, **keys}), encoding="utf-8")
    (found,) = read_rollouts(path)
    assert (found.stop, found.problem) == (stop, said)
