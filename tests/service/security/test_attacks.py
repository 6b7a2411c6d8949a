"""What somebody who means harm would send: each try is refused in the one form, reaches nobody, and breaks nothing."""

from __future__ import annotations

import json
import socket
from contextlib import closing

import httpx2
import pytest

from likewise.service.security.keys import Scope
from likewise.service.security.login import create_user
from llm_server import serving
from service_history import ATTACK, PASSWORD
from service_process import running, saying

PATHS = ["/v1/chat/completions", "/v1/score", "/v1/analyze", "/v1/compare"]
QUESTION = {"model": "tiny", "messages": [{"role": "user", "content": "Is it safe?"}]}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The service with pages, an upstream, and an agent behind an address that is listed."""
    with serving(saying("Yes.")) as upstream:
        settings = {
            "upstreams": {"main": {"base_url": upstream.url, "api_key": "sk-of-the-server-0123456789"}},
            "agents": {"bot": {"url": upstream.url, "protocol": "chat", "model": "tiny"}},
            "allow": [f"http://127.0.0.1:{upstream.port}"],
            "pass_through": ["embeddings"],
        }
        with running(tmp_path_factory.mktemp("attacked"), **settings) as found:
            create_user(found.service.store, "anna", PASSWORD, "admin", actor="tests")
            found.upstream = upstream
            yield found


@pytest.fixture
def client(served):
    with served.client() as found:
        yield found


@pytest.fixture(autouse=True)
def unharmed(served):
    """Whatever is sent, the service goes on, and nothing but its own address was called."""
    yield
    with served.client() as after:
        assert after.get("/readyz").status_code == 200
        assert after.post("/v1/chat/completions", json=QUESTION).status_code == 200


def said(served, raw, most=65_536):
    """What comes back for these bytes on a connection of their own, until it is closed or a second is over."""
    host, _, port = served.url.removeprefix("http://").partition(":")
    with closing(socket.create_connection((host, int(port)), timeout=20)) as line:
        line.sendall(raw.replace(b"HOST", f"{host}:{port}".encode()))
        line.settimeout(1.0)
        answer = b""
        try:
            while len(answer) < most and (piece := line.recv(65_536)):
                answer += piece
        except TimeoutError:
            pass
        return answer


# Bodies

DEEP = b"[" * 200_000
BODIES = {
    "nested arrays": DEEP,
    "nested objects": b'{"a":' * 100_000,
    "nested in a field": b'{"model":"tiny","messages":' + DEEP,
    "not a number": b'{"answers":["a","b"],"critical_threshold":NaN,"model":"tiny","messages":[]}',
    "infinite": b'{"answers":["a","b"],"critical_threshold":Infinity,"model":"tiny","messages":[]}',
    "a number of 5,000 digits": b'{"model":"tiny","n":' + b"9" * 5_000 + b"}",
    "an exponent": b'{"answers":["a","b"],"critical_threshold":1e999,"model":"tiny","n":1e999}',
    "no UTF-8": b'{"model":"\xff\xfe"}',
    "UTF-16": '{"model":"tiny","n":"x"}'.encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf{}",
    "not JSON": b"<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>",
    "pickle": b"cos\nsystem\n(S'true'\ntR.",
}


DOUBLE = b'{"model":"none","model":"tiny","messages":[]}'  # one parser takes the first, another the last
BODIES["a key twice"] = DOUBLE


@pytest.mark.parametrize("path", [*PATHS, "/v1/embeddings"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_body_that_is_no_request_is_refused_as_one(served, client, path, body):
    before = len(served.upstream.requests)
    answer = client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400, answer.text[:300]
    assert set(answer.json()["error"]) == {"message", "type", "code", "param"}
    assert len(answer.content) < 2_000  # nothing is repeated
    assert len(served.upstream.requests) == before


def test_a_report_of_nonsense_fails_as_a_report_and_takes_nothing_down(client):
    for body in (DEEP, b"\x1f\x8b" + b"\x00" * 100, b"PK\x03\x04" + b"\x00" * 100, b"\x28\xb5\x2f\xfd" + b"\xff" * 100):
        answer = client.post("/v1/reports", params={"name": "../../etc/passwd.json"}, content=body)
        assert answer.status_code == 202


@pytest.mark.parametrize("text", ["\x00", "a\x00b", "\x1b[2J", "\u202e", "\r\nX-Evil: 1", ATTACK])
def test_letters_that_are_none_are_kept_as_they_are_and_harm_nobody(client, text):
    names = {"agent_name": "bot " + text, "task_id": "t " + text}
    answer = client.post("/v1/score", json={"query": text, "answers": [text + "a", text + "a"], **names})
    assert answer.status_code == 200, answer.text[:300]
    verdict = answer.json()["verdict"]
    assert verdict["answer"] == (text + "a").strip()
    stored = client.get(f"/v1/verdicts/{verdict['id']}")
    assert stored.json()["query"] == text
    assert stored.headers["content-type"] == "application/json"
    assert "x-evil" not in stored.headers


def test_half_of_a_pair_of_surrogates_is_no_text(client):
    body = json.dumps({"query": "\ud83d", "answers": ["a", "a"]})
    answer = client.post("/v1/score", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "query")


# Lines and headers


@pytest.mark.parametrize(
    "head",
    [
        "POST /v1/score HTTP/1.1\r\nHost: HOST\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /v1/score HTTP/1.1\r\nHost: HOST\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        "POST /v1/score HTTP/1.1\r\nHost: HOST\r\nContent-Length: -1\r\n\r\n",
        "POST /v1/score HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked, identity\r\n\r\nzz\r\n",
        "POST /v1/score HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n",
        "GET /healthz HTTP/1.1\r\nHost: HOST\r\nX-A: b\rX-Evil: 1\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: HOST\r\n X-Folded: 1\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: HOST\r\nX A: b\r\n\r\n",
        "GET /healthz\x00 HTTP/1.1\r\nHost: HOST\r\n\r\n",
        "GET http://169.254.169.254/latest/ HTTP/9.9\r\nHost: HOST\r\n\r\n",
    ],
)
def test_a_head_that_two_servers_would_read_in_two_ways_is_refused(served, head):
    answer = said(served, head.encode("latin-1"))
    assert answer.startswith(b"HTTP/1.1 4") or answer == b"", answer[:300]
    assert answer.count(b"HTTP/1.1") <= 1  # no second request was found in it


@pytest.mark.parametrize("target", ["http://169.254.169.254/latest/meta-data/", "//evil.example/", "evil.example:80"])
def test_the_service_is_no_open_proxy(served, target):
    answer = said(served, f"GET {target} HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n".encode())
    assert answer.split(b" ", 2)[1] in (b"400", b"404"), answer[:200]
    assert b"CONNECT" not in answer
    tunnel = said(served, b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n")
    assert not tunnel.startswith(b"HTTP/1.1 2")


@pytest.mark.parametrize(
    "header", ["X-Likewise-Agent", "X-Likewise-Version", "X-Likewise-Task", "X-Likewise-Request-Id"]
)
def test_a_name_in_a_header_comes_back_as_no_header_and_is_kept_as_text(served, client, header):
    sent = {header: "a\xe9<script>" + "x" * 3_000}
    answer = client.post(
        "/v1/chat/completions", json=QUESTION, headers=[(k, v.encode("latin-1")) for k, v in sent.items()]
    )
    assert answer.status_code == 200
    assert all("<script>" not in value for value in answer.headers.values())
    assert client.get(f"/v1/verdicts/{answer.headers['x-likewise-verdict-id']}").status_code == 200


def test_a_line_break_in_an_agents_authorization_is_no_header_of_the_call(served, client):
    agent = {"url": served.upstream.url, "protocol": "chat", "model": "tiny", "authorization": "Bearer a\r\nX-Evil: 1"}
    answer = client.post("/v1/analyze", json={"agent": agent, "query": "?"})
    assert answer.status_code in (400, 502)
    assert all("x-evil" not in request.headers for request in served.upstream.requests)


def test_a_callers_headers_of_this_hop_do_not_travel(served, client):
    sent = {
        "X-Forwarded-For": "10.0.0.1",
        "Forwarded": "for=10.0.0.1",
        "Connection": "close, X-Secret",
        "X-Secret": "1",
    }
    assert client.post("/v1/chat/completions", json=QUESTION, headers=sent).status_code == 200
    assert not {"x-forwarded-for", "forwarded", "x-secret"} & set(served.upstream.requests[-1].headers)


# Paths

WAYS_UP = [
    "/static/../../../../etc/passwd",
    "/static/..%2f..%2f..%2fetc%2fpasswd",
    "/static/%2e%2e/%2e%2e/etc/passwd",
    "/static/....//....//etc/passwd",
    "/static/..%5c..%5cetc%5cpasswd",
    "/static/%00style.css",
    "/v1/verdicts/..%2f..%2fetc%2fpasswd",
    "/v1/reports/..%2f..%2fetc%2fpasswd/result",
    "/v1/models/..%2f..%2fadmin",
    "/v1/models/%2e%2e/%2e%2e/admin",
    "/v1/embeddings/../../admin",
    "/r/..%2f..%2f/v1/models/../../admin",
    "/verdicts/..%2f..%2fetc%2fpasswd/report.pdf",
]


@pytest.mark.parametrize("path", WAYS_UP)
def test_no_path_leads_out_of_what_is_served(served, path):
    before = len(served.upstream.requests)
    raw = f"GET {path} HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer {served.key}\r\nConnection: close\r\n\r\n"
    answer = said(served, raw.encode())
    assert int(answer.split(b" ", 2)[1]) in (303, 307, 400, 404, 405), answer[:300]
    assert b"root:" not in answer
    assert [request.path for request in served.upstream.requests[before:] if "admin" in request.path] == []


@pytest.mark.parametrize("path", ["/v1/verdicts/", "/healthz/", "/login/", "/static", "/agent/"])
def test_nobody_is_sent_to_a_host_that_only_the_request_names(served, path):
    raw = (
        f"GET {path} HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer {served.key}\r\nConnection: close\r\n\r\n"
    )
    assert b"evil.example" not in said(served, raw.encode())


# Keys


def test_a_key_does_what_its_scopes_say_and_nothing_else(served):
    reads, scores = served.make_key(Scope.READ), served.make_key(Scope.SCORE)
    with httpx2.Client(base_url=served.url, timeout=60, verify=False) as http:
        wrong = [
            http.post("/v1/score", json={"answers": ["a", "a"]}, headers={"Authorization": f"Bearer {reads}"}),
            http.post("/v1/chat/completions", json=QUESTION, headers={"X-Likewise-Key": reads}),
            http.post(
                "/v1/analyze", json={"agent": "bot", "query": "?"}, headers={"Authorization": f"Bearer {scores}"}
            ),
            http.get("/v1/verdicts", headers={"Authorization": f"Bearer {scores}"}),
        ]
    assert [answer.status_code for answer in wrong] == [403] * 4


def test_a_key_in_an_address_is_no_key_and_a_broken_one_is_not_repeated(served):
    with httpx2.Client(base_url=served.url, timeout=60, verify=False) as http:
        by_query = http.get("/v1/verdicts", params={"key": served.key, "api_key": served.key})
        cookie = http.get("/v1/verdicts", headers={"Cookie": f"key={served.key}"})
        broken = http.get("/v1/verdicts", headers={"Authorization": f"Bearer {served.key[:-4]}"})
        long = http.get("/v1/verdicts", headers={"Authorization": "Bearer lw_" + "a" * 20_000})
    assert [each.status_code for each in (by_query, cookie, broken, long)] == [401] * 4
    assert served.key[:-4] not in broken.text


def test_a_reports_name_is_no_way_to_somebody_elses(served):
    mine, theirs = served.make_key(Scope.SCORE), served.make_key(Scope.SCORE)
    with httpx2.Client(base_url=served.url, timeout=60, verify=False) as http:
        made = http.post("/v1/reports", content=b"{}", headers={"Authorization": f"Bearer {mine}"}).json()["id"]
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/result"), ("GET", "/events")):
            other = http.request(method, f"/v1/reports/{made}{path}", headers={"Authorization": f"Bearer {theirs}"})
            assert other.status_code == 404


# Pages


def page(served, path, **options):
    with httpx2.Client(base_url=served.url, timeout=60, verify=False) as http:
        return http.get(path, **options)


@pytest.mark.parametrize(
    "wanted",
    [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/%0d%0aX-Evil:1",
        "javascript:1",
    ],
)
def test_signing_in_leads_nowhere_else(served, wanted):
    answer = page(served, "/login", params={"next": wanted})
    assert answer.status_code == 200
    assert "evil.example" not in answer.text
    assert "x-evil" not in answer.headers


@pytest.mark.parametrize("value", ["", "a" * 100, "a" * 9_000, "../../x", "' OR 1=1 --", "%00", "lw_a_b"])
def test_a_cookie_that_was_made_up_is_nobody(served, value):
    name = served.service.settings.dashboard and "likewise_session"
    answer = page(served, "/settings", headers={"Cookie": f"{name}={value}; {name}={value}"})
    assert answer.status_code in (303, 400, 431)


@pytest.mark.parametrize("search", ["' OR '1'='1", "%' --", "%", "_", "\\", "a" * 5_000, "\x00", "<script>"])
def test_words_that_are_searched_for_are_words(served, client, search):
    for name in ("agent", "task_id", "version"):
        answer = client.get("/v1/verdicts", params={name: search})
        assert answer.status_code in (200, 400)
        assert answer.json().get("items", []) == []


def test_a_cursor_that_was_made_up_is_refused(client):
    for cursor in ("x", "' OR 1=1", "e30", "a" * 500, "WyIxOTcwIiwgMV0"):
        assert client.get("/v1/verdicts", params={"after": cursor}).status_code == 400
