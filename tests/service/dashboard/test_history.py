"""The pages that show the history, asked for over HTTP as a browser does."""

import re
import time

import pytest

from likewise.core.errors import StoreUnavailableError
from likewise.service.alerts import check
from likewise.service.dashboard.rendering import POLICY
from service_history import ATTACK, NO, TODAY, YES, lives, record_of, verdict_of, write


@pytest.fixture(scope="module")
def history(served):
    """Two agents: one that became worse with version 2, and one whose texts attack whoever reads them."""
    clash = verdict_of(YES, NO, RuntimeError("upstream 500"), query=f"Can I get a refund? {ATTACK}")
    hostile = verdict_of(ATTACK, ATTACK, query=ATTACK)
    records = [
        *lives(),
        record_of(clash, id="clash", minutes=30, version="2"),
        record_of(hostile, id="hostile", agent=f"attacker {ATTACK}"[:200], version=ATTACK, task=ATTACK, model=ATTACK),
    ]
    time.sleep(2)  # the look that the service takes when it starts must not meet half of the history
    write(served.service.store, records)
    check(served.service)  # as it does by itself every few minutes
    return served


def test_nobody_sees_a_page_without_signing_in(history, stranger):
    for path in (
        "/",
        "/verdicts",
        "/verdicts/clash",
        "/agent?name=support",
        "/task",
        "/compare",
        "/analyze",
        "/settings",
    ):
        answer = stranger.http.get(path, follow_redirects=False)
        assert answer.status_code == 303, path
        assert answer.headers["location"].startswith("/login"), path
    assert "refund" not in stranger.get("/verdicts/clash").text


def test_a_part_of_a_page_sends_the_whole_page_to_sign_in(history, stranger):
    answer = stranger.http.get("/task/analysis", headers={"HX-Request": "true"}, follow_redirects=False)
    assert (answer.status_code, answer.headers["hx-redirect"]) == (401, "/login")


def test_every_page_forbids_everything_from_elsewhere_and_everything_inline(history, anna):
    pages = ["/", "/agent?name=support", "/verdicts", "/verdicts/clash", "/verdicts/hostile", "/analyze", "/settings"]
    for path in [*pages, "/nowhere", "/task?agent=support&task=refund&analysis=1"]:
        answer = anna.get(path)
        assert answer.headers["content-security-policy"] == POLICY, path
        assert answer.headers["x-frame-options"] == "DENY", path
        assert answer.headers["cache-control"] == "no-store", path
        assert answer.headers["referrer-policy"] == "same-origin", path
        assert not re.search(
            r"<style|\sstyle=|\son[a-z]+=\"|javascript:\w+\(", re.sub(r"&lt;.*?&gt;", "", answer.text)
        ), path
        assert set(re.findall(r"(?:src|href)=\"(https?:[^\"]*)\"", answer.text)) == set(), path
    assert "unsafe" not in POLICY


def test_the_overview_marks_the_agent_that_became_worse(history, anna):
    page = anna.get("/").text
    assert "<strong>Regression</strong>" in page
    assert re.search(r"Reliability is worse since \d+ \w+ \d{4}, with version 2: 0\.9\d \[", page)
    assert page.index("support") < page.index("attacker")


def test_an_agents_page_shows_each_figure_with_interval_and_the_change(history, anna):
    page = anna.get("/agent", name="support").text
    for title in ("Reliability", "Contradiction rate", "RSD of answers"):
        assert title in page
    assert page.count('<svg class="trend"') == 3
    assert "▼ worse" in page
    assert 'class="area"' in page  # the intervals
    assert re.search(r"<th scope=\"row\">\d+ \w{3}</th><td>\d\.\d\d 0?\.?\d+", page)  # the same as a table
    by_version = anna.get("/agent", name="support", by="version").text
    assert '<th scope="row">1</th>' in by_version
    assert '<th scope="row">2</th>' in by_version


def test_an_agent_that_is_not_there_is_a_page_that_says_so(history, anna):
    answer = anna.get("/agent", name="nobody")
    assert answer.status_code == 404
    assert "No such agent" in answer.text


def test_verdicts_are_found_by_what_is_asked_for(history, anna):
    assert anna.get("/verdicts", agent="support", label="CRITICAL", text="refund").text.count("<li>") >= 1
    assert "No verdict fits." in anna.get("/verdicts", text="a word that nobody said").text
    assert "No verdict fits." in anna.get("/verdicts", since=f"{TODAY.year + 1}-01-01").text
    assert 'href="/verdicts/clash"' in anna.get("/verdicts", decision="refuse", contradictory="1").text
    assert anna.get("/verdicts", since="yesterday").status_code == 400
    assert anna.get("/verdicts", after="no cursor").status_code == 400


