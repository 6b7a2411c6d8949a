"""The proxy's requests: who may ask, where they go, what is refused before anything is sent."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from likewise.service.security.keys import Scope
from llm_server import Reply
from service_process import completion, running, saying

BODY = {"model": "tiny", "messages": [{"role": "user", "content": "Capital of France?"}]}
LIST = Reply(200, b'{"object":"list", "data":[ {"id":"tiny"} ]}', {"Content-Type": "application/json"})


def test_without_a_key_nothing_is_sent_upstream(start):
    service, upstream = start(saying("Paris."))
    with service.client() as client:
        for given in ("", "Bearer sk-theirs", "Bearer lw_no"):
            answer = client.post("/v1/chat/completions", json=BODY, headers={"Authorization": given})
            assert answer.status_code == 401
            assert answer.json()["error"]["code"] == "invalid_api_key"
            assert answer.headers["www-authenticate"] == "Bearer"
    assert upstream.requests == []


def test_a_key_without_the_scope_is_refused(start):
    service, upstream = start(saying("Paris."))
    key = service.make_key(Scope.READ)
    with service.client() as client:
        answer = client.post("/v1/chat/completions", json=BODY, headers={"Authorization": f"Bearer {key}"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "missing_scope")
    assert upstream.requests == []


def test_a_key_with_its_requests_spent_is_told_when_to_come_back(start):
    service, _ = start(saying("Paris."))
    key = service.make_key(Scope.PROXY, per_minute=6, burst=2)
    with service.client() as client:
        answers = [
            client.post("/v1/chat/completions", json=BODY, headers={"Authorization": f"Bearer {key}"}) for _ in range(3)
        ]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert 8 <= int(answers[2].headers["retry-after"]) <= 10  # one in ten seconds


def test_our_key_never_reaches_the_upstream_and_the_servers_does(start):
    service, upstream = start(saying("Paris."), upstream={"api_key": "sk-of-the-server"})
    with service.client() as client:
        client.post("/v1/chat/completions", json=BODY)
    (request,) = upstream.requests
    assert request.headers["authorization"] == "Bearer sk-of-the-server"
    assert service.key not in json.dumps(request.headers) + json.dumps(request.body)


@pytest.mark.parametrize("mode", ["standard", "off"])
def test_the_callers_own_upstream_key_is_passed_on_where_ours_has_a_header_of_its_own(start, mode):
    service, upstream = start(saying("Paris."), upstream={"api_key": "sk-of-the-server"}, policies=[{"mode": mode}])
    with service.client() as client:
        headers = {"X-Likewise-Key": service.key, "Authorization": "Bearer sk-theirs", "Cookie": "session=1"}
        assert client.post("/v1/chat/completions", json=BODY, headers=headers).status_code == 200
    (request,) = upstream.requests
    assert request.headers["authorization"] == "Bearer sk-theirs"
    assert not {"x-likewise-key", "cookie"} & set(request.headers)


def test_without_keys_on_loopback_anyone_may_ask(start):
    service, upstream = start(saying("Paris."), keys=False)
    with service.client() as client:
        answer = client.post("/v1/chat/completions", json=BODY, headers={"Authorization": "Bearer sk-theirs"})
    assert answer.status_code == 200
    assert upstream.requests[0].headers["authorization"] == "Bearer sk-theirs"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Origin": "http://[::1]"}, 200),
        ({"Host": "localhost:8700"}, 200),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1.evil.example"}, 403),
        ({"Origin": "http://[::1"}, 403),
        ({"Host": "evil.example"}, 403),  # a name that its owner has led to this machine
        ({"Host": ""}, 403),
    ],
)
def test_without_keys_a_page_of_the_internet_may_not_ask_through_the_browser_of_this_machine(start, headers, status):
    service, upstream = start(saying("Paris."), keys=False)
    upstream.answer = lambda request: replace(
        completion("Paris.", "Paris.", "Paris."), headers={"Access-Control-Allow-Origin": "*"}
    )
    with service.client() as client:  # as a form sends it, which no browser asks about before
        sent = {"Content-Type": "text/plain"} | headers
        answer = client.post("/v1/chat/completions", content=json.dumps(BODY), headers=sent)
    assert answer.status_code == status
    assert len(upstream.requests) == (status == 200)
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "malformed_json"),
        (b"{", "malformed_json"),
        (b"[]", "malformed_json"),
        (b"\xff\xfe", "malformed_json"),
        (b'{"model": NaN}', "malformed_json"),
        (b"[" * 100_000, "malformed_json"),
    ],
)
@pytest.mark.parametrize("mode", ["standard", "off"])
def test_a_body_that_is_no_json_object_is_refused_by_the_service(start, body, code, mode):
    service, upstream = start(saying("Paris."), policies=[{"mode": mode}])
    with service.client() as client:
        answer = client.post("/v1/chat/completions", content=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)
    assert upstream.requests == []


def test_a_model_that_no_upstream_takes_is_not_found(start):
    service, _ = start(saying("Paris."), upstream={"models": ["gpt-*"]})
    with service.client() as client:
        answer = client.post("/v1/chat/completions", json=BODY)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "model_not_found")


def test_a_route_chooses_among_policies(start):
    policies = [{"route": "careful", "runs": 4}, {"mode": "off"}]
    service, upstream = start(saying("Paris."), policies=policies)
    with service.client() as client:
        careful = client.post("/r/careful/v1/chat/completions", json=BODY)
        plain = client.post("/v1/chat/completions", json=BODY)
    assert careful.headers["x-likewise-runs-agreed"] == "4/4"
    assert "likewise" in careful.json()
    assert plain.headers["x-likewise-mode"] == "off"
    assert "likewise" not in plain.json()
    assert [request.body.get("n") for request in upstream.requests] == [4, None]


def test_the_models_of_the_one_upstream_come_as_they_are(start):
    service, upstream = start(lambda request: LIST)
    with service.client() as client:
        assert client.get("/v1/models").content == LIST.body
        assert client.get("/r/any/v1/models").content == LIST.body
        assert client.get("/v1/models/org/tiny%20one").content == LIST.body
    assert [request.path for request in upstream.requests] == ["/v1/models", "/v1/models", "/v1/models/org/tiny%20one"]


def test_the_models_of_several_upstreams_are_put_together_and_one_that_is_down_costs_its_own_alone(start, tmp_path):
    _, upstream = start(lambda request: LIST, keys=False)
    both = {
        "a": {"base_url": upstream.url},
        "b": {"base_url": upstream.url},
        "down": {"base_url": "http://127.0.0.1:9/v1"},
    }
    other = tmp_path / "other"
    other.mkdir()
    with running(other, keys=False, upstreams=both) as second, second.client() as client:
        assert client.get("/v1/models").json() == {"object": "list", "data": [{"id": "tiny"}, {"id": "tiny"}]}


@pytest.mark.parametrize("path", ["../admin", "..%2fadmin", "a/../../admin", ".", "a//b"])
def test_a_models_name_leads_nowhere_else(start, path):
    service, upstream = start(lambda request: LIST)
    with service.client() as client:
        client.get(f"/v1/models/{path}")
    assert [request.path for request in upstream.requests if "admin" in request.path] == []


def test_a_further_path_is_passed_through_only_where_it_is_set(start, tmp_path):
    embedding = Reply(200, b'{"data": [1.0]}', {"Content-Type": "application/json"})
    service, upstream = start(lambda request: embedding, pass_through=["embeddings"])
    with service.client() as client:
        assert client.post("/v1/embeddings", json={"model": "tiny", "input": "x"}).content == embedding.body
        answer = client.post("/v1/responses", json={"model": "tiny"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    assert [request.path for request in upstream.requests] == ["/v1/embeddings"]
