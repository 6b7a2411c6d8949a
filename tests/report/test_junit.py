"""JUnit XML of a report: valid XML whatever the names, failed cases where gates were not passed."""

from xml.etree import ElementTree

from likewise.evaluation.gate_rules import GateSettings
from likewise.evaluation.gates import check_gates
from likewise.report.junit import Case, junit_text, report_junit
from report_factory import HOSTILE, evaluation, hostile_evaluation, task


def suite_of(text):
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    return root.find("testsuite")


def reported(whole, *gates):
    return suite_of(report_junit(whole, check_gates(whole, GateSettings().with_gates(gates))))


def test_a_case_a_task_and_a_failure_where_a_gate_was_not_passed():
    suite = reported(evaluation([task("good", rsd=1.0), task("bad", rsd=3.0)]), "rsd > 2", "success_rate < 0.9")
    cases = {case.get("name"): case for case in suite.findall("testcase")}
    assert list(cases) == ["good", "bad"]
    assert cases["good"].find("failure").get("message") == "success_rate 0.5 < 0.9"
    assert cases["bad"].find("failure").text.splitlines() == ["rsd 3 > 2", "success_rate 0.5 < 0.9"]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "2", "0")


def test_without_gates_all_pass_and_carry_their_numbers():
    suite = reported(evaluation([task("a", rsd=1.0)]))
    (case,) = suite.findall("testcase")
    assert case.find("failure") is None
    assert "RSD 1.00 [0.90 to 1.10]" in case.find("system-out").text
    assert "undecided: 1 of 2 runs share the commonest answer" in case.find("system-out").text
    assert suite.find("properties/property").get("name") == "signature"


def test_a_mean_that_fails_is_a_case_of_its_own():
    suite = reported(evaluation([task("a")]), "mean rsd > 1")
    assert [case.get("name") for case in suite.findall("testcase")] == ["a", "mean over tasks"]


def test_hostile_names_stay_text():
    suite = reported(hostile_evaluation(), "rsd > 0")
    assert len(suite.findall("testcase")) == len(HOSTILE)
    assert not suite.findall(".//script")
    assert all("\x1b" not in (case.get("name") or "") for case in suite.findall("testcase"))


def test_characters_that_xml_cannot_hold_are_replaced():
    text = junit_text("s\x00\ud800", [Case("n\x08\ufffe", ("f\x1b[31m",), "o\x0b\uffff")])
    suite = suite_of(text)
    assert suite.get("name").startswith("s")
    assert suite.find("testcase").get("name") == "n\ufffd"
    assert suite.find("testcase/failure").get("message") == "f"
