from __future__ import annotations

import json
import math

import pytest

from judges import FailingJudge, LetterEncoder, TableJudge
from likewise.core.labels import Relation
from likewise.reliability.layer import ReliabilityLayer
from likewise.reliability.scores import measure
from likewise.reliability.variance import VarianceForm
from likewise.reliability.verdict import Decision, Label, label_of

SAME, APART, CLASH = Relation.EQUIVALENT, Relation.NEUTRAL, Relation.CONTRADICTORY
GROWTH = ["The economy grew.", "The economy expanded.", "Output rose."]
DECLINE = ["The economy shrank.", "Output fell."]


def economy_judge() -> TableJudge:
    """Growth is growth, decline is decline, and the two contradict each other."""
    relations = {(a, b): SAME for side in (GROWTH, DECLINE) for a in side for b in side if a != b}
    relations |= {(a, b): CLASH for a in GROWTH for b in DECLINE}
    return TableJudge(relations)


def layer(judge=None, **more) -> ReliabilityLayer:
    return ReliabilityLayer(judge=judge or TableJudge(), encoder=LetterEncoder(), **more)


def structured(answer, findings=None, sources=None) -> str:
    given = {"main_answer": answer, "key_findings": findings, "sources_used": sources}
    return json.dumps({key: value for key, value in given.items() if value is not None})


def test_five_answers_of_two_classes_by_hand():
    a, b, c, d, e = GROWTH[0], DECLINE[0], GROWTH[1], DECLINE[1], GROWTH[2]
    verdict = layer(economy_judge()).score([a, b, c, d, e])
    # 6 of 10 pairs differ; 1 - 6/10; classes of 3 and 2: entropy -(.6 ln .6 + .4 ln .4)
    assert verdict.variance_report.answer.value == pytest.approx(0.6)
    assert verdict.reliability == pytest.approx(0.4)
    assert verdict.measurement.classes == (0, 1, 0, 1, 0)
    assert verdict.measurement.entropy.value == pytest.approx(-(0.6 * math.log(0.6) + 0.4 * math.log(0.4)))
    assert verdict.runs_agreed == "3/5"
    assert {(p.run_i, p.run_j) for p in verdict.critical_pairs} == {(0, 1), (0, 3), (1, 2), (2, 3), (1, 4), (3, 4)}
    assert verdict.contradiction_score == 1.0
    assert verdict.label is Label.CRITICAL
    assert verdict.answer is None
    assert verdict.consensus_answer in GROWTH


def test_findings_and_sources_are_sets_over_the_union():
    # Findings {p, q} and {p}: 1 - 1/sqrt(2); sources {a, b} and {a, c}: 1 - 1/2; answers alike: 0.
    runs = [
        structured("yes", ["p is so", "q is so"], ["https://a.org", "https://b.org"]),
        structured("yes", ["p is so"], ["https://a.org/", "https://c.org"]),
    ]
    found = layer().score(runs)
    report = found.variance_report
    assert report.answer.value == 0.0
    assert report.findings.value == pytest.approx(1 - 1 / math.sqrt(2))
    assert report.citations.value == pytest.approx(0.5)
    assert found.reliability == pytest.approx(1 - (0 + 1 - 1 / math.sqrt(2) + 0.5) / 3)
    assert report.findings_volume.value == pytest.approx(0.5)  # counts 2 and 1: (1/2)^2 * 2 / 1
    assert report.citations_volume.value == 0.0


def test_a_hundred_findings_against_ninety_nine_shared_ones():
    # The check of arXiv:2602.23271 with numbers of sources, as sets are compared alike: .005, and 10 against 9: .051.
    for size, expected in ((100, 0.005), (10, 0.051)):
        sources = [f"https://a.org/{i}" for i in range(size)]
        runs = [structured("yes", None, sources), structured("yes", None, sources[:-1])]
        assert layer().score(runs).variance_report.citations.value == pytest.approx(expected, abs=5e-4)


