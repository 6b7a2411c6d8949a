"""Markdown of a report, and the helpers that keep texts of others harmless in it."""

import pytest

from likewise.evaluation.gate_rules import GateSettings
from likewise.evaluation.gates import check_gates
from likewise.report.markdown import report_markdown
from likewise.report.markdown_text import code, plain, table
from rendered import tags_of
from report_factory import evaluation, hostile_evaluation, task

LONGEST = 65_536
"""Characters of a comment on GitHub."""


def written(whole, *gates):
    return report_markdown(whole, check_gates(whole, GateSettings().with_gates(gates)))


def test_failed_gates_come_first_with_task_and_number():
    text = written(evaluation([task("good", rsd=1.0), task("bad", rsd=3.0)]), "rsd > 2")
    assert text.startswith("### ❌ Consistency of 2 tasks")
    assert "**1 gate not passed**\n\n- `bad`: rsd 3 \\> 2\n" in text
    assert written(evaluation([task()]), "rsd > 9").startswith("### ✅ Consistency")
    assert written(evaluation([task()])).startswith("### Consistency")


def test_all_figures_are_there_with_intervals():
    text = written(evaluation([task("a"), task("b")]))
    assert "| RSD | 1.20 | 0.80 to 1.60 |" in text
    assert "| pass^2 | 30% | 20 to 40% |" in text
    assert "| `a` | 2/2 | undecided | 50% | 0% | 1.00 | 0.90 to 1.10 | turn 1 claim, by agent |" in text


def test_five_hundred_tasks_fit_a_comment_and_say_how_many_are_not_shown():
    text = written(evaluation([task(f"task {'x' * 300} {i}", rsd=1 + i / 500) for i in range(500)]), "rsd > 0")
    assert len(text) < LONGEST
    assert "450 more in the JSON and HTML reports" in text
    assert "- and 470 more" in text


def test_rows_of_tables_have_as_many_cells_as_their_head():
    for text in (written(evaluation([task("a|b"), task("`c`|")]), "rsd > 0"), written(hostile_evaluation(), "rsd > 0")):
        rows = [line for line in text.splitlines() if line.startswith("|")]
        assert rows
        for line in rows:
            assert line.replace("\\|", "").count("|") in (4, 8, 9)


OURS = {"h3", "p", "ul", "li", "strong", "table", "thead", "tbody", "tr", "th", "td", "code"}
OURS |= {"details", "summary", "sub", "br"}


def test_nothing_of_hostile_names_is_markup_once_it_is_rendered():
    text = written(hostile_evaluation(), "rsd > 0", "flaky")
    assert "\x1b" not in text
    tags, attributes = tags_of(text)
    assert tags <= OURS
    assert attributes <= {"style"}


def test_the_check_of_what_is_rendered_can_fail():
    assert "script" in tags_of("<script>alert(1)</script>")[0]
    assert "a" in tags_of("[x](https://evil.example)")[0]


@pytest.mark.parametrize(
    ("text", "span"), [("a", "`a`"), ("a|b", "`a│b`"), ("a`b", "`` a`b ``"), ("``", "``` `` ```"), ("", "` `")]
)
def test_code_spans_hold_any_name(text, span):
    assert code(text) == span


def test_a_pipe_stays_outside_of_tables():
    assert code("a|b", cell=False) == "`a|b`"


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("<b>", "\\<b\\>"),
        ("[x](y)", "\\[x\\](y)"),
        ("@user", "@\u200buser"),
        ("#12", "#\u200b12"),
        ("https://evil.example", "https:\\/\\/evil.example"),
        ("see www.evil.example", "see www\\.evil.example"),
        ("a_b*c", "a\\_b\\*c"),
        ("0.15 to 0.53", "0.15 to 0.53"),
    ],
)
def test_plain_text_has_no_markup_link_or_mention(text, escaped):
    assert plain(text) == escaped


def test_a_table_aligns_what_it_is_told_to():
    assert table(("a", "b"), [("1", "2")], [1]) == ["| a | b |", "| --- | --: |", "| 1 | 2 |"]
