"""POST /v1/analyze over real agents: a plain endpoint, a chat endpoint, a named one, and addresses that are refused."""

from __future__ import annotations

import json
from contextlib import ExitStack

import pytest

from judges import TableJudge
from likewise.core.labels import Relation
from likewise.service.schemas import StoredVerdictOut, VerdictOut
from likewise.service.security.keys import Scope
from llm_server import Reply, refused, serving
from service_process import saying

CLASH = TableJudge({("Yes.", "No."): Relation.CONTRADICTORY})
SECRET = "Bearer agent-secret-0123456789"


def host_of(server):
    return server.url.removesuffix("/v1")


def texts(*answers):
    """A plain agent that gives these answers in turn."""
    place = iter(answers * 100)
    return lambda request: Reply(200, json.dumps({"answer": next(place)}).encode())


@pytest.fixture
def agents(start):
    """A service that may call one agent, and that agent."""

    with ExitStack() as stack:

        def _agents(answer, **settings):
            agent = stack.enter_context(serving(answer))
            service, _ = start(saying("unused"), allow=[host_of(agent)], **settings)
            return service, agent

        yield _agents


def analyze(service, asked, **more):
    agent = asked
    if not isinstance(agent, str | dict):
        agent = {"url": f"{host_of(agent)}/ask"}
    with service.client() as client:
        return client.post("/v1/analyze", json={"agent": agent, "query": "Is it safe?"} | more)


def test_an_agent_is_asked_k_times_and_its_verdict_is_stored(agents):
    service, agent = agents(texts("Yes.", "No.", "Yes.", "Yes."), judge=CLASH)
    answer = analyze(service, agent, runs=4, agent_name="nurse", version="3", task_id="safety")
    verdict = answer.json()
    assert answer.status_code == 200
    assert [request.body for request in agent.requests] == [{"query": "Is it safe?"}] * 4
    assert (verdict["decision"], verdict["answer"], verdict["consensus_answer"]) == ("refuse", None, "Yes.")
    assert (verdict["label"], verdict["runs_agreed"]) == ("CRITICAL", "3/4")
    assert len(verdict["audit_trail"]) == 4
    VerdictOut.model_validate(verdict, strict=True)  # the document promises no more and no less
    with service.client() as client:
        stored = client.get(f"/v1/verdicts/{verdict['id']}").json()
    StoredVerdictOut.model_validate(stored)
    assert {name: stored[name] for name in verdict} == verdict
    origin = [stored[name] for name in ("agent", "version", "task_id", "route")]
    assert origin == ["nurse", "3", "safety", "/v1/analyze"]


def test_fields_of_an_agent_are_measured_each(agents):
    fields = {"main_answer": "Yes.", "key_findings": ["A holds."], "confidence": "HIGH", "sources_used": ["http://a"]}
    service, agent = agents(lambda request: Reply(200, json.dumps(fields).encode()))
    verdict = analyze(service, agent, runs=2).json()
    assert verdict["variance_report"]["findings"]["value"] == 0.0
    assert verdict["variance_report"]["citations"]["value"] == 0.0


@pytest.mark.parametrize("body", [b"Yes.", b'"Yes."', b'{"answer": "Yes."}', b'{"content": "Yes."}'])
def test_an_agent_may_answer_in_several_ways(agents, body):
    service, agent = agents(lambda request: Reply(200, body))
    assert analyze(service, agent, runs=2).json()["answer"] == "Yes."


def test_a_chat_endpoint_is_asked_for_all_samples_at_once(agents):
    service, agent = agents(saying("Yes."))
    endpoint = {"url": agent.url, "protocol": "chat", "model": "tiny", "system": "Be brief.", "authorization": SECRET}
    verdict = analyze(service, endpoint | {"parameters": {"temperature": 0.5}}, mode="adaptive").json()
    assert verdict["runs_agreed"] == "2/2"
    (request,) = agent.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == SECRET
    assert request.body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Is it safe?"},
    ]
    assert (request.body["n"], request.body["temperature"]) == (2, 0.5)
    assert SECRET not in json.dumps(verdict)


