"""A comparison in the terminal, as JSON, Markdown, JUnit and HTML: the same numbers, nothing of a log interpreted."""

import html
import json
import re
from io import StringIO
from xml.etree import ElementTree

import pytest
from rich.console import Console

from likewise.evaluation.compare import compare
from likewise.metrics.testing import TwoVersions
from likewise.report.compare_html import comparison_html
from likewise.report.compare_json import comparison_as_json
from likewise.report.compare_junit import comparison_failures, comparison_junit
from likewise.report.compare_markdown import comparison_markdown
from likewise.report.compare_terminal import render_comparison
from likewise.report.compare_words import difference_text, headline, p_text
from rendered import tags_of
from report_factory import HOSTILE
from sides_factory import figures, pair_of_sides, side

BASE = [1.0, 1.2, 0.8, 1.1, 0.9, 1.0, 1.3, 0.7]


@pytest.fixture
def worse():
    base, candidate = pair_of_sides(BASE, [v + 0.4 + 0.02 * i for i, v in enumerate(BASE)])
    runs = {"t0": TwoVersions(0.4, 0.001, 2.0, 0.5, 0.0005)}
    return compare(base, candidate, between=runs)


@pytest.fixture
def undecided():
    return compare(*pair_of_sides(BASE, [v + 0.3 * (-1) ** i + 0.05 for i, v in enumerate(BASE)]))


@pytest.fixture
def hostile():
    base = [figures(name, 1.0 + i) for i, name in enumerate(HOSTILE)]
    candidate = [figures(name, 2.0) for name in HOSTILE] + [figures("only " + HOSTILE[0])]
    sides = side(HOSTILE[1], base, text=HOSTILE[2]), side(HOSTILE[5], candidate, text=HOSTILE[2])
    return compare(*sides, warnings=HOSTILE)


def printed(comparison, width=100, encoding="utf-8"):
    file = StringIO()
    console = Console(file=file, width=width)
    if encoding != "utf-8":
        console = Console(file=_Latin(file), width=width)
    render_comparison(comparison, console)
    return file.getvalue()


class _Latin:
    """A terminal that knows latin-1 only."""

    encoding = "latin-1"

    def __init__(self, file):
        self._file = file

    def write(self, text):
        text.encode("latin-1")
        return self._file.write(text)

    def flush(self):
        self._file.flush()


def test_the_headline_has_both_means_the_difference_the_interval_and_p(worse, undecided):
    (line,) = headline(worse)
    assert line.startswith("RSD 1.00 → 1.47: +0.47 [+0.4")
    assert line.endswith("p = 0.008, over 8 shared tasks: worse.")
    first, second = headline(undecided)
    assert first.endswith("undecided.")
    assert "further task" in second
    assert "would be found with power 80%" in second


def test_the_terminal_shows_verdict_figures_and_tasks(worse):
    text = printed(worse)
    assert text.splitlines()[0].split() == ["WORSE", "base", "→", "candidate"]
    assert re.search(r"RSD \* +1.00 +1.47 +\+0.47 \[.*0.008 +8 +worse", text)
    assert re.search(r"t0 .*1.00 → 1.40 .*RSD worse, acts otherwise", text)


def test_a_terminal_that_lacks_the_signs_still_prints(worse):
    assert "base > candidate" in printed(worse, encoding="latin-1")


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_wider_than_the_terminal(worse, width):
    assert max(map(len, printed(worse, width).splitlines())) <= width


def test_json_has_every_number_and_is_strict(worse):
    data = json.loads(json.dumps(comparison_as_json(worse), allow_nan=False))
    assert (data["schema"], data["verdict"], data["deciding"]) == ("likewise.compare/1", "worse", ["rsd"])
    rsd = data["figures"]["rsd"]
    assert rsd["difference"]["value"] == pytest.approx(0.47)
    assert rsd["p_value"] == rsd["p_adjusted"] == 2 / 256
    assert {"minimum_detectable_difference", "needed", "left_out", "verdict"} <= rsd.keys()
    assert data["tasks"][0]["acts_otherwise"] is True
    assert data["tasks"][1]["between"] is None


def test_markdown_fits_a_comment_and_folds_the_tasks(worse):
    text = comparison_markdown(worse)
    assert text.startswith("### Consistency: ❌ worse\n")
    assert "<details open><summary>8 shared tasks, 1 with a change that is not luck</summary>" in text
    many = [figures(f"{'x' * 200}{i}", 1.0) for i in range(500)]
    long = comparison_markdown(compare(side("b", many), side("c", many)))
    assert len(long) < 65_536
    assert "450 more" in long


def test_a_build_fails_for_what_it_was_told_to(worse, undecided):
    assert comparison_failures(worse, []) == []
    assert "the candidate is worse: RSD 1.00 to 1.47" in comparison_failures(worse, ["worse"])[0]
    assert comparison_failures(worse, ["undecided"]) == []
    assert comparison_failures(undecided, ["worse"]) == []
    assert comparison_failures(undecided, ["undecided"])
    assert comparison_failures(undecided, ["not-better"])
    assert comparison_failures(worse, ["task-worse"]) == ["task t0: RSD worse, acts otherwise"]


