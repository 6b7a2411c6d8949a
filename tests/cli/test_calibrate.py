from __future__ import annotations

import json

import pytest

from learned.samples import facts
from likewise.backends.judges import embedded_judge
from likewise.backends.onnx_encoder import embedded_encoder
from likewise.backends.tool_rules import ToolRules
from likewise.learned.checkpoint import Checkpoint, write_checkpoint
from likewise.learned.model import RSDModel
from likewise.learned.network import start_weights
from likewise.learned.state_encoding import state_width

pytestmark = pytest.mark.model


@pytest.fixture
def model_folder(tmp_path):
    width = state_width(384)
    whole = facts(
        encoder=embedded_encoder().encoder_id,
        dimensions=384,
        width=width,
        judge=embedded_judge().judge_id,
        rules=ToolRules().rules_id,
    )
    weights = start_weights(width, 1, 0)
    write_checkpoint(Checkpoint(whole, weights, weights["first.weight"][:1]), tmp_path / "model")
    return tmp_path / "model"


def test_a_claim_is_kept_in_the_model_and_one_that_cannot_be_is_refused_with_the_number(
    likewise, runs_file, model_folder
):
    runs = runs_file({f"t{k}": {"0": ["Yes."], "1": ["Yes."]} for k in range(6)})
    answer = likewise("calibrate", "--model", model_folder, runs, "--at-most", "0.05")
    assert answer.returncode == 1
    assert "59 are needed" in answer.stdout
    assert RSDModel.load(model_folder).calibration.threshold is None
    # Six flawless tasks support 1 - 0.05^(1/6) = 39.3 %.
    answer = likewise("calibrate", "--model", model_folder, runs, "--at-most", "0.4", "--json")
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    assert found["tasks"] == 6
    assert found["limit"] == pytest.approx(1 - 0.05 ** (1 / 6), abs=1e-3)
    assert RSDModel.load(model_folder).calibration.threshold == found["threshold"]


def test_shares_outside_their_range_are_refused(likewise, runs_file, model_folder):
    runs = runs_file({"t": {"0": ["a"], "1": ["a"]}})
    for option in (("--at-most", "1"), ("--confidence", "0.2"), ("--delta", "nan")):
        assert likewise("calibrate", "--model", model_folder, runs, *option).returncode == 2
