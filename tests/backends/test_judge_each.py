from __future__ import annotations

import pytest

from judges import FailingJudge, LeaningJudge, TableJudge
from likewise.backends.judge_each import judge_each
from likewise.core.errors import BackendError, LabelError
from likewise.core.labels import Judgement, Relation

PAIRS = [("a", "b"), ("a", "c"), ("a", "d"), ("a", "e")]
NEUTRAL = Judgement.certain(Relation.NEUTRAL, "nli")


class Bar:
    steps = 0

    def advance(self, steps=1):
        self.steps += steps


class GoingOn:
    """Answers through an iterator that survives its own failures; counts how often it was asked."""

    judge_id = "going-on"

    def __init__(self, *bad):
        self._bad, self.calls = bad, 0

    def judge(self, pairs, progress=None):
        self.calls += 1
        bad, left = self._bad, iter(pairs)

        class Answers:
            def __iter__(self):
                return self

            def __next__(self):
                first, second = next(left)
                if second in bad:
                    raise LabelError("bad", first, second)
                return NEUTRAL

        return Answers()


def told(judge, pairs=PAIRS, progress=None):
    return {pair: getattr(outcome, "problem", outcome) for pair, outcome in judge_each(judge, pairs, progress)}


def test_every_pair_gets_its_own_answer():
    assert told(LeaningJudge(), [("a", "b"), ("d", "c")]) == {
        ("a", "b"): Judgement.from_nli((0.75, 0.25, 0.0), (0.0, 0.75, 0.25)),
        ("d", "c"): Judgement.from_nli((0.0, 0.75, 0.25), (0.75, 0.25, 0.0)),
    }


@pytest.mark.parametrize("bad", [["b"], ["c"], ["e"], ["b", "c"], ["c", "e"], ["b", "c", "d", "e"]])
def test_failures_cost_only_themselves_whether_or_not_the_iterator_goes_on(bad):
    expected = {pair: "bad" if pair[1] in bad else NEUTRAL for pair in PAIRS}
    lasting, generator = GoingOn(*bad), FailingJudge(on=bad, problem="bad")
    assert told(lasting) == told(generator) == expected
    assert lasting.calls == 1
    assert max(generator.calls.values()) == 1


def test_a_failure_ahead_of_its_turn_is_taken_out_and_the_rest_asked_anew():
    class Concurrent(TableJudge):
        failed = False

        def judge(self, pairs, progress=None):
            yield from super().judge(pairs[:1], progress)
            if not self.failed:
                self.failed = True
                raise LabelError("late", "a", "d")
            yield from super().judge(pairs[1:], progress)

    judge = Concurrent()
    outcomes = told(judge)
    assert outcomes == {pair: "late" if pair[1] == "d" else NEUTRAL for pair in PAIRS}
    assert judge.calls == {("a", "b"): 1, ("a", "c"): 1, ("a", "e"): 1}


@pytest.mark.parametrize("judge", [FailingJudge(on=["c", "d"]), TableJudge()])
def test_progress_counts_every_pair_once(judge):
    bar = Bar()
    told(judge, progress=bar)
    assert bar.steps == len(PAIRS)


def test_a_failure_of_a_stranger_is_raised():
    class Confused(TableJudge):
        def judge(self, pairs, progress=None):
            raise LabelError("lost", "x", "y")
            yield

    with pytest.raises(LabelError, match="lost"):
        told(Confused())


def test_what_stops_the_judge_stops_the_asking():
    class Gone(TableJudge):
        def judge(self, pairs, progress=None):
            raise BackendError("gone")
            yield

    with pytest.raises(BackendError, match="gone"):
        told(Gone())


@pytest.mark.parametrize(("change", "word"), [(lambda pairs: pairs[:-1], "shorter"), (lambda p: [*p, p[0]], "longer")])
def test_a_judge_that_cannot_count_is_found_out(change, word):
    class Wrong(TableJudge):
        def judge(self, pairs, progress=None):
            yield from super().judge(change(pairs), progress)

    with pytest.raises(ValueError, match=word):
        told(Wrong())


def test_nothing_asked_nobody_asked():
    judge = GoingOn()
    assert told(judge, []) == {}
    assert judge.calls == 0
