"""The embedded network, with the shipped weights: what must hold whatever its opinions are."""

import json
import shutil

import numpy as np
import pytest

from likewise.backends.onnx_nli import OnnxNli, embedded_nli
from likewise.core.errors import BackendError
from likewise.core.labels import Relation

pytestmark = pytest.mark.model

PAIRS = [
    ("Your flight is booked.", "Your flight has been booked."),
    ("Your flight is booked.", "I could not book your flight."),
    ("The refund is $120.", "Which seat would you like?"),
    ("A man is playing a guitar on stage.", "A man is performing music."),
]


@pytest.fixture(scope="module")
def judge():
    return embedded_nli()


@pytest.fixture
def copied_judge(tmp_path, judge):
    shutil.copytree(judge._folder, tmp_path / "nli")
    return tmp_path / "nli"


def test_probabilities_are_probabilities_in_both_directions(judge):
    for judgement in judge.judge(PAIRS):
        for direction in (judgement.forward, judgement.backward):
            assert sum(direction) == pytest.approx(1.0, abs=1e-5)
            assert min(direction) >= 0


def test_the_answer_for_a_pair_does_not_depend_on_the_pairs_beside_it(judge):
    together = list(judge.judge(PAIRS))
    alone = [next(embedded_nli().judge([pair])) for pair in PAIRS]
    assert together == alone  # bit for bit: this is also the fast path against the slow one
    assert list(judge.judge(PAIRS[::-1])) == together[::-1]


def test_one_pass_answers_both_directions(judge):
    flipped = [(b, a) for a, b in PAIRS]
    for one, other in zip(judge.judge(PAIRS), judge.judge(flipped), strict=True):
        assert one.forward == pytest.approx(other.backward, abs=1e-3)
        assert one.backward == pytest.approx(other.forward, abs=1e-3)


def test_each_text_is_read_once_however_many_pairs_it_is_in(judge, monkeypatch):
    fresh, read = embedded_nli(), []
    original = fresh._read_one
    monkeypatch.setattr(fresh, "_read_one", lambda ids: read.append(ids) or original(ids))
    texts = ["Yes.", "No.", "Perhaps.", "Which one?"]
    list(fresh.judge([(a, b) for a in texts for b in texts if a < b]))
    assert len(read) == 4


def test_forgetting_read_texts_changes_no_answer(judge, monkeypatch):
    monkeypatch.setattr("likewise.backends.onnx_nli.STATE_BYTES", 0)
    monkeypatch.setattr("likewise.backends.onnx_nli.CHUNK", 1)
    assert list(embedded_nli().judge(PAIRS)) == list(judge.judge(PAIRS))


def test_the_label_order_comes_from_the_config(judge, copied_judge):
    config = json.loads((copied_judge / "config.json").read_text())
    order = ["contradiction", "entailment", "neutral"]
    (copied_judge / "config.json").write_text(json.dumps({**config, "labels": order}))
    here, there = next(judge.judge(PAIRS[:1])), next(OnnxNli(copied_judge).judge(PAIRS[:1]))
    by_name = dict(zip(order, here.forward, strict=True))  # the same outputs under other names
    assert there.forward == (by_name["entailment"], by_name["neutral"], by_name["contradiction"])


@pytest.mark.parametrize(
    ("file", "content"),
    [("config.json", "{"), ("config.json", '{"labels": ["yes", "no"], "window": 256}'), ("tokenizer.json", "{")],
)
def test_a_broken_folder_is_refused_and_names_the_file(copied_judge, file, content):
    (copied_judge / file).write_text(content)
    with pytest.raises(BackendError, match=file):
        OnnxNli(copied_judge)


def test_a_broken_graph_is_refused_when_it_is_needed(copied_judge):
    (copied_judge / "read.onnx").write_text("no graph")
    with pytest.raises(BackendError, match=r"read\.onnx"):
        next(OnnxNli(copied_judge).judge(PAIRS))


def test_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(BackendError, match=r"config\.json"):
        OnnxNli(tmp_path / "nowhere")


def test_other_weights_or_settings_have_another_id(judge, copied_judge):
    config = json.loads((copied_judge / "config.json").read_text())
    (copied_judge / "config.json").write_text(json.dumps({**config, "window": 64}))
    assert OnnxNli(copied_judge).judge_id != judge.judge_id


@pytest.mark.parametrize(
    "text",
    ["", " ", "😀😀😀", "مرحبا بالعالم", "<b>bold</b>", "def f(x): return x", "a" * 3000, "Yes. " * 400],
    ids=["empty", "space", "emoji", "right-to-left", "html", "code", "one long word", "many sentences"],
)
def test_odd_texts_get_a_relation(judge, text):
    judgement = next(judge.judge([(text, "Your flight is booked.")]))
    assert judgement.relation in set(Relation)
    assert np.isfinite([*judgement.forward, *judgement.backward]).all()


def test_a_text_beyond_the_window_is_judged_by_its_sentences(judge):
    long = " ".join(f"Item {i} of the order was shipped on time." for i in range(60))
    assert len(judge._ids(long)) > judge._window
    assert next(judge.judge([(long, long + " ")])).relation is Relation.EQUIVALENT
