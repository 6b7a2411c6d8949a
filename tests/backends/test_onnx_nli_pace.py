"""What makes the embedded judge fast must not change what it says."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.backends import onnx_nli
from likewise.backends.judges import embedded_judge
from likewise.backends.onnx_nli import _chunks, embedded_nli
from likewise.core.rollout import Action
from likewise.scoring.label import Labeller
from likewise.scoring.label_stream import SourcePair, label_stream
from likewise.scoring.stored_judge import StoredJudge

TEXTS = [
    "Your flight is booked.",
    "Your flight has been booked.",
    "I could not book your flight.",
    "Which seat would you like?",
    " ".join(f"Part {i} of the order was sent on time." for i in range(30)),  # beyond the window
]
PAIRS = [(a, b) for a in TEXTS for b in TEXTS if a < b]


@given(
    st.lists(st.tuples(st.text("ab", max_size=30), st.text("ab", max_size=30)), max_size=20),
    st.integers(1, 6),
    st.integers(1, 80),
)
def test_chunks_are_the_pairs_in_order_within_both_limits(pairs, most, characters):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onnx_nli, "CHUNK_CHARACTERS", characters)
        chunks = list(_chunks(pairs, most))
    assert [pair for chunk in chunks for pair in chunk] == pairs
    for chunk in chunks:
        assert 1 <= len(chunk) <= most
        assert len(chunk) == 1 or sum(map(len, {text for pair in chunk for text in pair})) <= characters
    for chunk, following in pairwise(chunks):  # no chunk ends before it must
        longer = [*chunk, following[0]]
        assert len(longer) > most or sum(map(len, {text for pair in longer for text in pair})) > characters


@pytest.fixture(scope="module")
def expected():
    return list(embedded_nli().compare(PAIRS))


@pytest.mark.model
@pytest.mark.parametrize(("chunk", "characters", "workers"), [(1, 10**6, 1), (2, 60, 3)])
def test_no_answer_depends_on_chunks_or_cores(monkeypatch, expected, chunk, characters, workers):
    monkeypatch.setattr(onnx_nli, "CHUNK", chunk)
    monkeypatch.setattr(onnx_nli, "CHUNK_CHARACTERS", characters)
    assert list(embedded_nli(workers).compare(PAIRS)) == expected


@pytest.mark.model
def test_each_text_is_tokenised_once_over_all_chunks(monkeypatch):
    monkeypatch.setattr(onnx_nli, "CHUNK", 2)
    judge, tokenised = embedded_nli(1), []
    original = judge._ids
    monkeypatch.setattr(judge, "_ids", lambda text: tokenised.append(text) or original(text))
    pairs = [pair for pair in PAIRS if max(map(len, pair)) < 500]
    list(judge.judge(pairs))
    assert sorted(tokenised) == sorted({text for pair in pairs for text in pair})


@pytest.mark.model
def test_a_network_that_was_stopped_in_the_middle_goes_on(expected):
    network = embedded_nli(1)
    answers = network.compare(PAIRS)
    assert next(answers) == expected[0]
    answers.close()
    assert list(network.compare(PAIRS[:3])) == expected[:3]


@pytest.mark.model
def test_a_stream_one_pair_at_a_time_and_all_at_once_give_the_same_labels():
    pairs = [SourcePair(Action(a), Action(b)) for a, b in PAIRS]
    first, second = embedded_judge(1), embedded_judge()
    together = [settled.outcome for settled in label_stream(pairs, Labeller(StoredJudge(second)))]
    few = [settled.outcome for settled in label_stream(pairs, Labeller(StoredJudge(first)), chunk=4)]
    alone = [Labeller(StoredJudge(first)).settle([(p.first, p.second)]).of(p.first, p.second) for p in pairs]
    assert together == few == alone
