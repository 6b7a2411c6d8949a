"""A caller's key that an upstream repeats is not kept; the server's key in an upstream's error reaches no caller."""

from __future__ import annotations

import base64
import gzip
import json
import logging

import pytest

from judges import TableJudge
from likewise.core.labels import Relation
from likewise.service.credentials import RequestRedactor, credentials_of, note_credentials, without
from likewise.service.logs import JsonFormatter
from likewise.store.models import Base
from llm_server import Reply, refused, serving
from service_process import completion

KEY = "customtok-zebra-quokka"
BODY = {"model": "tiny", "messages": [{"role": "user", "content": "Is it safe?"}]}
JSON = {"Content-Type": "application/json"}


def rows_of(service):
    with service.service.store.database.reading() as connection:
        return [repr(tuple(row)) for t in Base.metadata.sorted_tables for row in connection.execute(t.select())]


def post(service, path="/v1/chat/completions", json=BODY, **headers):
    with service.client() as client:
        return client.post(path, json=json, headers={"X-Likewise-Key": service.key} | headers)


def texts_of(text):
    """Each sample says it, and calls a tool with it."""
    call = {"id": "c", "type": "function", "function": {"name": "use", "arguments": json.dumps({"k": KEY})}}
    return lambda request: completion(*[text] * request.body.get("n", 1), calls=[call])


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": f"Bearer {KEY}"},
        {"Authorization": KEY},
        {"Authorization": "Basic " + base64.b64encode(f"joe:{KEY}".encode()).decode()},
        {"Authorization": "Bearer else-where-0", "api-key": KEY},
    ],
    ids=["bearer", "bare", "basic", "another header"],
)
def test_a_callers_key_that_the_upstream_repeats_is_in_no_row_and_the_caller_gets_the_answer_as_it_is(start, headers):
    service, upstream = start(texts_of(f"You sent {KEY}."))
    answer = post(service, **headers)
    assert answer.json()["choices"][0]["message"]["content"] == f"You sent {KEY}."
    assert upstream.requests[0].headers["authorization"] == headers["Authorization"]
    rows = rows_of(service)
    assert any("You sent [redacted]." in row for row in rows)
    assert [row for row in rows if KEY in row] == []


def test_the_search_can_fail(start):
    service, _ = start(texts_of(f"You sent {KEY}."))
    post(service)  # no key of the caller's: nothing says that these words are one
    assert any(KEY in row for row in rows_of(service))


def test_a_key_in_clashes_reasons_and_cut_excerpts_is_not_kept_either(start):
    long = "and so on, " * 13  # 143 characters: an excerpt of 160 ends within the key
    texts = [f"Yes, {long}{KEY} and more.", f"No, {long}{KEY} and more."]
    judge = TableJudge({tuple(sorted(texts)): Relation.CONTRADICTORY, tuple(texts): Relation.CONTRADICTORY})
    place = iter(range(100))
    service, _ = start(
        lambda request: completion(texts[next(place) % 2]),
        judge=judge,
        upstream={"by_n": False},
        policies=[{"runs": 2}],
    )
    answer = post(service, Authorization=f"Bearer {KEY}")
    assert answer.status_code == 409
    assert f"{KEY[:8]}" in answer.json()["error"]["message"]  # the caller's own, cut
    rows = rows_of(service)
    assert any("[redacted]..." in row for row in rows)
    assert [row for row in rows if KEY[:8] in row] == []


def test_a_key_in_the_further_facts_of_runs_is_not_kept(start):
    service, _ = start(lambda request: completion("Yes.", reason=f"refused {KEY}"))
    post(service, Authorization=f"Bearer {KEY}")
    rows = rows_of(service)
    assert any("refused [redacted]" in row for row in rows)
    assert [row for row in rows if KEY in row] == []


