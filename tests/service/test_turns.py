"""Long judging beside short: the lock is free in between, and no answer is mixed up."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from judges import FailingJudge, LetterEncoder, TableJudge
from likewise.backends.judge_each import judge_each
from likewise.core.errors import LabelError
from likewise.core.labels import Judgement, Relation
from likewise.reliability.wrapped import SCORING
from likewise.service.turns import PAIRS, TEXTS, OutOfTimeError, TurnTakingEncoder, TurnTakingJudge

COUNT = 3 * PAIRS + 5
ALL = [(f"a{i}", f"b{i}") for i in range(COUNT)]
TABLE = {pair: list(Relation)[i % 3] for i, pair in enumerate(ALL)}


def test_the_answers_are_those_of_the_judge_itself():
    judge = TableJudge(TABLE)
    assert list(TurnTakingJudge(judge).judge(ALL)) == list(TableJudge(TABLE).judge(ALL))
    assert set(judge.calls.values()) == {1}
    assert TurnTakingJudge(judge).judge_id == judge.judge_id


def test_no_pairs_give_no_answers():
    assert list(TurnTakingJudge(TableJudge()).judge([])) == []


def test_a_pair_that_cannot_be_judged_costs_that_pair_alone():
    broken = {"a0", f"a{PAIRS}", f"a{COUNT - 1}"}
    outcomes = dict(judge_each(TurnTakingJudge(FailingJudge(broken, TABLE)), ALL))
    assert {pair[0] for pair, outcome in outcomes.items() if isinstance(outcome, LabelError)} == broken
    known = {pair: outcome for pair, outcome in outcomes.items() if isinstance(outcome, Judgement)}
    assert {pair: judgement.relation for pair, judgement in known.items()} == {
        pair: relation for pair, relation in TABLE.items() if pair[0] not in broken
    }


def test_a_live_request_gets_its_turn_in_between():
    class Slow(TableJudge):
        def judge(self, pairs, progress=None):
            time.sleep(0.05)
            assert SCORING.locked()
            return super().judge(pairs, progress)

    begun, waits = threading.Event(), []

    def live():
        begun.wait(10)
        start = time.monotonic()
        with SCORING:
            waits.append(time.monotonic() - start)

    thread = threading.Thread(target=live)
    thread.start()
    answers = TurnTakingJudge(Slow()).judge([(f"a{i}", "b") for i in range(10 * PAIRS)])
    start = time.monotonic()
    for number, _ in enumerate(answers):
        if number == 0:
            begun.set()
    whole = time.monotonic() - start
    thread.join()
    assert waits[0] < whole / 2


@pytest.mark.parametrize("count", [0, 1, TEXTS, TEXTS + 1])
def test_vectors_are_those_of_the_encoder_itself(count):
    texts = [f"text {chr(97 + i % 26)}" for i in range(count)]
    found = TurnTakingEncoder(LetterEncoder()).encode(texts)
    assert found.shape == (count, 26)
    assert np.array_equal(found, LetterEncoder().encode(texts))


def test_work_whose_time_is_over_stops_at_its_next_turn():
    class Slow(TableJudge):
        def judge(self, pairs, progress=None):
            time.sleep(0.2)
            return super().judge(pairs, progress)

    judge, answers = Slow(), []
    with pytest.raises(OutOfTimeError):
        answers.extend(TurnTakingJudge(judge, time.monotonic() + 0.1).judge(ALL))
    assert set(judge.calls) == set(ALL[:PAIRS])
    with pytest.raises(OutOfTimeError):
        TurnTakingEncoder(LetterEncoder(), time.monotonic() - 1).encode(["a"])
