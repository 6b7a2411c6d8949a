from __future__ import annotations

import pytest

from judges import FailingJudge, TableJudge
from likewise.backends.label_store import LabelStore
from likewise.core.labels import Judgement, Relation
from likewise.evaluation.repeatability import measure_repeatability
from likewise.scoring.stored_judge import StoredJudge

PAIRS = [("a", "b"), ("c", "d"), ("e", "f"), ("g", "h")]


class Fickle(TableJudge):
    """Neutral, but equivalent to every second reading of ("a", "b")."""

    def judge(self, pairs, progress=None):
        for pair in pairs:
            self.calls[pair] += 1
            other = pair == ("a", "b") and self.calls[pair] % 2 == 0
            relation = Relation.EQUIVALENT if other else Relation.NEUTRAL
            one = Judgement.certain(relation, "llm")
            yield Judgement(one.relation, one.forward, one.backward, one.rule, (f"reading {self.calls[pair]}",))


def test_the_share_of_pairs_on_which_all_readings_agree():
    found = measure_repeatability(StoredJudge(Fickle()), PAIRS, 3)
    assert (found.readings, found.agreeing.value, found.agreeing.n, found.failed) == (3, 0.75, 4, 0)
    assert found.agreeing.low < 0.75 < found.agreeing.high


def test_a_judge_that_never_wavers_has_an_interval_all_the_same():
    found = measure_repeatability(StoredJudge(TableJudge()), PAIRS, 2)
    assert found.agreeing.value == 1.0
    assert found.agreeing.low < 1.0


def test_the_store_is_passed_by_and_keeps_the_words_only():
    with LabelStore(None) as store:
        judge = StoredJudge(Fickle(), store)
        judge.ask(PAIRS[:1])
        measure_repeatability(judge, PAIRS[:1], 3)
        assert judge.judge.calls["a", "b"] == 4
        assert store.get_many("table", PAIRS[:1])["a", "b"].relation is Relation.NEUTRAL
        assert [kept.answer for kept in store.answers("table", ("a", "b"))] == [f"reading {i}" for i in (1, 2, 3, 4)]


def test_a_sample_is_drawn_once_and_read_whole():
    judge = TableJudge()
    found = measure_repeatability(StoredJudge(judge), [*PAIRS, *PAIRS], 2, sample=2)
    assert found.agreeing.n == 2
    assert sorted(judge.calls.values()) == [2, 2]
    again = TableJudge()
    measure_repeatability(StoredJudge(again), PAIRS[::-1], 2, sample=2)
    assert again.calls == judge.calls


def test_pairs_of_which_a_reading_failed_are_counted_apart():
    found = measure_repeatability(StoredJudge(FailingJudge(on={"a"})), PAIRS, 2)
    assert (found.agreeing.n, found.failed) == (3, 1)


def test_where_the_judge_was_asked_nothing_there_is_a_reason():
    found = measure_repeatability(StoredJudge(TableJudge()), [], 2)
    assert found.agreeing.value is None
    assert "no pair that the judge was asked about" in found.agreeing.reason


def test_one_reading_compares_nothing():
    with pytest.raises(ValueError, match="at least 2"):
        measure_repeatability(StoredJudge(TableJudge()), PAIRS, 1)
