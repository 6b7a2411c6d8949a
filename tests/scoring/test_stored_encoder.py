import numpy as np
import pytest

from likewise.backends.label_store import LabelStore
from likewise.scoring.stored_encoder import StoredEncoder


class Counting:
    """Gives each text the vector (length, 1), and notes what it was asked."""

    encoder_id = "counting"

    def __init__(self):
        self.asked = []

    def encode(self, texts):
        self.asked.append(list(texts))
        return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)


@pytest.fixture
def store(tmp_path):
    with LabelStore(tmp_path / "labels.sqlite") as opened:
        yield opened


def test_a_text_is_encoded_once_however_often_it_is_asked_for(store):
    counting = Counting()
    encoder = StoredEncoder(counting, store)
    assert encoder.encode(["a", "bb", "a"]).tolist() == [[1, 1], [2, 1], [1, 1]]
    assert encoder.encode(["ccc", "bb"]).tolist() == [[3, 1], [2, 1]]
    assert counting.asked == [["a", "bb"], ["ccc"]]


def test_another_process_need_not_encode_what_one_has(store):
    StoredEncoder(Counting(), store).encode(["a", "bb"])
    later = Counting()
    assert StoredEncoder(later, store).encode(["bb", "a"]).tolist() == [[2, 1], [1, 1]]
    assert later.asked == []


def test_vectors_are_those_of_the_encoder_in_type_and_bits(store):
    alone = Counting().encode(["a", "bb"])
    for _ in range(2):  # made, then known
        stored = StoredEncoder(Counting(), store).encode(["a", "bb"])
        assert stored.dtype == alone.dtype
        assert stored.tobytes() == alone.tobytes()


def test_without_a_store_it_is_the_encoder():
    counting = Counting()
    encoder = StoredEncoder(counting)
    assert encoder.encoder_id == "counting"
    assert encoder.encode(["a", "a"]).tolist() == [[1, 1], [1, 1]]
    assert counting.asked == [["a", "a"]]
