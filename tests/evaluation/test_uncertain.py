from __future__ import annotations

import pytest

from judges import FailingJudge, LetterEncoder, TableJudge
from likewise.core.labels import Judgement, Relation
from likewise.evaluation import uncertain
from likewise.evaluation.evaluate import evaluate
from likewise.evaluation.uncertain import Uncertain, find_uncertain
from likewise.scoring.label import Labeller, time_aligned_pairs
from likewise.scoring.stored_judge import StoredJudge
from scoring.runs import call, calls, group, run, speaking

NE = Relation.NEUTRAL


class Wavering(TableJudge):
    """Neutral; how sure it is of a pair is said by the letters in it: a 0.5, b 0.55, any other pair 0.9."""

    def judge(self, pairs, progress=None):
        for pair in pairs:
            p = 0.5 if "a" in pair else 0.55 if "b" in pair else 0.9
            yield Judgement(NE, (1 - p, p, 0.0), (1 - p, p, 0.0), "nli")

    def account(self):
        return ("it wavered",)


def found(*groups, below=0.6, judge=None):
    labeller = Labeller(StoredJudge(judge or Wavering()))
    for one in groups:
        labeller.settle(time_aligned_pairs(one))
    return find_uncertain(groups, labeller.labels, below)


def test_pairs_below_the_line_are_listed_least_sure_first_with_place_and_count():
    # turn 0: b/c (0.55) twice, c/c identical; turn 1: a/x (0.5), a/y (0.5), x/y (0.9)
    result = found(speaking("ba", "cx", "cy"))
    assert [(p.turn, p.run_i, p.run_j, p.relation, p.confidence, p.rule, p.count) for p in result.pairs] == [
        (1, "0", "1", NE, 0.5, "nli", 1),
        (1, "0", "2", NE, 0.5, "nli", 1),
        (0, "0", "1", NE, 0.55, "nli", 2),
    ]
    assert (result.below, result.total, result.distinct) == (0.6, 4, 3)


def test_the_same_pair_in_another_task_counts_with_the_first():
    one, two = speaking("a", "x"), speaking("x", "a", task="other")
    result = found(one, two)
    assert [(p.task_id, p.count) for p in result.pairs] == [("t", 2)]


@pytest.mark.parametrize(("below", "total"), [(0.0, 0), (0.5, 0), (0.51, 1), (1.0, 2)])
def test_the_line_itself_is_sure_enough(below, total):
    assert found(speaking("ax", "yz"), below=below).total == total


def test_what_rules_decide_and_what_failed_is_not_uncertain():
    looked_up = [run(str(i), calls(call("get", id=i))) for i in (1, 2)]
    assert found(group(*looked_up)) == Uncertain(0.6)
    assert found(speaking("a", "x"), judge=FailingJudge()) == Uncertain(0.6)


def test_the_list_is_capped_and_all_are_counted(monkeypatch):
    monkeypatch.setattr(uncertain, "SHOWN", 2)
    result = found(speaking("a", "x", "y", "z"))
    assert (len(result.pairs), result.distinct, result.total) == (2, 3, 3)


def test_an_evaluation_carries_the_list_and_what_the_judge_tells_of_itself():
    runs = [run("1", "a", "b"), run("2", "x", "b")]
    result = evaluate(runs, judge=Wavering(), encoder=LetterEncoder(), resamples=10)
    assert result.uncertain.total == 1
    assert result.judge_use.notes == ("it wavered",)
    strict = evaluate(runs, judge=Wavering(), encoder=LetterEncoder(), resamples=10, uncertain_below=0.5)
    assert strict.uncertain == Uncertain(0.5)
    assert evaluate(runs, judge=TableJudge(), encoder=LetterEncoder(), resamples=10).judge_use.notes == ()


def test_reasons_for_what_was_not_measured_are_counted_and_their_list_is_capped():
    class Inventive(TableJudge):
        """Fails on each pair in other words."""

        def judge(self, pairs, progress=None):
            yield from FailingJudge(problem=f"reason {len(self.calls)}: {pairs[0]}").judge(pairs)

    runs = [run(str(i), chr(97 + i)) for i in range(6)]  # 15 pairs
    result = evaluate(runs, judge=Inventive(), encoder=LetterEncoder(), resamples=10)
    told = [warning for warning in result.warnings if "not measured" in warning]
    assert len(told) == 11
    assert told[-1] == "5 pair(s) not measured for 5 further reason(s)"
