from __future__ import annotations

import pytest

from judges import FailingJudge, NeverJudge, TableJudge
from likewise.backends import cascade
from likewise.backends.cascade import Cascade
from likewise.backends.english_only import EnglishOnly
from likewise.backends.judge_each import judge_each
from likewise.backends.label_store import LabelStore
from likewise.core.errors import LabelError
from likewise.core.labels import Judgement, Relation
from likewise.scoring.stored_judge import StoredJudge

EQ, NE, CO = Relation.EQUIVALENT, Relation.NEUTRAL, Relation.CONTRADICTORY
SPANISH = "Lo siento, no puedo reembolsar este billete."


class Wavering(TableJudge):
    """Neutral: surely so, but for pairs with "?" in them, where it is sure to three in four."""

    def judge(self, pairs, progress=None):
        for pair in pairs:
            self.calls[pair] += 1
            p = 0.75 if "?" in "".join(pair) else 1.0
            yield Judgement(NE, (1 - p, p, 0.0), (1 - p, p, 0.0), "nli")


class Wordy(TableJudge):
    """A judge with words and an account."""

    endpoint = "http://there/v1"

    def judge(self, pairs, progress=None):
        for judgement in super().judge(pairs, progress):
            yield Judgement(judgement.relation, judgement.forward, judgement.backward, "llm", ("my words",))

    def account(self):
        return (f"asked {self.calls.total()} times",)


def settled(judge, *pairs):
    return dict(judge_each(judge, pairs))


def test_the_second_judge_decides_where_the_first_is_not_sure_and_only_there():
    first, second = Wavering(), Wordy(default=CO)
    found = settled(Cascade(first, second, checked=0), ("a", "b"), ("a?", "b"), ("c", "d"))
    assert {pair: outcome.relation for pair, outcome in found.items()} == {
        ("a", "b"): NE,
        ("a?", "b"): CO,
        ("c", "d"): NE,
    }
    assert list(second.calls) == [("a?", "b")]
    assert found["a?", "b"].answers == ("my words",)


@pytest.mark.parametrize(("sure_from", "passed_on"), [(0.75, 0), (0.7501, 1), (0.0, 0), (1.0, 1)])
def test_the_line_is_the_confidence(sure_from, passed_on):
    second = TableJudge()
    settled(Cascade(Wavering(), second, sure_from=sure_from, checked=0), ("a?", "b"))
    assert second.calls.total() == passed_on


def test_what_the_first_judge_cannot_read_goes_to_the_second():
    first, second = EnglishOnly(Wavering()), TableJudge(default=EQ)
    found = settled(Cascade(first, second, checked=0), (SPANISH, "b"), ("a", "b"))
    assert found[SPANISH, "b"].relation is EQ
    assert found["a", "b"].relation is NE


def test_a_failure_of_the_second_is_the_failure_of_the_pair_and_nothing_stands_in_for_it():
    second = FailingJudge(on={"a?"}, problem="budget of 1 spent")
    found = settled(Cascade(Wavering(), second, checked=0), ("a?", "b"), ("c?", "d"), ("e", "f"))
    assert isinstance(found["a?", "b"], LabelError)
    assert found["a?", "b"].problem == "budget of 1 spent"
    assert found["c?", "d"].relation is NE


def test_a_check_of_sure_pairs_changes_no_label_and_counts_agreement():
    first = Wavering()
    second = Wordy({("a", "b"): NE}, default=CO)
    judge = Cascade(first, second, checked=10)
    found = settled(judge, ("a", "b"), ("c", "d"), ("e?", "f"))
    assert [found[pair].relation for pair in [("a", "b"), ("c", "d"), ("e?", "f")]] == [NE, NE, CO]
    assert found["a", "b"].answers == found["c", "d"].answers == ("my words",)
    assert judge.account() == (
        "cascade: 1 of 3 pairs went to the second judge, 2 (67%) did not",
        "cascade: on 2 pairs that the first judge was sure of, the second agreed with 1",
        "asked 3 times",
    )


def test_checks_are_spread_over_all_pairs_and_never_more_than_wanted():
    second = TableJudge()
    judge = Cascade(Wavering(), second, checked=20)
    pairs = [(f"text {i:03}", "x") for i in range(500)]
    settled(judge, *pairs)
    checked = sorted(int(first.split()[1]) for first, _ in second.calls)
    assert 5 <= len(checked) <= 20  # drawn with probability 20 in 500 each
    assert checked[0] < 250 < checked[-1]
    settled(judge, *[(f"more {i:03}", "x") for i in range(500)])
    assert second.calls.total() <= 20


def test_a_check_that_fails_leaves_the_first_judges_answer():
    found = settled(Cascade(Wavering(), FailingJudge(), checked=5), ("a", "b"))
    assert found["a", "b"].relation is NE


def test_pairs_come_in_order_over_chunks_also_twice(monkeypatch):
    monkeypatch.setattr(cascade, "CHUNK", 2)
    pairs = [("a", "b"), ("a?", "b"), ("a", "b"), ("c?", "d"), ("e", "f")]
    judge = Cascade(Wavering(), TableJudge(default=CO), checked=0)
    assert [judgement.relation for judgement in judge.judge(pairs)] == [NE, CO, NE, CO, NE]


def test_answers_in_words_reach_the_store_also_those_of_a_check():
    with LabelStore(None) as store:
        judge = Cascade(Wavering(), Wordy(default=CO), checked=10)
        StoredJudge(judge, store).ask([("a", "b"), ("c?", "d")])
        for pair in [("a", "b"), ("c?", "d")]:
            assert [kept.answer for kept in store.answers(judge.judge_id, pair)] == ["my words"]
        assert store.get_many(judge.judge_id, [("a", "b")])["a", "b"].relation is NE


def test_progress_counts_each_pair_once():
    steps = []

    class Bar:
        def advance(self, count=1):
            steps.append(count)

    second = FailingJudge(on={"a?"})
    list(judge_each(Cascade(Wavering(), second, checked=2), [("a?", "b"), ("c", "d")], Bar()))
    assert sum(steps) == 2


def test_no_pairs_ask_nobody():
    judge = Cascade(NeverJudge(), NeverJudge())
    assert list(judge.judge([])) == []
    assert judge.account() == ()


def test_the_id_names_both_judges_and_the_line():
    assert Cascade(TableJudge(), NeverJudge(), sure_from=0.85).judge_id == "cascade-0.85(table,never)"


def test_the_endpoint_is_the_second_judges():
    assert Cascade(TableJudge(), Wordy()).endpoint == "http://there/v1"
    assert Cascade(TableJudge(), TableJudge()).endpoint is None


@pytest.mark.parametrize(
    "options", [{"sure_from": 1.1}, {"sure_from": -0.1}, {"sure_from": float("nan")}, {"checked": -1}]
)
def test_impossible_settings_are_refused(options):
    with pytest.raises(ValueError, match="a confidence lies in"):
        Cascade(TableJudge(), TableJudge(), **options)
