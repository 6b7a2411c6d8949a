"""Traces as a real receiver reads them: GenAI names, one tree for each request, and no text of anybody's."""

from __future__ import annotations

import pytest

from judges import TableJudge
from likewise.core.labels import Relation
from llm_server import refused, serving
from otlp_receiver import receiving
from service_process import completion, running, saying

CLASH = TableJudge({("Yes, said the spy.", "No, said the spy."): Relation.CONTRADICTORY})
BODY = {"model": "tiny", "messages": [{"role": "user", "content": "Is the spy safe?"}], "temperature": 0.5, "seed": 3}
SERVER, CLIENT = 2, 3
PARENT = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}


@pytest.fixture
def receiver():
    with receiving() as found:
        yield found


def post(service, **headers):
    with service.client() as client:
        return client.post("/v1/chat/completions", json=BODY, headers=headers)


def test_a_verified_request_is_one_tree_with_the_names_of_the_conventions(start, receiver):
    telemetry = {"endpoint": receiver.url, "service_name": "guard", "headers": {"X-Token": "otlp-secret"}}
    service, upstream = start(saying("Yes."), upstream={"by_n": False}, telemetry=telemetry)
    identity = post(service, **PARENT).headers["x-likewise-verdict-id"]
    spans = receiver.wait_for(4)
    (server,) = [span for span in spans if span["kind"] == SERVER]
    calls = [span for span in spans if span["kind"] == CLIENT]
    assert server["name"] == "POST /v1/chat/completions"
    assert (server["trace"], server["parent"]) == (PARENT["traceparent"][3:35], PARENT["traceparent"][36:52])
    assert server["resource"]["service.name"] == "guard"
    (name, event) = server["events"][0]
    assert name == "gen_ai.evaluation.result"
    assert event["gen_ai.evaluation.name"] == "reliability"
    assert event["gen_ai.evaluation.score.value"] == 1.0
    assert event["gen_ai.evaluation.score.label"] == "HIGH"
    assert event["likewise.verdict.id"] == identity
    assert len(calls) == 3
    for call in calls:
        assert (call["name"], call["trace"], call["parent"]) == ("chat tiny", server["trace"], server["id"])
        found = call["attributes"]
        assert found["gen_ai.operation.name"] == "chat"
        assert found["gen_ai.provider.name"] == "main"
        assert (found["gen_ai.request.model"], found["gen_ai.response.model"]) == ("tiny", "tiny")
        assert (found["gen_ai.request.temperature"], found["gen_ai.response.id"]) == (0.5, "chatcmpl-9")
        assert (found["gen_ai.usage.input_tokens"], found["gen_ai.usage.output_tokens"]) == (10, 7)
        assert found["gen_ai.response.finish_reasons"] == ["stop"]
        assert (found["server.address"], found["server.port"]) == ("127.0.0.1", upstream.port)
    sent = {request.headers["traceparent"] for request in upstream.requests}
    assert sent == {f"00-{call['trace']}-{call['id']}-01" for call in calls}  # the upstream goes on with our spans
    assert receiver.headers[0]["x-token"] == "otlp-secret"


def test_a_request_that_is_passed_through_is_a_tree_as_well(start, receiver):
    service, upstream = start(saying("Yes."), policies=[{"mode": "off"}], telemetry={"endpoint": receiver.url})
    post(service, **PARENT)
    spans = receiver.wait_for(2)
    (server,) = [span for span in spans if span["kind"] == SERVER]
    (call,) = [span for span in spans if span["kind"] == CLIENT]
    assert (server["parent"], call["parent"]) == (PARENT["traceparent"][36:52], server["id"])
    assert (call["name"], call["attributes"]["http.response.status_code"]) == ("chat tiny", 200)
    assert upstream.requests[0].headers["traceparent"] == f"00-{call['trace']}-{call['id']}-01"


def test_an_error_of_the_upstream_is_an_error_of_its_span(start, receiver):
    service, _ = start(lambda request: refused(429), telemetry={"endpoint": receiver.url})
    post(service)
    (call,) = [span for span in receiver.wait_for(2) if span["kind"] == CLIENT]
    assert (call["status"], call["attributes"]["error.type"]) == (2, "429")


def test_no_text_of_question_or_answer_and_no_key_is_in_a_trace(start, receiver):
    service, _ = start(
        saying("Yes, said the spy.", "No, said the spy."), judge=CLASH, telemetry={"endpoint": receiver.url}
    )
    assert post(service).status_code == 409
    receiver.wait_for(2)
    raw = b"".join(receiver.raw)
    assert b"gen_ai.evaluation.result" in raw
    assert b"spy" not in raw
    assert service.key.encode() not in raw


def test_without_an_endpoint_nothing_is_traced_and_the_callers_trace_is_passed_on(start):
    service, upstream = start(saying("Yes."))
    post(service, **PARENT)
    assert upstream.requests[0].headers["traceparent"] == PARENT["traceparent"]


def test_spans_that_wait_are_sent_at_shutdown(tmp_path, receiver):
    with (
        serving(lambda request: completion("Yes.", "Yes.", "Yes.")) as upstream,
        running(tmp_path, upstreams={"a": {"base_url": upstream.url}}, telemetry={"endpoint": receiver.url}) as service,
    ):
        post(service)
    assert len(receiver.spans) == 2


def test_a_receiver_that_is_gone_disturbs_nobody(start):
    service, _ = start(saying("Yes."), telemetry={"endpoint": "http://127.0.0.1:9"})
    assert post(service).status_code == 200
