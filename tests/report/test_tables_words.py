"""The paper's tables in the terminal, as Markdown, LaTeX, CSV and JSON: the same numbers, no name interpreted."""

import csv
import json
import re
from io import StringIO

import pytest
from rich.console import Console

from likewise.core.estimate import Estimate
from likewise.evaluation.paper_tables import COLUMNS, Cell, tables_of
from likewise.evaluation.progress import Trials
from likewise.report.tables_json import tables_as_json
from likewise.report.tables_terminal import render_tables
from likewise.report.tables_text import tables_csv, tables_latex, tables_markdown
from likewise.report.tables_words import cell_text, remarks
from rendered import tags_of
from report_factory import HOSTILE

TASKS = {f"t{i}": [0.1 * (i + 1), 0.2 * (i + 1)] for i in range(3)}
STEADY = {task: [0.4, 0.4] for task in TASKS}


def trials(numbers, rsd=1.0):
    return Trials(numbers, numbers, numbers, dict.fromkeys(numbers, rsd))


@pytest.fixture
def tables():
    methods = {"base": trials(TASKS), "steady": trials(STEADY, 0.25), "half": trials(STEADY, 0.5)}
    return tables_of(methods, base="base", lambdas={"half": 0.5}, turn_limit=9)


@pytest.fixture
def hostile():
    methods = {name: trials(TASKS | {HOSTILE[0]: [0.0, 0.0]}) for name in HOSTILE}
    return tables_of(methods, base=HOSTILE[0], lambdas={HOSTILE[1]: 1.0})


def printed(tables, width=120):
    file = StringIO()
    render_tables(tables, Console(file=file, width=width))
    return file.getvalue()


def test_a_cell_says_mean_interval_change_and_its_interval():
    cell = Cell(Estimate(0.61, 0.55, 0.67), Estimate(-0.309, -0.4, 0.2))
    assert cell_text(cell, COLUMNS["auc"]) == ("0.610", "0.550 to 0.670", "−30.9%", "−40.0% to +20.0%")
    assert cell_text(cell, COLUMNS["auc_cv"])[:2] == ("61.0%", "55.0% to 67.0%")
    nothing = Cell(Estimate.undefined("why"), Estimate.undefined("why"))
    assert cell_text(nothing, COLUMNS["auc"]) == ("–", "", "–", "")


def test_all_faces_show_the_same_numbers(tables):
    # steady: mean .4 against mean of .15, .3, .45 = .3; no variation at all; RSD .25 against 1
    csv_rows = list(csv.DictReader(StringIO(tables_csv(tables))))
    found = {(row["table"], row["method"], row["figure"]): row for row in csv_rows}
    row = found["1", "steady", "auc"]
    assert float(row["value"]) == pytest.approx(0.4)
    assert float(row["change"]) == pytest.approx(1 / 3)
    assert "3 tasks" in row["change_reason"]
    assert float(found["1", "steady", "auc_cv"]["change"]) == -1
    assert float(found["3", "steady", "rsd"]["change"]) == -0.75
    assert (found["2", "half", "rsd"]["lambda"], found["2", "half", "rsd"]["value"]) == ("0.5", "0.5")
    data = json.loads(json.dumps(tables_as_json(tables), allow_nan=False))
    assert data["schema"] == "likewise.tables/1"
    assert [each["number"] for each in data["tables"]] == [1, 2, 3]
    assert data["tables"][0]["rows"][1]["cells"]["auc"]["change"]["value"] == pytest.approx(1 / 3)
    assert data["tables"][1]["rows"][1]["lambda"] == 0.5
    for text in (printed(tables), tables_markdown(tables), tables_latex(tables).replace("$", "").replace("\\", "")):
        assert "0.400" in text
        assert "+33.3%" in text
        assert "75.0%" in text


def test_remarks_say_what_numbers_rest_on_and_why_intervals_are_missing(tables):
    said = "\n".join(remarks(tables))
    assert "direct RSD: 3 tasks" in said
    assert "turn limit of 9" in said
    assert "Without interval: 3 tasks: resampling fewer than 5" in said


def test_tasks_without_cv_are_named_with_their_reason(hostile):
    assert "No CV of 1 task (a method never made progress" in "\n".join(remarks(hostile))


def test_nothing_of_a_method_s_name_is_interpreted(hostile):
    tags, attributes = tags_of(tables_markdown(hostile))
    assert tags <= {"p", "strong", "table", "thead", "tbody", "tr", "th", "td", "code", "br", "sub", "ul", "li"}
    assert attributes <= {"style"}
    assert "\x1b" not in printed(hostile)
    assert "\x07" not in tables_csv(hostile) + tables_latex(hostile)
    json.dumps(tables_as_json(hostile), allow_nan=False)


def test_latex_is_balanced_and_every_special_character_escaped():
    names = ("a_b", "50% & $x$", "\\input{x}", "#1^2~", "<tag>")
    latex = tables_latex(tables_of({name: trials(TASKS) for name in names}, base="a_b"))
    assert r"\textbackslash{}input\{x\}" in latex
    assert r"50\% \& \$x\$" in latex
    assert latex.count(r"\begin{") == latex.count(r"\end{")
    body = [line for line in latex.splitlines() if not line.startswith("%")]
    assert not re.search(r"(?<!\\)[#^~_]|(?<!\\)%", "\n".join(body))
    columns = {line.count(" & ") for line in body if line.endswith(r"\\")}
    assert columns == {6, 1}  # six figures in Table 1, one in Table 3


def test_a_spreadsheet_finds_no_formula():
    rows = list(csv.reader(StringIO(tables_csv(tables_of({"=1+1": trials(TASKS)}, base="=1+1")))))
    assert rows[1][1] == "'=1+1"
