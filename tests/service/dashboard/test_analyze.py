"""Running an agent from the page: a real agent behind a real address."""

import json
import re

import pytest

from llm_server import Reply, serving
from service.dashboard.conftest import Browser, running_pages
from service_history import NO, YES


@pytest.fixture
def agent():
    """An agent that says YES and NO in turn; what it was asked is kept."""
    asked = []

    def answer(request):
        asked.append(request.body)
        if request.body["query"] == "break":
            return Reply(500, b"{}", {"Content-Type": "application/json"})
        said = {"answer": YES if len(asked) % 2 else NO}
        return Reply(200, json.dumps(said).encode(), {"Content-Type": "application/json"})

    with serving(answer) as server:
        server.asked = asked
        yield server


@pytest.fixture
def anna(agent, tmp_path):
    agents = {"support": {"url": agent.url, "protocol": "json", "version": "7"}}
    with running_pages(tmp_path, agents=agents) as served:
        browser = Browser(served.url)
        with browser.http:
            browser.sign_in("anna")
            browser.served = served
            yield browser


def test_a_question_is_asked_several_times_and_the_verdict_shown(anna, agent):
    answer = anna.post(
        "/analyze", {"agent": "support", "query": "Refund?", "runs": "4", "mode": "standard"}, page="/analyze"
    )
    assert re.fullmatch(r"/verdicts/[0-9a-f]{32}", answer.url.path)
    assert len(agent.asked) == 4
    assert answer.text.count("contradicts run") == 4
    assert "<mark>A refund is not possible.</mark>" in answer.text
    (stored,) = anna.served.service.store.verdicts.page().items
    assert (stored.agent, stored.version, stored.caller) == ("support", "7", "user:anna")


def test_a_source_is_checked_against(anna):
    fields = {"agent": "support", "query": "Refund?", "runs": "2", "mode": "full", "source": YES}
    answer = anna.post("/analyze", fields, page="/analyze")
    assert "Does the answer rest on the sources?" in answer.text


def test_an_agent_that_gives_no_answer_is_a_verdict_that_says_so(anna):
    answer = anna.post("/analyze", {"agent": "support", "query": "break", "runs": "2"}, page="/analyze")
    assert answer.url.path.startswith("/verdicts/")
    assert ">failed<" in answer.text
    assert answer.text.count("failed: ") >= 2


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        ({"runs": "1"}, 422, "runs"),
        ({"runs": "21"}, 400, "runs: at most 20"),
        ({"runs": "many"}, 422, "runs"),
        ({"mode": "guess"}, 422, "mode"),
        ({"agent": "another"}, None, "another"),
        ({"task": "x" * 201}, 413, "Too long"),
    ],
)
def test_what_cannot_be_run_is_said_beside_the_form_and_nothing_is_asked(anna, agent, changes, status, words):
    fields = {"agent": "support", "query": "Refund?", "runs": "3", "mode": "standard"} | changes
    answer = anna.post("/analyze", fields, page="/analyze")
    assert answer.status_code == status if status else 400 <= answer.status_code < 500
    assert words in answer.text
    assert agent.asked == []


def test_what_was_typed_stays_in_the_form_as_text(anna):
    answer = anna.post("/analyze", {"agent": "support", "query": "<script>x</script>", "runs": "1"}, page="/analyze")
    assert "&lt;script&gt;x&lt;/script&gt;</textarea>" in answer.text
