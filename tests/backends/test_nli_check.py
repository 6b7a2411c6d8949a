from __future__ import annotations

import numpy as np
import pytest

from likewise.backends.nli_check import CANNED_PAIRS, NEEDED, check_answers, label_order
from likewise.core.errors import BackendError
from likewise.core.labels import Entailment

TRUTH = [int(truth) for _, _, truth in CANNED_PAIRS]


def answering(classes):
    return lambda pairs: np.eye(3, dtype=np.float32)[classes]


def test_there_are_two_pairs_of_each_class():
    assert sorted(TRUTH) == [0, 0, 1, 1, 2, 2]


def test_all_right_and_one_slip_pass():
    check_answers("m", answering(TRUTH))
    check_answers("m", answering([1, *TRUTH[1:]]))


@pytest.mark.parametrize("constant", [0, 1, 2])
def test_a_constant_answer_fails(constant):
    with pytest.raises(BackendError, match="2 of 6 canned pairs right"):
        check_answers("m", answering([constant] * 6))


@pytest.mark.parametrize("order", [(1, 0, 2), (2, 1, 0), (0, 2, 1), (1, 2, 0), (2, 0, 1)])
def test_a_perfect_model_with_its_classes_in_any_other_order_fails(order):
    with pytest.raises(BackendError, match="fails the self-test"):
        check_answers("m", answering([order[truth] for truth in TRUTH]))


def test_two_slips_fail_and_are_shown_beside_what_was_right():
    with pytest.raises(BackendError) as caught:
        check_answers("hf:m", answering([1, 1, *TRUTH[2:]]))
    message = str(caught.value)
    assert message.startswith(f"hf:m fails the self-test: 4 of 6 canned pairs right, {NEEDED} needed. ")
    assert "'A man is playing an instrument.': neutral (1.00), should be entailment" in message
    assert "'The refund has not been approved.': contradiction (1.00), right" in message


def test_answers_that_are_no_numbers_are_wrong():
    with pytest.raises(BackendError, match=r"0 of 6 .*no number, should be entailment"):
        check_answers("m", lambda pairs: np.full((6, 3), np.nan, dtype=np.float32))


def test_the_order_of_classes_is_that_of_their_names():
    order = label_order({"0": "contradiction", "1": "entailment", "2": "neutral"}, "c")
    assert order == (1, 2, 0)
    assert label_order({0: "ENTAILMENT", 1: " neutral ", 2: "Contradiction"}, "c") == (0, 1, 2)
    assert [Entailment.ENTAILS, Entailment.NEUTRAL, Entailment.CONTRADICTS] == [0, 1, 2]


@pytest.mark.parametrize(
    "names",
    [None, [], "entailment", {}, {"0": "entailment"}, {"1": "entailment", "2": "neutral", "3": "contradiction"}],
)
def test_what_maps_nothing_is_refused_with_what_it_is(names):
    with pytest.raises(BackendError, match="folder/config: id2label is"):
        label_order(names, "folder/config")