def test_no_source_against_one_is_one_half_and_no_list_is_not_measured():
    runs = [structured("yes", None, []), structured("yes", None, ["https://a.org"])]
    assert layer().score(runs).variance_report.citations.value == pytest.approx(0.5)
    plain = layer().score(["yes", "yes"])
    assert plain.variance_report.citations.value is None
    assert "list sources" in plain.variance_report.citations.estimate.reason
    assert plain.reliability == 1.0  # the mean of what was measured, not of zeros


def test_findings_that_mean_the_same_are_one_finding():
    runs = [structured("yes", ["GDP rose."]), structured("yes", ["Output went up."])]
    assert layer().score(runs).variance_report.findings.value == 1.0
    judge = TableJudge({("GDP rose.", "Output went up."): SAME})
    assert layer(judge).score(runs).variance_report.findings.value == 0.0


def test_findings_that_clash_are_shown_and_are_no_contradiction_of_the_answers():
    judge = TableJudge({("GDP rose.", "GDP fell."): CLASH})
    verdict = layer(judge).score([structured("yes", ["GDP rose."]), structured("yes", ["GDP fell."])])
    (clash,) = verdict.measurement.finding_clashes
    assert (clash.run_i, clash.run_j, clash.text_i, clash.text_j) == (0, 1, "GDP rose.", "GDP fell.")
    assert not verdict.has_critical_contradiction


def test_the_clashing_sentences_are_quoted_not_the_whole_answers():
    first, second = "Thanks for asking. Drug X is safe.", "Drug X is not safe. Ask a doctor."
    judge = TableJudge({(first, second): CLASH, ("Drug X is safe.", "Drug X is not safe."): CLASH})
    (pair,) = layer(judge).score([first, second]).critical_pairs
    assert (pair.text_i, pair.text_j) == ("Drug X is safe.", "Drug X is not safe.")


def test_the_embedding_form_says_so_and_follows_its_closed_form():
    verdict = layer(tv="embedding").score(["aa", "bb", "aa"])
    # unit vectors e1, e2, e1: mean (2/3, 1/3), 3/2 * (1 - 5/9) = 2/3
    assert verdict.variance_report.answer.form is VarianceForm.EMBEDDING
    assert verdict.variance_report.answer.value == pytest.approx(2 / 3)
    assert verdict.variance_report.citations.form is VarianceForm.CANONICAL


def test_pairs_that_cannot_be_judged_leave_the_answer_unmeasured():
    verdict = layer(FailingJudge(on=["snow"])).score(["rain", "snow", "rain"])  # no rule settles these before the judge
    assert verdict.reliability is None
    assert verdict.label is Label.NOT_MEASURED
    assert "could not be judged" in verdict.reliability_estimate.reason
    assert (verdict.answer, verdict.decision) == ("rain", Decision.FLAG)  # the first, as the proxy hands it out


def test_two_runs_have_a_wide_interval_and_a_note():
    verdict = layer().score(["yes", "yes"])
    assert verdict.reliability == 1.0
    assert verdict.reliability_estimate.low < 0.5
    assert "interval is wide" in verdict.metadata["notes"][0]


@pytest.mark.parametrize(
    ("reliability", "label"),
    [
        (1.0, "HIGH"),
        (0.85, "HIGH"),
        (0.8499, "MEDIUM"),
        (0.70, "MEDIUM"),
        (0.69, "LOW"),
        (0.5, "LOW"),
        (0.49, "CRITICAL"),
    ],
)
def test_labels_hold_from_their_number_on(reliability, label):
    assert label_of(reliability, contradicts=False) == label
    assert label_of(reliability, contradicts=True) == "CRITICAL"


def test_measuring_again_with_more_runs_judges_only_new_pairs():
    judge = economy_judge()
    ours = layer(judge)
    labeller = ours._labeller(__import__("likewise.core.protocols", fromlist=["no_progress"]).no_progress)
    reader = ours.running.reader
    records = [reader.read(i, text) for i, text in enumerate([*GROWTH, *DECLINE])]
    measure(records[:2], labeller)
    measure(records, labeller)
    assert set(judge.calls.values()) == {1}
