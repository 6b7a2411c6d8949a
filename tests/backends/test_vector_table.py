import sqlite3
import struct

import numpy as np
import pytest

from likewise.backends.label_store import LabelStore
from likewise.backends.vector_table import VectorTable
from likewise.core.errors import BackendError
from likewise.core.labels import Judgement, Relation

ONE = np.array([0.1, -0.25, 1e-30], dtype=np.float32)
OTHER = np.array([1.0, 0.0, -0.0], dtype=np.float32)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "labels.sqlite"


def test_a_vector_comes_back_to_the_last_bit_after_reopening(path):
    with LabelStore(path) as store:
        VectorTable(store).put_many("encoder", {"a": ONE, "b\ud800": OTHER})
    with LabelStore(path) as store:
        found = VectorTable(store).get_many("encoder", ["b\ud800", "never seen", "a"])
    assert {text: vector.tobytes() for text, vector in found.items()} == {
        "a": struct.pack("<3f", 0.1, -0.25, 1e-30),
        "b\ud800": struct.pack("<3f", 1.0, 0.0, -0.0),
    }
    assert found["a"].dtype == np.float32


def test_the_first_vector_of_a_text_stays():
    with LabelStore(None) as store:
        table = VectorTable(store)
        table.put_many("encoder", {"a": ONE})
        table.put_many("encoder", {"a": OTHER})
        assert np.array_equal(table.get_many("encoder", ["a"])["a"], ONE)


def test_encoders_do_not_see_each_others_vectors():
    with LabelStore(None) as store:
        table = VectorTable(store)
        table.put_many("one", {"a": ONE})
        table.put_many("on", {"ea": OTHER})
        assert table.get_many("two", ["a"]) == {}
        assert np.array_equal(table.get_many("one", ["a"])["a"], ONE)


def test_a_file_without_the_table_knows_nothing_and_stays_as_it_is(path):
    with LabelStore(path) as store:
        assert VectorTable(store).get_many("encoder", ["a"]) == {}
        VectorTable(store).put_many("encoder", {})
    with sqlite3.connect(path) as connection:
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    connection.close()
    assert "vectors" not in names


def test_judgements_and_vectors_share_a_file(path):
    same = Judgement.certain(Relation.EQUIVALENT, "identical")
    with LabelStore(path) as store:
        store.put_many("judge", [(("a", "b"), same)])
        VectorTable(store).put_many("encoder", {"a": ONE})
    with LabelStore(path) as store:
        assert store.get_many("judge", [("a", "b")]) == {("a", "b"): same}
        assert [*VectorTable(store).get_many("encoder", ["a"])] == ["a"]


def test_no_text_reaches_the_file(path):
    with LabelStore(path) as store:
        VectorTable(store).put_many("encoder", {"my card number is 4111": ONE})
    written = b"".join(each.read_bytes() for each in path.parent.iterdir())
    assert b"card" not in written
    assert b"4111" not in written


def test_thousands_of_texts_are_looked_up_at_once():
    texts = [str(i) for i in range(2000)]
    with LabelStore(None) as store:
        table = VectorTable(store)
        table.put_many("encoder", {text: np.array([float(text)], dtype=np.float32) for text in texts})
        found = table.get_many("encoder", texts)
    assert [float(found[text][0]) for text in texts] == [float(i) for i in range(2000)]


def test_a_number_that_is_none_is_refused_and_nothing_is_kept():
    with LabelStore(None) as store:
        table = VectorTable(store)
        with pytest.raises(ValueError, match="finite"):
            table.put_many("encoder", {"a": ONE, "b": np.array([np.nan], dtype=np.float32)})
        assert table.get_many("encoder", ["a"]) == {}


def test_a_closed_or_broken_file_is_a_plain_error(path):
    store = LabelStore(path)
    store.close()
    with pytest.raises(BackendError, match=r"labels\.sqlite"):
        VectorTable(store).get_many("encoder", ["a"])
