"""Metrics as the official parser reads them."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from judges import TableJudge
from likewise.core.labels import Relation
from likewise.service.security.keys import Scope
from llm_server import refused
from service_process import saying

CLASH = TableJudge({("Yes.", "No."): Relation.CONTRADICTORY})


def read(service):
    with service.client() as client:
        answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    samples = {}
    for family in text_string_to_metric_families(answer.text):
        assert family.documentation
        for sample in family.samples:
            samples[sample.name, tuple(sorted(sample.labels.items()))] = sample.value
    return samples


def value(samples, name, **labels):
    return samples[name, tuple(sorted(labels.items()))]


def post(service, model="tiny"):
    with service.client() as client:
        client.post("/v1/chat/completions", json={"model": model, "messages": [{"role": "user", "content": "?"}]})


def test_what_happened_is_counted(start):
    service, upstream = start(saying("Yes.", "Yes.", "No."), judge=CLASH)
    post(service)
    upstream.answer = lambda request: refused(429)
    post(service)
    with service.client() as client:
        client.get("/nothing")
    found = read(service)
    path = "/v1/chat/completions"
    assert value(found, "likewise_requests_total", method="POST", route=path, status="409") == 1
    assert value(found, "likewise_requests_total", method="POST", route=path, status="429") == 1
    assert value(found, "likewise_requests_total", method="GET", route="none", status="404") == 1
    assert value(found, "likewise_request_seconds_count", route=path) == 2
    assert value(found, "likewise_verdicts_total", source="proxy", decision="refuse", label="CRITICAL") == 1
    assert value(found, "likewise_critical_contradictions_total", source="proxy") == 1
    assert value(found, "likewise_unanswered_total", source="proxy") == 1
    assert value(found, "likewise_runs_total", source="proxy", status="ok") == 3
    assert value(found, "likewise_tokens_total", direction="input") == 10
    assert value(found, "likewise_tokens_total", direction="output") == 21
    assert value(found, "likewise_upstream_requests_total", upstream="main", status="2xx") == 1
    assert value(found, "likewise_upstream_requests_total", upstream="main", status="4xx") == 1
    assert value(found, "likewise_store_verdicts_total") == 2
    assert value(found, "likewise_store_waiting") == 0
    assert value(found, "likewise_judging_seconds_count") == 1
    assert value(found, "likewise_in_flight") == 0


def test_names_that_callers_make_up_become_no_label(start):
    service, _ = start(saying("Yes."))
    for number in range(5):
        post(service, f"model-{number}")
        with service.client() as client:
            client.request(f"VERB{number}", f"/made/up/{number}")
    names = {label for _, labels in read(service) for label in labels}
    assert not any("model-" in str(label) or "made" in str(label) or "VERB" in str(label) for label in names)


def test_metrics_may_be_behind_a_key(start):
    service, _ = start(saying("Yes."), metrics_keys=True)
    with service.client() as client:
        assert client.get("/metrics", headers={"Authorization": ""}).status_code == 401
        reader = service.make_key(Scope.READ)
        assert client.get("/metrics", headers={"Authorization": f"Bearer {reader}"}).status_code == 200


def test_two_services_in_one_process_count_apart(start):
    first, _ = start(saying("Yes."))
    from likewise.service.metrics import Metrics

    post(first)
    assert b"likewise_verdicts_total{" not in Metrics().text()


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_needs_no_key(start, path):
    service, _ = start(saying("Yes."))
    with service.client() as client:
        assert client.get(path, headers={"Authorization": ""}).status_code == 200
