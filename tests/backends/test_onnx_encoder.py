"""The embedded encoder, with the shipped weights."""

import numpy as np
import pytest

from likewise.backends.onnx_encoder import OnnxEncoder, embedded_encoder
from likewise.core.errors import BackendError

pytestmark = pytest.mark.model

TEXTS = ["The flight leaves at noon.", "The plane departs at 12 pm.", "I like pizza.", "The flight leaves at noon."]


@pytest.fixture(scope="module")
def encoder():
    return embedded_encoder()


def test_vectors_have_unit_length_and_384_dimensions(encoder):
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (4, 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)


def test_a_paraphrase_is_nearer_than_another_subject(encoder):
    noon, paraphrase, pizza, _ = encoder.encode(TEXTS)
    assert noon @ paraphrase > noon @ pizza + 0.3


def test_the_vector_of_a_text_does_not_depend_on_the_texts_beside_it(encoder):
    together = encoder.encode(TEXTS)
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    assert np.array_equal(together, alone)


@pytest.mark.parametrize("text", ["", "😀", "word " * 3000])
def test_odd_texts_get_a_vector(encoder, text):
    assert np.isfinite(encoder.encode([text])).all()


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(BackendError, match=r"tokenizer\.json"):
        OnnxEncoder(tmp_path)


@pytest.mark.parametrize("broken", ["tokenizer.json", "encoder.onnx"])
def test_a_broken_file_is_named_when_a_text_comes(tmp_path, broken):
    shipped = embedded_encoder()._folder
    for name in ("tokenizer.json", "encoder.onnx"):
        (tmp_path / name).write_bytes(b"{}" if name == broken else (shipped / name).read_bytes())
    encoder = OnnxEncoder(tmp_path)
    with pytest.raises(BackendError, match=broken.replace(".", r"\.")):
        encoder.encode(["text"])


def test_the_id_names_the_model(encoder):
    assert encoder.encoder_id.startswith("all-MiniLM-L6-v2-")
