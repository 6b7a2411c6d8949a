from __future__ import annotations

import pickle

import numpy as np
import pytest

from judges import LetterEncoder, TableJudge
from learned.samples import checkpoint
from likewise.learned.model import RSDModel
from likewise.training.portable import JudgeSource, ModelSource
from training.batches import model


def test_a_judge_by_name_travels_as_its_name():
    source = JudgeSource("embedded")
    assert source.judge is source.judge
    again = pickle.loads(pickle.dumps(source))
    assert len(pickle.dumps(source)) < 300
    assert again.judge.judge_id == source.judge.judge_id


def test_a_judge_that_is_there_is_used_as_it_is():
    judge = TableJudge()
    assert JudgeSource(judge).judge is judge


@pytest.mark.parametrize("name", ["nobody", "", "hf:", "llm:", "embedded:x", "cascade:", "cascade:nobody", "x:y"])
def test_a_name_that_no_judge_has_is_refused_before_anything_is_trained(name, monkeypatch):
    monkeypatch.delenv("LIKEWISE_LLM", raising=False)
    with pytest.raises(ValueError, match=f"no judge '{name}'; there are embedded, hf:FOLDER"):
        JudgeSource(name)


@pytest.mark.parametrize("name", ["embedded", " embedded ", "hf:folder", "llm:gpt-4.1", "cascade:llm:a:b"])
def test_a_judge_that_there_may_be_is_loaded_on_use_and_not_before(name):
    assert JudgeSource(name)._judge is None


def test_a_folder_travels_as_its_path_and_is_read_where_it_arrives(tmp_path):
    model().save(tmp_path)
    source = ModelSource(tmp_path, LetterEncoder())
    again = pickle.loads(pickle.dumps(source))
    assert len(pickle.dumps(source)) < 1_000
    assert np.array_equal(again.model.weights["first.weight"], source.model.weights["first.weight"])


def test_a_model_travels_with_its_weights_and_encoder():
    source = ModelSource(model())
    again = pickle.loads(pickle.dumps(source)).model
    assert again.facts == source.model.facts
    assert again.states.encoder.encoder_id == "letters"
    states = np.random.default_rng(0).normal(size=(3, again.facts["width"])).astype(np.float32)
    assert np.array_equal(again.values(states), source.model.values(states))


@pytest.mark.model
def test_the_embedded_encoder_travels_though_its_session_cannot():
    from likewise.backends.onnx_encoder import embedded_encoder
    from likewise.learned.state_encoding import state_width

    encoder = embedded_encoder()
    dimensions = encoder.encode(["warm"]).shape[1]
    facts = {"encoder": encoder.encoder_id, "dimensions": dimensions, "width": state_width(dimensions)}
    source = ModelSource(RSDModel(checkpoint(**facts), encoder))
    again = pickle.loads(pickle.dumps(source)).model
    assert np.array_equal(again.states.encoder.encode(["warm"]), encoder.encode(["warm"]))


def test_a_model_brings_its_own_encoder():
    with pytest.raises(ValueError, match="brings its own encoder"):
        ModelSource(model(), LetterEncoder())
