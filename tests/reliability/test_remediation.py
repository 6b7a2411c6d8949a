from __future__ import annotations

import pytest

from judges import TableJudge
from likewise.core.errors import ConfigError
from likewise.reliability.layer import ReliabilityLayer
from likewise.reliability.remediation import advise, read_rules, shipped_rules

CLEAN = {"contradiction": 0.1, "answer": 0.05, "findings": 0.2, "citations": 0.1, "reliability": 0.9, "failed": 0.0}


def fired(**changes):
    return [each.rule for each in advise(CLEAN | changes, shipped_rules()).recommendations]


def test_a_clean_agent_gets_no_advice():
    report = advise(CLEAN, shipped_rules())
    assert report.recommendations == ()
    assert report.priority_fix is None
    assert not report.needs_human_review


@pytest.mark.parametrize(
    ("changes", "rule", "severity", "review"),
    [
        ({"contradiction": 0.71}, "contradiction", "CRITICAL", True),
        ({"answer": 0.31}, "answer-variance", "HIGH", False),
        ({"findings": 0.51}, "findings-variance", "HIGH", False),
        ({"citations": 0.51}, "citations-variance", "MEDIUM", False),
        ({"reliability": 0.49}, "reliability", "CRITICAL", True),
    ],
)
def test_the_five_rules_of_the_post(changes, rule, severity, review):
    report = advise(CLEAN | changes, shipped_rules())
    (found,) = report.recommendations
    assert (found.rule, found.severity) == (rule, severity)
    assert report.needs_human_review is review
    assert report.priority_fix == found.fix


@pytest.mark.parametrize(
    "changes", [{"contradiction": 0.7}, {"answer": 0.3}, {"findings": 0.5}, {"citations": 0.5}, {"reliability": 0.5}]
)
def test_a_number_at_its_limit_fires_nothing(changes):
    assert fired(**changes) == []


def test_the_most_severe_advice_comes_first():
    assert fired(citations=0.9, answer=0.9, contradiction=0.9) == [
        "contradiction",
        "answer-variance",
        "citations-variance",
    ]


def test_what_was_not_measured_fires_nothing():
    assert fired(findings=None, citations=None, reliability=None, contradiction=None) == []


def test_advice_to_lower_the_temperature_carries_the_evidence_against_it_and_no_promise():
    (advice,) = advise(CLEAN | {"answer": 0.5}, shipped_rules()).recommendations
    assert any("did not lower variance" in evidence for evidence in advice.evidence)
    everything = " ".join(f"{r.fix} {r.detail} {r.evidence}" for r in shipped_rules())
    assert "30-50" not in everything
    assert "improvement" not in everything


def test_plain_answers_that_agree_get_no_advice_from_the_layer():
    assert ReliabilityLayer(judge=TableJudge()).score(["yes"] * 3).remediation_report.recommendations == ()


def test_rules_of_ones_own(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text(
        '[[rule]]\nname = "mine"\nmeasure = "answer"\nabove = 0.1\ndimension = "answer"\nseverity = "LOW"\nfix = "Do"\n'
    )
    verdict = ReliabilityLayer(judge=TableJudge(), rules=path).score(["a", "b"])
    assert [each.rule for each in verdict.remediation_report.recommendations] == ["mine"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rule = 3", "no list of rules"),
        ("[[rule", "not TOML"),
        ('[[rule]]\nname = "x"', r"rule\[0\].measure"),
        (
            '[[rule]]\nname = "x"\nmeasure = "luck"\ndimension = "a"\nseverity = "LOW"\nfix = "f"\nabove = 1',
            "no such measure",
        ),
        (
            '[[rule]]\nname = "x"\nmeasure = "answer"\ndimension = "a"\nseverity = "BAD"\nfix = "f"\nabove = 1',
            "no such severity",
        ),
        ('[[rule]]\nname = "x"\nmeasure = "answer"\ndimension = "a"\nseverity = "LOW"\nfix = "f"', "needs one limit"),
        (
            '[[rule]]\nname = "x"\nmeasure = "answer"\ndimension = "a"\nseverity = "LOW"\nfix = "f"\nabove = "1"',
            "needs one limit",
        ),
        ('[[rule]]\nname = "x"\nwhen = 3', "no such key"),
    ],
)
def test_a_file_of_rules_that_cannot_be_says_where_and_why(tmp_path, text, message):
    path = tmp_path / "rules.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_rules(path)
