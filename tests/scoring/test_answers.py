"""Final answers: classes and variance by hand."""

import pytest

from judges import NeverJudge, TableJudge
from likewise.core.group import RolloutGroup
from likewise.core.labels import Relation
from likewise.core.rollout import Action, Rollout, StopReason, Turn
from likewise.scoring.answers import answer_pairs, score_answers
from likewise.scoring.label import Labeller
from likewise.scoring.stored_judge import StoredJudge


def group(*runs: tuple[str, StopReason]) -> RolloutGroup:
    rollouts = [Rollout("t", str(i), (Turn((), Action(text)),), stop=stop) for i, (text, stop) in enumerate(runs)]
    return RolloutGroup("t", tuple(rollouts))


def scored(members: RolloutGroup, judge):
    labels = Labeller(StoredJudge(judge)).settle(answer_pairs(members))
    return score_answers(members, labels, None, 0.95)


DONE, CUT = StopReason.FINISHED, StopReason.CUT


def test_two_classes_of_two_disagree_in_four_of_six_pairs():
    judge = TableJudge({("yes", "yeah"): Relation.EQUIVALENT})
    score = scored(group(("yes", DONE), ("yeah", DONE), ("no", DONE), ("no", DONE)), judge)
    assert score.classes == (0, 0, 1, 1) or score.classes == (0, 0, 2, 2)
    assert score.total_variance.value == pytest.approx(4 / 6)
    assert score.semantic_entropy.value == pytest.approx(0.693147, abs=1e-6)
    assert score.agreement.value == pytest.approx(0.5)


def test_equal_answers_vary_by_nothing_and_ask_no_judge():
    score = scored(group(("yes", DONE), ("yes", DONE), ("yes", DONE)), NeverJudge())
    assert score.total_variance.value == 0


def test_a_run_that_was_cut_has_no_final_answer():
    score = scored(group(("yes", DONE), ("let me look", CUT)), NeverJudge())
    assert score.total_variance.value is None
    assert score.total_variance.reason == "1 rollout(s) with a final answer: comparing needs at least two"


def test_a_pair_that_could_not_be_judged_leaves_the_classes_unknown():
    long = "x" * 60_000  # beyond what is judged
    score = scored(group(("yes", DONE), (long, DONE)), NeverJudge())
    assert score.total_variance.value is None
    assert "could not be judged" in (score.total_variance.reason or "")
    assert score.classes == (-1, -1)