def test_further_verdicts_continue_the_list_without_repeating_one(history, anna):
    seen, path = [], "/verdicts"
    while path:
        page = anna.get(path).text
        seen += re.findall(r'<a href="/verdicts/([0-9a-z]+)"><strong>', page)
        more = re.search(r'<li class="more"><a href="([^"]+)"', page)
        path = more and more[1].replace("&amp;", "&")
    assert len(seen) == len(set(seen)) == 17 * 12 + 2


def test_a_filter_gives_only_the_rows_to_a_page_that_asks_for_them(history, anna):
    part = anna.http.get("/verdicts", params={"agent": "support"}, headers={"HX-Request": "true"})
    assert part.text.lstrip().startswith('<ol class="list verdicts"')
    assert "<html" not in part.text
    assert part.headers["vary"] == "HX-Request"


def test_a_verdicts_page_marks_the_sentences_that_clash_and_counts_the_run_that_failed(history, anna):
    page = anna.get("/verdicts/clash").text
    assert "<mark>A refund is possible within 30 days.</mark> Bring the receipt." in page
    assert "<mark>A refund is not possible.</mark> All sales are final." in page
    assert "A refund is <mark>not </mark>possible." in page
    assert page.count('<p class="against">contradicts run') == 2
    assert re.search(r"failed: exception: .*upstream 500", page)
    assert 'class="run-card c1 clash"' in page
    assert 'class="run-card c2 clash"' in page
    assert ">refused<" in page
    assert ">critical<" in page


def test_a_verdict_that_is_not_there_is_a_page_that_says_so(history, anna):
    for name in ("nothing", "x" * 65, "..%2f..%2fetc"):
        assert anna.get(f"/verdicts/{name}").status_code == 404
        assert anna.get(f"/verdicts/{name}/report.pdf").status_code == 404


def test_script_tags_of_an_agent_are_text_on_every_page(history, anna):
    pages = ["/", "/verdicts", "/verdicts/clash", "/verdicts/hostile", "/settings"]
    agent = f"attacker {ATTACK}"[:200]
    answers = [anna.get(path) for path in pages]
    answers += [anna.get("/agent", name=agent), anna.get("/agent", name=ATTACK)]
    answers += [anna.get("/task", agent=agent, task=ATTACK, analysis="1"), anna.get("/task", agent=ATTACK, task=ATTACK)]
    answers += [anna.get("/compare", agent=agent, base=ATTACK, candidate=ATTACK), anna.get("/verdicts", text=ATTACK)]
    answers += [anna.get("/task/analysis", agent=agent, task=ATTACK), anna.get(f"/verdicts/{ATTACK}")]
    shown = 0
    for answer in answers:
        assert "<script>" not in answer.text, answer.url
        assert not re.search(r"<(img|svg)[^>]*\son\w+=", answer.text), answer.url
        assert 'href="javascript' not in answer.text, answer.url
        shown += "&lt;script&gt;document.title" in answer.text
    assert shown >= 8


def test_an_audit_report_is_a_file_that_a_browser_saves(history, anna):
    answer = anna.get("/verdicts/clash/report.pdf")
    assert answer.headers["content-type"] == "application/pdf"
    assert answer.headers["content-disposition"] == 'attachment; filename="likewise-clash.pdf"'
    assert answer.content.startswith(b"%PDF-")


def test_a_viewer_reads_and_changes_nothing(history, victor):
    assert victor.get("/verdicts/clash").status_code == 200
    for path in ("/settings", "/analyze"):
        assert victor.get(path).status_code == 403
        assert f'href="{path}"' not in victor.get("/").text


class Gone:
    """A history that cannot be reached."""

    def __getattr__(self, name):
        raise StoreUnavailableError("history", "the disk is full", "make room")


def test_a_history_that_cannot_be_reached_is_a_page_that_says_so_and_comes_back(history, anna):
    store = history.service.store
    history.service.store = Gone()
    try:
        for path in ("/", "/verdicts", "/verdicts/clash", "/agent?name=support"):
            answer = anna.get(path)
            assert answer.status_code == 503
            assert "The history cannot be reached" in answer.text
            assert answer.headers["content-security-policy"] == POLICY
    finally:
        history.service.store = store
    assert anna.get("/").status_code == 200
