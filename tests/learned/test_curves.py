from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from judges import LetterEncoder
from learned.samples import checkpoint, run_of
from likewise.core.rollout import Rollout, StopReason
from likewise.learned.curves import score_runs
from likewise.learned.model import RSDModel


class Steps(RSDModel):
    """Scores by the turn: 0, 0, 3, 3, 1 ..."""

    def values(self, states):
        return np.array([[0.0, 0.0, 3.0, 3.0, 1.0][: len(states)]])


RUN = run_of(*[(f"a{k}", f"b{k}") for k in range(5)])
CALIBRATION = {
    "delta": 1.0, "at_most": 0.1, "confidence": 0.95, "tasks": 60, "threshold": 0.5, "reason": None, "limit": 0.1,
    "let_through": 0.5, "margin": None, "knots": [0.0], "corrected": [1.0],
}  # fmt: skip


def test_jumps_are_rises_of_the_size_asked_for_and_the_alarm_is_the_first_turn_above_the_threshold():
    curves = score_runs(Steps(checkpoint(calibration=CALIBRATION), LetterEncoder()), [RUN], jump=0.5)
    (run,) = curves.runs
    assert run.jumps == (2,)
    assert run.alarm == 2
    assert score_runs(Steps(checkpoint(), LetterEncoder()), [RUN], jump=0.7).runs[0].jumps == ()


def test_runs_that_cannot_be_scored_are_counted():
    invalid = replace(RUN, run_id="1", stop=StopReason.INVALID, problem="crashed")
    curves = score_runs(Steps(checkpoint(), LetterEncoder()), [RUN, invalid, Rollout("t", "2", ())])
    assert len(curves.runs) == 1
    assert curves.excluded == 2
    assert curves.states == 5
    assert curves.claim == "no claim: the model was not calibrated"


def test_json_has_a_score_for_each_turn():
    whole = score_runs(Steps(checkpoint(), LetterEncoder()), [RUN]).as_json()
    assert [turn["value"] for turn in whole["runs"][0]["turns"]] == [0, 0, 3, 3, 1]
    json.dumps(whole, allow_nan=False)
