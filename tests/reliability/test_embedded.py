"""The layer with the embedded judge: only what a person would be sure of."""

from __future__ import annotations

import pytest

from likewise.backends.judges import embedded_nli
from likewise.reliability.grounding import Grounding
from likewise.reliability.layer import ReliabilityLayer
from likewise.reliability.verdict import Decision, Label

pytestmark = pytest.mark.model

ECONOMY = [
    "The economy is growing strongly.",
    "The economy is contracting.",
    "Economic growth is robust this year.",
    "The economy is shrinking and in recession.",
    "The economy is expanding at a healthy pace.",
]


@pytest.fixture(scope="module")
def layer():
    return ReliabilityLayer(5, "full")


def test_a_direct_contradiction_is_critical_and_never_medium(layer):
    verdict = layer.score(["Drug X is safe for pregnant women.", "Drug X is not safe for pregnant women."])
    assert verdict.contradiction_score > 0.7
    assert verdict.label is Label.CRITICAL
    assert verdict.decision is Decision.REFUSE
    assert verdict.remediation_report.needs_human_review


def test_identical_answers_score_below_a_tenth(layer):
    verdict = layer.score(["The capital of France is Paris."] * 3)
    assert verdict.contradiction_score < 0.1
    assert verdict.reliability == 1.0
    assert verdict.variance_report.answer_embedding.value == pytest.approx(0.0, abs=1e-6)
    assert verdict.remediation_report.recommendations == ()


def test_growth_contradicts_contraction_in_every_pair_and_neither_contradicts_itself(layer):
    """Growth is {0, 2, 4}, contraction {1, 3}; whether all of growth is one class is for the judge's own table."""
    verdict = layer.score(ECONOMY)
    clashing = {(p.run_i, p.run_j) for p in verdict.critical_pairs}
    assert clashing == {(0, 1), (0, 3), (1, 2), (1, 4), (2, 3), (3, 4)}
    classes = verdict.measurement.classes
    assert not {classes[0], classes[2], classes[4]} & {classes[1], classes[3]}
    assert verdict.label is Label.CRITICAL


def test_two_numbers_are_two_answers(layer):
    verdict = layer.score(["The refund is $20.", "The refund is $30.", "The refund is $20."])
    assert verdict.runs_agreed == "2/3"
    assert verdict.label is Label.CRITICAL


def test_sources_are_read_by_the_directed_nli_behind_the_same_guard(layer):
    assert layer.grounding_judge.judge_id == embedded_nli().judge_id
    assert layer.judge.judge_id != layer.grounding_judge.judge_id


def test_a_sentence_of_the_source_is_supported_and_one_with_another_number_is_not(layer):
    source = "The firm was founded in 1998. Its revenue was $12 million in 2023."
    answers = ["Its revenue was $12 million in 2023. Its revenue was $19 million in 2023."] * 2
    sentences = layer.score(answers, sources={"report": source}).grounding.sentences
    assert [sentence.status for sentence in sentences] == [Grounding.SUPPORTED, Grounding.CONTRADICTED]