def failures(base, candidate, *fail_on, tasks=None, partial=False, **more):
    sides = pair_of_sides(base, candidate, **more)
    if tasks is not None:
        sides = (sides[0], side("candidate", [figures(f"t{i}", candidate[i]) for i in tasks]))
    return comparison_failures(compare(*sides), fail_on or ["worse"], partial=partial)


def test_a_build_fails_where_nothing_was_measured_whatever_it_fails_for():
    for what in ("worse", "undecided", "not-better", "task-worse"):
        found = failures([None] * 8, BASE, what)
        assert found[0] == (
            "RSD decides and was measured on both sides of no shared task (t0: base: one valid rollout)"
        )
    assert failures([None] * 8, BASE, partial=True)
    assert comparison_failures(compare(*pair_of_sides([None] * 8, BASE)), []) == []


def test_a_build_fails_where_the_candidate_lacks_tasks_and_names_them():
    assert failures(BASE, BASE, tasks=range(7)) == ["the candidate lacks 1 task of the base: t7"]
    assert failures(BASE, BASE, tasks=range(7), partial=True) == []
    many = [1.0 + 0.01 * i for i in range(30)]
    (found,) = failures(many, many, tasks=range(10))
    assert found == "the candidate lacks 20 tasks of the base: t10, t11, t12, t13, t14, t15, t16, t17 and 12 more"


def test_tasks_that_only_the_candidate_has_fail_nothing():
    assert comparison_failures(compare(*pair_of_sides(BASE[:7], BASE)), ["worse"]) == []


def test_a_build_fails_where_the_candidate_lacks_the_deciding_figure_of_a_task():
    assert failures(BASE, [*BASE[:7], None]) == ["the candidate has no RSD in 1 task: t7"]
    assert failures(BASE, [*BASE[:7], None], partial=True) == []
    assert failures([*BASE[:7], None], BASE) == []


def test_too_few_tasks_for_a_test_fail_what_needs_one():
    few = BASE[:3]
    (found,) = failures(few, few)
    assert found.startswith(
        "nobody can tell whether RSD got worse: flipping the signs of 3 tasks gives a p-value of 0.25"
    )
    assert failures(few, few, "task-worse") == []
    assert [each[:27] for each in failures(few, few, "undecided")] == ["the candidate is undecided:"]


def test_task_worse_fails_where_no_task_could_be_tested():
    assert failures(BASE, BASE, "task-worse", outcomes=()) == [
        "no task could be tested: runs are compared where both sides are runs, outcomes where both have some"
    ]


def test_why_there_is_no_interval_stands_in_every_face():
    comparison = compare(*pair_of_sides(BASE[:3], [2.0, 2.1, 2.2]))
    reason = "resampling fewer than 5 gives intervals that are far too narrow"
    best = "flipping the signs of 3 tasks gives a p-value of 0.25 at best"
    data = comparison_as_json(comparison)["figures"]["rsd"]
    assert reason in data["difference"]["reason"]
    assert best in data["p_reason"]
    terminal = " ".join(printed(comparison).split())
    for face in (terminal, comparison_markdown(comparison), html.unescape(comparison_html(comparison))):
        assert reason in face
        assert best in face


def test_junit_fails_where_the_build_does(worse):
    plain = ElementTree.fromstring(comparison_junit(worse, []))
    assert (plain.get("tests"), plain.get("failures")) == (str(1 + 7 + 8), "0")
    failed = ElementTree.fromstring(comparison_junit(worse, ["worse", "task-worse"]))
    names = [case.get("name") for case in failed.iter("testcase") if case.find("failure") is not None]
    assert names == ["verdict", "task t0"]


def test_the_page_opens_offline_runs_nothing_and_shows_the_numbers(worse):
    page = comparison_html(worse)
    assert page.startswith("<!doctype html>")
    assert "default-src 'none'" in html.unescape(page)
    assert "<script" not in page
    assert not re.search(r'(?:src|href)="(?!#)', page)
    assert not re.search(r"url\((?!#)", page)
    assert "RSD 1.00 → 1.47" in page
    assert page.count("<circle") == 7 + 2 * 8 - sum(d.difference.low is None for d in worse.differences)
    assert len(page) < 100_000


def test_hostile_names_stay_text_everywhere(hostile):
    page = comparison_html(hostile)
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "{{ 7" in page  # shown, not run
    text = comparison_markdown(hostile)
    tags, attributes = tags_of(text)
    assert not tags & {"script", "img", "a", "!--", "title", "svg"}
    assert attributes <= {"style", "open"}
    assert "\x1b" not in printed(hostile) + page + text
    ElementTree.fromstring(comparison_junit(hostile, ["worse"]))
    json.dumps(comparison_as_json(hostile), allow_nan=False)


@pytest.mark.parametrize(
    ("p", "text"), [(None, "–"), (0.0004, "<0.001"), (0.0234, "0.023"), (0.5, "0.50"), (1.0, "1.00")]
)
def test_p_values_read_as_in_a_paper(p, text):
    assert p_text(p) == text


def test_shares_are_given_in_points(undecided):
    success = next(d for d in undecided.differences if d.figure == "success_rate")
    assert difference_text(success) == "+0.0 points"
