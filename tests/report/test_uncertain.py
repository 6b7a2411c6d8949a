"""Judgements that the judge is not sure of, and what it tells of itself, in every face of a report."""

from __future__ import annotations

import io
import re

from rich.console import Console

from likewise.core.labels import Relation
from likewise.evaluation.results import JudgeUse
from likewise.evaluation.uncertain import Uncertain, UncertainPair
from likewise.report.as_json import evaluation_as_json
from likewise.report.html import render_html
from likewise.report.terminal import render_terminal
from report_factory import HOSTILE, evaluation, task

PAIR = UncertainPair("task 1", 1, "run 1", "run 2", Relation.NEUTRAL, 0.4321, "nli", 3)


def terminal(result):
    out = io.StringIO()
    render_terminal(result, Console(file=out, width=100))
    return " ".join(out.getvalue().split())


def with_uncertain(*pairs, distinct=None, total=None, **more):
    found = Uncertain(0.6, total or sum(pair.count for pair in pairs), distinct or len(pairs), pairs)
    return evaluation([task(contradictory_at=(0, 1, 1))], uncertain=found, **more)


def test_the_json_lists_them():
    assert evaluation_as_json(with_uncertain(PAIR))["uncertain"] == {
        "below": 0.6,
        "total": 3,
        "distinct": 1,
        "pairs": [
            {
                "task_id": "task 1",
                "turn": 1,
                "run_i": "run 1",
                "run_j": "run 2",
                "relation": "neutral",
                "confidence": 0.4321,
                "rule": "nli",
                "count": 3,
            }
        ],
    }
    assert evaluation_as_json(evaluation())["uncertain"] == {"below": 0.6, "total": 0, "distinct": 0, "pairs": []}


def test_the_terminal_counts_them():
    assert "uncertain 3 of the judged pairs of actions (1 distinct pair) have a confidence below 0.6" in terminal(
        with_uncertain(PAIR)
    )
    assert "uncertain" not in terminal(evaluation())


def test_the_page_lists_them_and_links_to_their_task():
    page = render_html(with_uncertain(PAIR))
    section = page[page.index('id="uncertain"') :]
    section = section[: section.index("</details>")]
    assert "1 judgement of confidence below 0.6" in section
    (href,) = re.findall(r'href="#([^"]+)"', section)
    assert f'id="{href}"' in page
    assert "neutral" in section
    assert "0.43" in section
    assert 'id="uncertain"' not in render_html(evaluation())


def test_the_page_shows_the_first_fifty_and_counts_the_rest():
    pairs = [UncertainPair("task 1", i, "run 1", "run 2", Relation.NEUTRAL, 0.5, "nli", 1) for i in range(60)]
    page = render_html(with_uncertain(*pairs, distinct=300, total=300))
    section = page[page.index('id="uncertain"') :]
    section = section[: section.index("</details>")]
    assert section.count("<tr><td>") == 50
    assert "250 more; the JSON report lists the 60 least sure." in section


def test_what_the_judge_tells_of_itself_is_in_every_face():
    use = JudgeUse(1, {"llm": 1}, 0, 1, ("tiny was asked 4 times: 130 tokens read",))
    result = evaluation(judge_use=use)
    assert evaluation_as_json(result)["judge_use"]["notes"] == list(use.notes)
    assert "tiny was asked 4 times: 130 tokens read" in terminal(result)
    assert "tiny was asked 4 times: 130 tokens read" in render_html(result)


def test_hostile_names_are_shown_as_text_only():
    pairs = tuple(UncertainPair(text, 0, text, text, Relation.NEUTRAL, 0.5, text, 1) for text in HOSTILE)
    hostile = with_uncertain(*pairs, judge_use=JudgeUse(1, {}, 0, 1, HOSTILE))
    page = render_html(hostile)
    for forbidden in ("<script>alert", "<img src=x", "\x1b", "\u202e"):
        assert forbidden not in page
    assert "\x1b" not in terminal(hostile)
