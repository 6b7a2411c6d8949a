import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from likewise.core.estimate import Estimate
from likewise.core.rollout import StopReason
from likewise.report.html import render_html
from likewise.report.text import anchor
from report_factory import HOSTILE, evaluation, hostile_evaluation, rollout, task

URL_ATTRIBUTES = {"src", "href", "xlink:href", "action", "formaction", "data", "poster", "srcset", "background", "cite"}


class Page(HTMLParser):
    """Collects what a browser would see."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.scripts: list[str] = []
        self.comments: list[str] = []
        self._inside = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        (self.scripts if self._inside == "script" else self.text).append(data)

    def handle_comment(self, data):
        self.comments.append(data)

    def all(self, tag, **attributes):
        return [found for name, found in self.elements if name == tag and attributes.items() <= found.items()]

    def having(self, word):
        return [(tag, found) for tag, found in self.elements if word in (found.get("class") or "").split()]


@pytest.fixture(scope="module")
def hostile() -> Page:
    return Page(render_html(hostile_evaluation()))


@pytest.fixture(scope="module")
def tame() -> Page:
    harmless = hostile_evaluation()
    return Page(render_html(evaluation([task("plain", list(harmless.tasks[0].rollouts[:0]) or None)])))


def test_hostile_text_creates_no_element_that_a_harmless_report_lacks(hostile, tame):
    allowed = {tag for tag, _ in tame.elements} | {"mark", "h3", "li", "ul", "em", "blockquote", "cite", "path", "i"}
    assert {tag for tag, _ in hostile.elements} <= allowed
    for tag in ("img", "iframe", "object", "embed", "form", "link", "base"):
        assert not hostile.all(tag)
    assert len(hostile.all("script")) == 1
    assert len(hostile.all("style")) == 1
    assert not hostile.comments


def test_hostile_text_creates_no_event_handler_and_no_unknown_attribute(hostile):
    names = {name for _, attributes in hostile.elements for name in attributes}
    assert not [name for name in names if name.startswith("on")]
    assert all(re.fullmatch(r"[a-zA-Z][a-zA-Z0-9:-]*", name) for name in names)


def test_every_hostile_task_name_is_there_as_text(hostile):
    text = " ".join(hostile.text)
    for name in ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}{% raw %}", "</style>"):
        assert name in text
    assert "[mobile_data_issue]x[PERSONA:None]" in text


def test_no_control_character_or_direction_mark_reaches_the_page():
    html = render_html(hostile_evaluation())
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", html)
    html.encode("utf-8")


def test_no_attribute_points_out_of_the_page(hostile):
    for _, attributes in hostile.elements:
        for name in URL_ATTRIBUTES & set(attributes):
            assert re.fullmatch(r"#[a-z0-9-]+", attributes[name] or "")
        assert not re.search(r"url\((?!#)", attributes.get("style") or "")
    style = re.search(r"<style>(.*?)</style>", render_html(evaluation()), re.S)
    assert style is not None
    assert not re.search(r"@import|@font-face|url\((?!#)|https?:", style[1])


def test_ids_are_unique_and_every_link_has_its_target(hostile):
    ids = [attributes["id"] for _, attributes in hostile.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {link["href"][1:] for link in hostile.all("a")} <= set(ids)


def test_the_policy_allows_exactly_the_script_of_the_page(hostile):
    (policy,) = [m["content"] for m in hostile.all("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    digest = base64.b64encode(hashlib.sha256("".join(hostile.scripts).encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "img-src data:" in policy
    assert "http" not in policy


def test_tasks_stand_in_their_quadrants():
    tasks = [
        task("good", rsd=0.2, success=1.0),
        task("bad", rsd=0.2, success=0.0),
        task("apart", rsd=3.0, success=1.0),
        task("blind", rsd=0.2, success=None),
    ]
    page = Page(render_html(evaluation(tasks)))
    assert [len(page.having(word)) for word in ("q-right", "q-wrong", "q-apart")] == [1, 1, 1]
    text = " ".join(page.text)
    for words in ("1 task is consistent and wrong: bad.", "1 task is inconsistent: apart.", "blind"):
        assert words in text
    right, wrong = (page.having(word)[0][1] for word in ("q-right", "q-wrong"))
    assert float(right["cx"]) > float(wrong["cx"])
    assert float(page.having("q-apart")[0][1]["cy"]) < float(right["cy"])


def test_a_task_whose_band_leaves_its_standing_open_has_no_dot():
    page = Page(render_html(evaluation([task("open", rsd=0.2, success=1.0, rsd_band=(0.2, 5.0))])))
    assert not page.having("dot")
    assert len(page.having("unknown")) == 2
    text = " ".join(page.text)
    assert "1 task is not placed, too little was measured to say: open." in text
    assert "Not shown, too little is known: open" in text


def test_a_missing_interval_is_explained_once_below_the_table():
    reason = "all 12 tasks have one value"
    flat = {k: Estimate(1.0, n=12 if k < 3 else 1, reason=reason) for k in (1, 2, 3)}
    result = evaluation()
    html = render_html(replace(result, summary=replace(result.summary, tasks=12, pass_hat_k=flat, pass_at_k=flat)))
    section = re.search('<section class="pass".*?</section>', html, re.S)[0]
    assert section.count(reason) == 1
    assert re.findall(r'<td class="n">(\d+)</td>', section) == ["12", "12", "1"]


def test_a_report_without_a_scored_run_starts_with_that():
    dead = [rollout("t", "a", [], stop=StopReason.INVALID, problem="died", success=None)]
    html = render_html(evaluation([task("t", dead, rsd=None, success=None, turns=(), classes=())]))
    assert "No run could be scored; the reasons are below." in html
    assert '<details class="plain" open>' in html


def test_a_long_task_name_is_shortened_in_the_middle_of_the_table():
    name = "start " + "x" * 300 + " end"
    page = Page(render_html(evaluation([task(name)])))
    assert page.all("a", title=name)
    assert page.text.count(name) == 1  # as the title of its section


def test_heat_map_tells_not_measured_from_zero():
    runs = [
        rollout("t", "a", ["x", "y"]),
        rollout("t", "b", ["x"], stop=StopReason.CUT, success=None),
    ]
    page = Page(render_html(evaluation([task("t", runs)])))
    assert len([1 for tag, _ in page.having("h0") if tag == "rect"]) == 1
    assert len([1 for tag, _ in page.having("h-none") if tag == "rect"]) == 1
    assert "t, turn 1: not measured" in page.text
    assert "cut: not measured" in page.text


def test_a_task_of_one_run_is_hatched_and_says_why():
    page = Page(render_html(evaluation([task("t", [rollout("t", "a", ["x", "y"])], rsd=None, turns=())])))
    assert len(page.having("h-none")) == 2
    assert "fewer than two valid rollouts" in " ".join(page.text)


def test_worst_task_comes_first_and_undefined_last():
    html = render_html(evaluation([task("undefined", rsd=None), task("mild", rsd=0.5), task("worst", rsd=4.0)]))
    places = [html.index(f'id="{anchor(name)}"') for name in ("worst", "mild", "undefined")]
    assert places == sorted(places)


def test_clashing_cells_name_whom_they_contradict_and_differing_words_are_marked():
    page = Page(render_html(evaluation([task(contradictory_at=(0, 1, 1))])))
    assert len(page.having("clash")) == 2
    assert "contradicts run 2" in page.text
    assert "contradicts run 1" in page.text
    html = render_html(evaluation([task(contradictory_at=(0, 1, 1))]))
    assert "<mark>no </mark>refund" in html.replace("\n", "")
    assert '<tr class="fork">' in html


def test_a_very_long_text_is_capped_with_a_note_and_the_page_stays_small():
    runs = [rollout("t", name, ["word " * 40_000], seen="seen " * 400_000) for name in ("a", "b")]
    html = render_html(evaluation([task("t", runs)]))
    assert "more characters in the log" in html
    assert len(html) < 3_000_000


def test_thirty_tasks_of_four_runs_of_thirty_turns_stay_below_three_megabytes():
    tasks = []
    for n in range(30):
        runs = [
            rollout(
                f"task {n}",
                f"run {k}",
                [f"{k} says at turn {t}: " + "words and more " * 18 for t in range(30)],
                seen=f"{n} {k} " + '{"flight": "HAT001", "price": 120}, ' * 40,
            )
            for k in range(4)
        ]
        tasks.append(task(f"task {n}", runs, rsd=n / 10))
    assert len(render_html(evaluation(tasks)).encode()) < 3_000_000


def test_charts_are_labelled_and_tables_have_captions(hostile):
    for svg in hostile.all("svg"):
        assert svg.get("aria-hidden") == "true" or (svg.get("role") in {"img", "group"} and svg.get("aria-label"))
    assert len(hostile.all("table")) == len(hostile.all("caption"))


def test_an_evaluation_without_tasks_or_with_undefined_figures_renders():
    render_html(evaluation([]))
    nothing = Estimate.undefined("no task")
    dead = [rollout("t", "a", [], stop=StopReason.INVALID, problem="died", success=None)]
    html = render_html(
        evaluation([task("t", dead, rsd=None, success=None, total_variance=nothing, turns=(), classes=())])
    )
    assert "died" in html


def test_every_hostile_text_has_an_anchor_of_its_own():
    anchors = {anchor(text) for text in (*HOSTILE, "a b", "a-b", "A b", "")}
    assert len(anchors) == len(HOSTILE) + 4
    assert all(re.fullmatch(r"task-[a-z0-9-]+", name) for name in anchors)