def test_an_agent_of_the_settings_needs_no_entry_in_the_list_and_its_key_stays_here(start, monkeypatch):
    monkeypatch.setenv("AGENT_KEY", SECRET.removeprefix("Bearer "))
    with serving(texts("Yes.")) as agent:
        known = {"url": f"{host_of(agent)}/ask", "protocol": "json", "version": "9", "api_key_env": "AGENT_KEY"}
        service, _ = start(saying("unused"), agents={"nurse": known})
        verdict = analyze(service, "nurse").json()
        assert agent.requests[0].headers["authorization"] == SECRET
    assert verdict["answer"] == "Yes."
    (stored,) = service.service.store.verdicts.page().items
    assert (stored.agent, stored.version) == ("nurse", "9")


def test_an_unknown_name_is_answered_with_those_that_there_are(start):
    service, _ = start(saying("unused"), agents={"nurse": {"url": "http://127.0.0.1:9"}})
    answer = analyze(service, "nurs")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "unknown_agent")
    assert "nurse" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:1/", "http://localhost/", "http://169.254.169.254/latest", "file:///etc/passwd", "https://x.y/"],
)
def test_an_address_that_is_not_listed_is_refused_unasked(agents, url):
    service, agent = agents(texts("Yes."))
    answer = analyze(service, {"url": url})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "address_not_allowed")
    assert agent.requests == []


def test_an_agent_that_redirects_elsewhere_is_a_failed_run(agents):
    service, agent = agents(lambda request: Reply(302, b"", {"Location": "http://169.254.169.254/"}))
    answer = analyze(service, agent, runs=2)
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "agent_failed")
    assert "status 302" in answer.json()["error"]["message"]


def test_an_agent_that_fails_each_time_is_a_502_and_history(agents):
    service, agent = agents(lambda request: refused(400, f"no {SECRET}"))
    answer = analyze(service, agent, runs=2)
    assert answer.status_code == 502
    assert SECRET not in answer.text
    (stored,) = service.service.store.verdicts.page().items
    assert (stored.decision, stored.runs_failed, stored.id) == ("failed", 2, answer.headers["x-likewise-verdict-id"])


def test_an_agent_that_does_not_answer_in_time_is_a_504(agents):
    service, agent = agents(lambda request: Reply(200, b"x", delay=20))
    answer = analyze(service, agent, runs=2, deadline=0.5)
    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "agent_timeout")


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"runs": 21}, "runs"),
        ({"budget_runs": 21}, "runs"),
        ({"deadline": 601}, "deadline"),
        ({"runs": 1}, "runs"),
        ({"mode": "fast"}, "mode"),
        ({"run": 3}, "run"),
        ({"query": []}, "query"),
        ({"handling": {"critical": "refuze"}}, "handling.critical"),
        ({"agent": {"url": "http://a", "protocol": "chat"}}, "agent.model"),
        ({"mode": "sequential", "error": 0.0001, "budget_runs": 4}, None),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(agents, change, param):
    service, agent = agents(texts("Yes."))
    answer = analyze(service, agent, **change)
    assert answer.status_code == 400
    found = answer.json()["error"]["param"]
    assert (found or "").split(".")[0] == (param or "").split(".")[0]
    assert agent.requests == []


def test_the_scope_is_needed(agents):
    service, agent = agents(texts("Yes."))
    service.key = service.make_key(Scope.PROXY, Scope.SCORE, Scope.READ)
    assert analyze(service, agent).status_code == 403
    service.key = service.make_key(Scope.ANALYZE)
    assert analyze(service, agent).status_code == 200


def test_sources_are_checked(agents):
    service, agent = agents(texts("The drug is safe."))
    verdict = analyze(service, agent, runs=2, sources={"leaflet": "The drug is safe."}).json()
    assert verdict["grounding"]["supported_share"]["value"] == 1.0
