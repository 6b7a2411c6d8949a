"""Results as JUnit XML, which every CI system shows: one test case a task."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from xml.etree import ElementTree

from likewise.evaluation.gates import GateReport
from likewise.evaluation.results import Evaluation
from likewise.report.text import one_line, visible
from likewise.report.words import counted, interval, number, pass_hat, percent
from likewise.scoring.results import GroupScore

__all__ = ["Case", "junit_text", "report_junit"]

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Case:
    """One test case: its name, what failed (one sentence each), and what a reader may want to see beside."""

    name: str
    failures: tuple[str, ...] = ()
    output: str = ""


def junit_text(suite: str, cases: Iterable[Case], properties: Iterable[tuple[str, str]] = ()) -> str:
    """The XML of one suite; characters that XML cannot hold are replaced."""
    cases = list(cases)
    failed = sum(bool(case.failures) for case in cases)
    counts = {"tests": str(len(cases)), "failures": str(failed), "errors": "0", "skipped": "0"}
    root = ElementTree.Element("testsuites", {"name": "likewise", **counts})
    element = ElementTree.SubElement(root, "testsuite", {"name": _clean(suite), **counts, "time": "0"})
    held = ElementTree.SubElement(element, "properties")
    for name, value in properties:
        ElementTree.SubElement(held, "property", {"name": name, "value": _clean(value)})
    for case in cases:
        made = ElementTree.SubElement(
            element, "testcase", {"classname": _clean(suite), "name": _clean(case.name), "time": "0"}
        )
        if case.failures:
            failure = ElementTree.SubElement(
                made, "failure", {"type": "gate", "message": _clean("; ".join(case.failures))}
            )
            failure.text = _clean("\n".join(case.failures), lines=True)
        if case.output:
            ElementTree.SubElement(made, "system-out").text = _clean(case.output, lines=True)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _clean(text: str, *, lines: bool = False) -> str:
    return _NOT_XML.sub("\ufffd", visible(text) if lines else one_line(text, 2000))


def report_junit(evaluation: Evaluation, gates: GateReport) -> str:
    """A case for each task, failed where it did not pass a gate; and one for the means, where some gate is on them."""
    states = {state.task_id: state for state in gates.states}
    cases = []
    for task in evaluation.tasks:
        state = states[task.task_id]
        failures = tuple(failure.what for failure in gates.of_task(task.task_id))
        cases.append(Case(task.task_id, failures, f"{state.state.value}: {state.sentence()}\n{_figures(task)}"))
    means = tuple(failure.what for failure in gates.failures if failure.task_id is None)
    if means:
        cases.append(Case("mean over tasks", means))
    return junit_text("likewise report", cases, [("signature", str(evaluation.signature))])


def _figures(task: GroupScore) -> str:
    known = sum(run.success is not None for run in task.valid)
    lines = [
        f"{counted(len(task.rollouts), 'run')}, {len(task.valid)} scored",
        f"RSD {number(task.rsd.value)} [{interval(task.rsd) or task.rsd.reason}]",
        f"success {percent(task.success_rate.value)} [{interval(task.success_rate, share=True) or 'not known'}]",
    ]
    if known:
        lines.append(f"pass^{known} {percent(pass_hat(task, known))}")
    if task.first_fork is not None:
        fork = task.first_fork
        lines.append(f"first fork at turn {fork.turn}: {fork.kind.value}, by {fork.cause.value}")
    return "\n".join(lines)
