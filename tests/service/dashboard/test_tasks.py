"""A task's runs together, and two versions compared, over HTTP."""

import re

import pytest

from service_history import ALSO, NO, YES, record_of, verdict_of, write


@pytest.fixture(scope="module")
def history(served):
    """An agent with two versions and three tasks: version 2 contradicts itself on each."""
    alike, split = verdict_of(YES, ALSO, YES), verdict_of(YES, NO, YES)
    records = []
    for task in ("refund", "exchange", "late"):
        records += [record_of(alike, version="1", task=task, days=9, minutes=i) for i in range(4)]
        records += [record_of(split, version="2", task=task, days=2, minutes=i) for i in range(4)]
    write(served.service.store, records)
    return served


def test_the_runs_of_several_verdicts_are_one_tree_with_the_fork_named(history, anna):
    page = anna.get("/task", agent="support", task="refund", analysis="1").text
    assert "Fork tree of 24 runs over 1 turns; first fork at turn 0, claim, by agent" in page
    assert "The runs first part at turn 0 (claim: words that do not mean the same)" in page
    assert page.count('<path d="M') >= 24
    assert re.search(r"<cite>[0-9a-f]{6}#\d</cite>", page)


def test_the_analysis_comes_by_itself_as_a_part_and_on_its_own_without_scripts(history, anna):
    page = anna.get("/task", agent="support", task="refund").text
    assert 'hx-get="/task/analysis?agent=support&amp;task=refund&amp;version="' in page
    assert 'href="/task?agent=support&amp;task=refund&amp;version=&amp;analysis=1"' in page
    part = anna.get("/task/analysis", agent="support", task="refund").text
    assert part.lstrip().startswith('<div class="analysis">')
    assert "<html" not in part


def test_one_version_alone_has_its_own_tree(history, anna):
    page = anna.get("/task", agent="support", task="refund", version="1", analysis="1").text
    assert "Fork tree of 12 runs over 1 turns; they never part" in page
    assert "The runs never part." in page


def test_two_versions_are_compared_on_all_tasks(history, anna):
    page = anna.get("/compare", agent="support", base="1", candidate="2").text
    assert "over 3 shared tasks" in page
    # Each task: version 2 has 8 runs of one class and 4 of the other, so 32 of 66 pairs contradict; version 1 has none.
    assert re.search(r"RSD <small>decides</small></th><td class=\"n\">0\.00</td><td class=\"n\">0\.48</td>", page)
    assert page.count('<a href="/task?agent=support&amp;task=') == 3


def test_two_versions_are_compared_on_one_task(history, anna):
    page = anna.get("/compare", agent="support", base="1", candidate="2", task="late").text
    assert "over 1 shared task" in page
    assert "On the task <code>late</code> alone" in page


def test_what_cannot_be_compared_says_why(history, anna):
    assert anna.get("/compare", agent="support", base="1", candidate="9").status_code == 404
    assert "No verdict of version 9 is stored." in anna.get("/compare", agent="support", base="9", candidate="1").text
    page = anna.get("/compare", agent="support", base="1", candidate="2", task="nothing").text
    assert "These versions cannot be compared" in page
    assert anna.get("/compare", agent="nobody").status_code == 404
    assert anna.get("/task", agent="support", task="nothing").status_code == 404


def test_an_analysis_is_worked_out_anew_when_there_are_new_runs(history, anna):
    before = anna.get("/task/analysis", agent="support", task="exchange", version="1").text
    write(history.service.store, [record_of(verdict_of(NO, NO, NO), version="1", task="exchange", days=1)])
    after = anna.get("/task/analysis", agent="support", task="exchange", version="1").text
    assert "Fork tree of 12 runs" in before
    assert "Fork tree of 15 runs" in after
