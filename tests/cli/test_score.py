from __future__ import annotations

import json

import pytest

from judges import LetterEncoder
from learned.samples import checkpoint, facts
from likewise.backends.onnx_encoder import embedded_encoder
from likewise.core.rollout import Observation
from likewise.learned.checkpoint import Checkpoint, write_checkpoint
from likewise.learned.forward import forward, self_distance
from likewise.learned.model import RSDModel
from likewise.learned.network import start_weights
from likewise.learned.state_encoding import state_width

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
    """A model over the embedded encoder with the weights that training starts with."""
    encoder, width = embedded_encoder(), state_width(384)
    whole = facts(encoder=encoder.encoder_id, dimensions=384, width=width, demo="weights never trained")
    folder = tmp_path_factory.mktemp("models") / "model"
    weights = start_weights(width, 1, 0)
    weights["third.weight"] *= 0.3  # scores within the range
    write_checkpoint(Checkpoint(whole, weights, weights["first.weight"][:1]), folder)
    return folder


def test_each_turn_of_each_run_has_a_score_in_json_and_a_point_in_html(likewise, runs_file, model_folder, tmp_path):
    runs = runs_file({"t": {"0": ["I will book it.", "Booked."], "1": ["I refuse."]}})
    answer = likewise("score", "--model", model_folder, runs, "--json", "s.json", "--html", "s.html")
    assert answer.returncode == 0, answer.stderr
    assert "a demonstration model: weights never trained" in answer.stderr
    assert "unlike those of the training" in answer.stdout
    whole = json.loads((tmp_path / "s.json").read_text())
    assert [len(run["turns"]) for run in whole["runs"]] == [2, 1]
    first = whole["runs"][0]["turns"][0]
    learned = RSDModel.load(model_folder)
    live = learned.start()
    live.observe([Observation("user", "And?")])
    expected = self_distance(forward(learned.weights, live.vector[None]), 0.5)[0, 0]
    assert expected < 5
    assert first["value"] == pytest.approx(expected, abs=1e-5)
    assert not first["familiar"]
    assert (tmp_path / "s.html").read_text().count("<circle") == 3


def test_a_score_above_the_limit_fails_the_command(likewise, runs_file, model_folder):
    runs = runs_file({"t": {"0": ["a"]}})
    assert likewise("score", "--model", model_folder, runs, "--fail-above", "-1", "-q").returncode == 1
    assert likewise("score", "--model", model_folder, runs, "--fail-above", "5", "-q").returncode == 0


def test_a_folder_that_is_no_model_and_runs_that_are_none_are_said_plainly(likewise, runs_file, model_folder, tmp_path):
    runs = runs_file({"t": {"0": ["a"]}})
    answer = likewise("score", "--model", tmp_path, runs)
    assert answer.returncode == 3
    assert "expected a model folder with model.json in it, found no such file" in answer.stderr
    assert "Traceback" not in answer.stderr
    assert likewise("score", "--model", model_folder, tmp_path / "none.json").returncode == 3
    assert likewise("score", "--model", model_folder, runs, "--encoder", "word2vec").returncode == 2


def test_a_model_of_another_encoder_is_refused_by_name(likewise, runs_file, tmp_path):
    write_checkpoint(checkpoint(encoder=LetterEncoder.encoder_id), tmp_path / "m")
    answer = likewise("score", "--model", tmp_path / "m", runs_file({"t": {"0": ["a"]}}))
    assert answer.returncode == 3
    assert "at encoder: expected all-MiniLM" in answer.stderr
