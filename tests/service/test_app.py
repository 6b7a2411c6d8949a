"""The application as a whole: its document, its page, its errors."""

from __future__ import annotations

import re

import pytest

from likewise.core.errors import ConfigError
from likewise.service.app import create_app
from likewise.service.settings import ServiceSettings
from service_process import saying


@pytest.fixture
def client(start):
    service, _ = start(saying("Yes."))
    with service.client() as found:
        yield found


def test_the_document_names_every_path_with_examples_and_errors(client):
    document = client.get("/openapi.json").json()
    assert set(document["paths"]) >= {
        "/v1/analyze",
        "/v1/score",
        "/v1/compare",
        "/v1/reports",
        "/v1/reports/{id}",
        "/v1/reports/{id}/result",
        "/v1/reports/{id}/events",
        "/v1/verdicts",
        "/v1/verdicts/{id}",
        "/v1/chat/completions",
        "/v1/models",
        "/healthz",
        "/readyz",
        "/metrics",
    }
    for path in ("/v1/analyze", "/v1/score", "/v1/chat/completions"):
        operation = document["paths"][path]["post"]
        assert {"400", "401", "403", "413", "429", "503"} <= set(operation["responses"])
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        assert schema.get("examples") or schema.get("example")


def test_fields_of_a_verdict_have_the_names_that_everything_shares(client):
    fields = client.get("/openapi.json").json()["components"]["schemas"]["VerdictOut"]["properties"]
    assert set(fields) >= {
        "answer",
        "reliability",
        "label",
        "contradiction_score",
        "has_critical_contradiction",
        "critical_pairs",
        "runs_agreed",
        "variance_report",
        "remediation_report",
        "audit_trail",
        "metadata",
    }


def test_the_page_of_the_document_loads_nothing_from_anywhere(client):
    answer = client.get("/docs")
    assert answer.status_code == 200
    assert "POST /v1/analyze" in answer.text
    assert "Is drug X safe in pregnancy?" in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert not re.search(r"<script|src=|https?://(?!agents\.example|api\.)", answer.text)


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1/nothing", 404, "not_found"),
        ("GET", "/v1/score", 405, "method_not_allowed"),
        ("POST", "/v1/score", 400, "invalid_request"),
        ("GET", "/v1/verdicts/none", 404, "not_found"),
        ("GET", "/v1/verdicts?limit=0", 400, "invalid_request"),
        ("GET", "/v1/verdicts?after=nonsense", 400, "invalid_request"),
        ("GET", "/v1/verdicts?since=yesterday", 400, "invalid_request"),
        ("GET", "/v1/verdicts?decision=maybe", 400, "invalid_request"),
    ],
)
def test_every_refusal_has_one_form(client, method, path, status, code):
    answer = client.request(method, path)
    assert answer.status_code == status
    assert set(answer.json()) == {"error"}
    assert set(answer.json()["error"]) == {"message", "type", "code", "param"}
    assert answer.json()["error"]["code"] == code


def test_json_that_is_broken_is_said_to_be(client):
    answer = client.post("/v1/score", content=b'{"answers": [', headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "malformed_json")


def test_a_value_that_is_refused_is_not_repeated(client):
    agent = {"url": "https://a.example", "authorization": ["Bearer secret-0123456789"]}
    answer = client.post("/v1/analyze", json={"agent": agent, "query": "?"})
    assert answer.status_code == 400
    assert "secret-0123456789" not in answer.text


def test_an_error_of_our_own_says_nothing_of_what_it_was(start):
    service, _ = start(saying("Yes."))

    def broken(*args, **more):
        raise RuntimeError("sk-abcdefghijklmnopqrstuvwxyz at /root/secret")

    service.service.store.verdicts.page = broken
    with service.client() as client:
        answer = client.get("/v1/verdicts")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal_error")
    assert "secret" not in answer.text


def test_a_store_that_is_gone_makes_the_service_unready_and_its_reads_503(start, tmp_path):
    service, _ = start(saying("Yes."))
    with service.client() as client:
        assert client.get("/readyz").json()["status"] == "ready"
        service.service.store.close()
        for path in tmp_path.glob("history.sqlite*"):
            path.rename(path.with_name(f"away-{path.name}"))
        (tmp_path / "history.sqlite").mkdir()
        unready, read = client.get("/readyz"), client.get("/v1/verdicts")
        alive = client.get("/healthz")
        (tmp_path / "history.sqlite").rmdir()
        for path in tmp_path.glob("away-*"):
            path.rename(path.with_name(path.name.removeprefix("away-")))
        again = client.get("/readyz")
    assert (unready.status_code, unready.json()["checks"]["store"]) == (503, "unavailable")
    assert (read.status_code, read.json()["error"]["code"]) == (503, "store_unavailable")
    assert alive.status_code == 200
    assert again.status_code == 200


@pytest.mark.parametrize(
    "settings",
    [{"allow": ["ftp://x"]}, {"policies": [{"mode": "sequential", "error": 0.001, "budget_runs": 4}]}],
)
def test_settings_that_cannot_be_are_refused_before_anything_is_opened(settings):
    with pytest.raises(ConfigError):
        create_app(ServiceSettings(**settings))