@pytest.mark.parametrize("protocol", ["json", "chat"])
def test_the_key_of_an_agent_that_repeats_it_is_not_kept(start, protocol):
    def answer(request):
        if protocol == "chat":
            return completion(*[f"You sent {KEY}."] * request.body.get("n", 1))
        return Reply(200, json.dumps({"answer": f"You sent {KEY}."}).encode(), JSON)

    with serving(answer) as agent:
        service, _ = start(texts_of("unused"), allow=[agent.url.removesuffix("/v1")])
        asked = {"url": agent.url, "protocol": protocol, "model": "tiny", "authorization": f"Bearer {KEY}"}
        found = post(service, "/v1/analyze", {"query": "Is it safe?", "agent": asked})
    assert found.json()["answer"] == f"You sent {KEY}."
    rows = rows_of(service)
    assert any("You sent [redacted]." in row for row in rows)
    assert [row for row in rows if KEY in row] == []


@pytest.mark.parametrize("mode", ["standard", "off"])
@pytest.mark.parametrize("packed", [False, True])
def test_the_servers_key_in_an_error_of_the_upstream_reaches_no_caller(start, mode, packed):
    reply = refused(401, f"no such key: {KEY}", code="invalid_api_key")
    reply.headers["X-Hint"] = f"Bearer {KEY}"
    if packed:
        reply.body = gzip.compress(reply.body)
        reply.headers["Content-Encoding"] = "gzip"
    service, upstream = start(lambda request: reply, upstream={"api_key": KEY}, policies=[{"mode": mode}])
    answer = post(service)
    assert upstream.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert answer.status_code == 401
    assert answer.json()["error"] == {"message": "no such key: [redacted]", "type": "x", "code": "invalid_api_key"}
    assert answer.headers["x-hint"] == "[redacted]"
    assert [row for row in rows_of(service) if KEY in row] == []


@pytest.mark.parametrize("mode", ["standard", "off"])
def test_an_error_that_repeats_the_callers_own_key_comes_as_it_is(start, mode):
    reply = refused(401, f"no such key: {KEY}")
    service, _ = start(lambda request: reply, upstream={"api_key": "the-key-of-the-server"}, policies=[{"mode": mode}])
    answer = post(service, Authorization=f"Bearer {KEY}")
    assert (answer.status_code, answer.content) == (401, reply.body)


def test_an_answer_passes_byte_for_byte_where_the_policy_is_off(start):
    body = json.dumps({"echo": KEY}).encode()
    service, _ = start(lambda request: Reply(200, body, JSON), upstream={"api_key": KEY}, policies=[{"mode": "off"}])
    assert post(service).content == body


def test_half_an_error_is_a_502(start):
    service, _ = start(
        lambda request: Reply(500, b"half", JSON, cut=9), upstream={"api_key": KEY}, policies=[{"mode": "off"}]
    )
    answer = post(service)
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_unreachable")


def test_credentials_are_found_by_the_names_of_headers_and_of_the_query():
    basic = base64.b64encode(b"joe:hunter2hunter2")
    headers = [
        (b"Authorization", b"Basic " + basic),
        (b"X-Goog-Api-Key", b"goog-secret"),
        (b"X-Auth", b"short"),  # of fewer than 6 characters: it would be found in words
        (b"OpenAI-Organization", b"an-organisation"),
    ]
    assert credentials_of(headers, b"key=in-the-query&api-version=2024-02-01") == (
        f"Basic {basic.decode()}",
        basic.decode(),
        "joe:hunter2hunter2",
        "hunter2hunter2",
        "goog-secret",
        "in-the-query",
    )
    assert credentials_of([(b"authorization", b"Basic not-base64!")]) == ("Basic not-base64!", "not-base64!")
    assert credentials_of([]) == ()


def test_a_secret_is_taken_out_of_json_as_json_writes_it():
    secret = 'a/b"c\u00e9-long'
    body = json.dumps({"a": secret}).encode() + json.dumps({"b": secret}).replace("/", "\\/").encode()
    assert without([secret], body) == b'{"a": "[redacted]"}{"b": "[redacted]"}'
    assert without([], body) == body


def test_a_log_line_of_a_request_holds_none_of_its_credentials():
    redactor = RequestRedactor(known=["the-servers-own"])
    record = logging.makeLogRecord({"msg": f"{KEY} and the-servers-own", "levelname": "INFO"})
    note_credentials((KEY,))
    try:
        assert json.loads(JsonFormatter(redactor).format(record))["message"] == "[redacted] and [redacted]"
    finally:
        note_credentials(())
    assert KEY in JsonFormatter(redactor).format(record)
