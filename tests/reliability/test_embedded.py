"""The layer with the embedded judge: only what a person would be sure of."""

from __future__ import annotations

from pathlib import Path

import pytest

from likewise.backends.judges import embedded_nli
from likewise.core.labels import Entailment
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
    """Growth is {0, 2, 4}, contraction {1, 3}."""
    verdict = layer.score(ECONOMY)
    clashing = {(p.run_i, p.run_j) for p in verdict.critical_pairs}
    assert clashing == {(0, 1), (0, 3), (1, 2), (1, 4), (2, 3), (3, 4)}
    classes = verdict.measurement.classes
    assert not {classes[0], classes[2], classes[4]} & {classes[1], classes[3]}
    assert verdict.label is Label.CRITICAL


def test_growth_is_one_class_that_speaks_through_its_middle_and_is_refused_all_the_same(layer):
    """Robust growth is nearest to the rest of growth. Whether contraction is one class hangs on .07 and is not held."""
    verdict = layer.score(ECONOMY)
    classes = verdict.measurement.classes
    assert classes[0] == classes[2] == classes[4]
    assert verdict.runs_agreed == "3/5"
    assert verdict.consensus_answer == ECONOMY[2]
    assert verdict.answer is None
    assert verdict.decision is Decision.REFUSE


def test_the_page_says_of_the_five_answers_what_the_judge_says(layer):
    def shown(probability):
        return f"{probability:.2f}".removeprefix("0")

    page = " ".join((Path(__file__).parents[2] / "docs" / "reliability.md").read_text(encoding="utf-8").split())
    scores = [pair.score for pair in layer.score(ECONOMY).critical_pairs]
    assert f"all six pairs across are critical (scores {shown(min(scores))} to {shown(max(scores))})" in page
    pairs = [(ECONOMY[i], ECONOMY[j]) for i, j in ((0, 4), (0, 2), (2, 4), (1, 3))]
    ends, near, far, fall = (judgement.forward for judgement in layer.judge.judge(pairs))
    assert f'1 and 5 are "equivalent" at {shown(ends[Entailment.ENTAILS])}' in page
    assert f"({shown(near[Entailment.ENTAILS])}, {shown(far[Entailment.ENTAILS])}: classes are chains)" in page
    against, alike = shown(fall[Entailment.CONTRADICTS]), shown(fall[Entailment.ENTAILS])
    assert f'"contradictory" at {against} against {alike} for "equivalent"' in page


def answer(text, findings, sources):
    return {"main_answer": text, "key_findings": findings, "confidence": "HIGH", "sources_used": sources}


SHOWS, RAINS, TRAINS = "The museum shows paintings.", "It rained in Oslo.", "Trains leave every hour."
LAKE, ROCKS, PRICE = "The lake is deep.", "Granite is a rock.", "Tickets cost nine euros."
SITES = (["https://a.org/1"], ["https://b.org/2"], ["https://c.org/3"])
RULES = {
    "contradiction": [
        answer("Drug X is safe for pregnant women.", [SHOWS], SITES[0]),
        answer("Drug X is not safe for pregnant women.", [SHOWS], SITES[0]),
        answer("Drug X is safe for pregnant women.", [SHOWS], SITES[0]),
    ],
    "answer-variance": [answer(text, [SHOWS], SITES[0]) for text in (SHOWS, RAINS, TRAINS)],
    "findings-variance": [answer(SHOWS, [finding], SITES[0]) for finding in (LAKE, ROCKS, PRICE)],
    "citations-variance": [answer(SHOWS, [LAKE], site) for site in SITES],
    "reliability": [
        answer(text, [finding], site)
        for text, finding, site in zip((SHOWS, RAINS, TRAINS), (LAKE, ROCKS, PRICE), SITES, strict=True)
    ],
}
"""Runs for each of the five rules, with all that they call for: what differs is unrelated, not contradictory."""
FIRED = {
    "contradiction": {"contradiction", "answer-variance"},
    "answer-variance": {"answer-variance"},
    "findings-variance": {"findings-variance"},
    "citations-variance": {"citations-variance"},
    "reliability": {"reliability", "answer-variance", "findings-variance", "citations-variance"},
}


@pytest.mark.parametrize("rule", RULES)
def test_the_five_rules_of_the_post_hold_with_the_embedded_judge(layer, rule):
    """Variances are 1 where all three runs differ and 0 where none does; of Drug X, 2 of 3 pairs of answers differ."""
    report = layer.score(RULES[rule]).remediation_report
    assert {each.rule for each in report.recommendations} == FIRED[rule]
    assert report.recommendations[0].rule == rule  # the most severe comes first
    assert report.priority_fix == report.recommendations[0].fix
    assert report.needs_human_review is (rule in ("contradiction", "reliability"))


def test_a_clean_agent_gets_no_advice_with_the_embedded_judge(layer):
    verdict = layer.score([answer("The capital of France is Paris.", [SHOWS, LAKE], SITES[0])] * 5)
    assert (verdict.decision, verdict.label) == (Decision.SERVE, Label.HIGH)
    assert verdict.remediation_report.recommendations == ()
    assert not verdict.remediation_report.needs_human_review


def test_a_mode_that_there_is_not_is_refused_before_any_model_loads():
    with pytest.raises(ValueError, match="no mode 'quick'"):
        ReliabilityLayer(5, "quick")


def test_two_numbers_are_two_answers(layer):
    verdict = layer.score(["The refund is $20.", "The refund is $30.", "The refund is $20."])
    assert verdict.runs_agreed == "2/3"
    assert verdict.label is Label.CRITICAL


def test_sources_are_read_by_the_directed_nli_behind_the_same_guard(layer):
    assert layer.grounding_judge.judge_id == embedded_nli().judge_id
    assert layer.judge.judge_id != layer.grounding_judge.judge_id


def test_records_of_tools_are_read_by_the_judge_of_actions(layer):
    source = '{"reservation_id": "M05KNL", "origin": "ATL", "destination": "PHL", "cabin": "business", "price": 1936}'
    answers = ["Your reservation M05KNL flies from ATL to PHL for $1936. It flies from ATL to PHL for $1937."] * 2
    sentences = layer.score(answers, sources={"tool": source}).grounding.sentences
    assert [sentence.status is Grounding.SUPPORTED for sentence in sentences] == [True, False]


def test_a_sentence_of_the_source_is_supported_and_one_with_another_number_is_not(layer):
    source = "The firm was founded in 1998. Its revenue was $12 million in 2023."
    answers = ["Its revenue was $12 million in 2023. Its revenue was $19 million in 2023."] * 2
    sentences = layer.score(answers, sources={"report": source}).grounding.sentences
    assert [sentence.status for sentence in sentences] == [Grounding.SUPPORTED, Grounding.CONTRADICTED]
