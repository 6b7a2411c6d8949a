"""Endpoints that work and that fail, on loopback."""

import json
import socket

import pytest

from likewise.cli.doctor_endpoint import ask_endpoint
from llm_server import Reply, refused, said, serving

JSON = {"Content-Type": "application/json"}


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("OPENAI_BASE_URL", "LIKEWISE_LLM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")


def models(*names):
    entries = [{"id": name, "object": "model", "created": 1, "owned_by": "me"} for name in names]
    return Reply(200, json.dumps({"object": "list", "data": entries}).encode(), JSON)


def asked(reply, seconds=5.0):
    with serving(lambda request: reply) as server:
        problem, fix = ask_endpoint(server.url, seconds)
    assert [request.path for request in server.requests] == ["/v1/models"]
    assert "sk-very-secret" not in problem + fix
    return problem.removeprefix(server.url), fix


def test_an_endpoint_that_lists_its_models_is_fine():
    assert asked(models("tiny", "small")) == (" answers; 2 model(s)", "")


def test_the_model_that_is_set_must_be_among_them(monkeypatch):
    monkeypatch.setenv("LIKEWISE_LLM", "large")
    problem, fix = asked(models("tiny", "small"))
    assert "has no model 'large'" in problem
    assert fix == "set LIKEWISE_LLM to one of: tiny, small"
    monkeypatch.setenv("LIKEWISE_LLM", "tiny")
    assert asked(models("tiny", "small"))[1] == ""


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_refused_and_one_that_is_wanted_are_told_apart(monkeypatch, status):
    assert asked(refused(status, "bad key sk-very-secret")) == (
        f" refuses the key ({status})",
        "set OPENAI_API_KEY to a key of this endpoint",
    )
    monkeypatch.delenv("OPENAI_API_KEY")
    assert "wants a key" in asked(refused(status))[0]


def test_a_path_that_is_not_there_is_most_likely_a_missing_v1():
    assert asked(refused(404)) == (" has no list of models (404)", "see that the base URL has its path, mostly /v1")


def test_a_server_that_fails_is_told_by_its_status_and_asked_once():
    assert asked(refused(500))[0] == " answers 500"


@pytest.mark.parametrize("reply", [Reply(200, b"<html>Welcome</html>", {"Content-Type": "text/html"}), said("Hello")])
def test_a_page_or_another_answer_is_no_list_of_models(reply):
    problem, fix = asked(reply)
    assert "with no list of models" in problem
    assert fix


def test_a_server_that_says_nothing_is_given_up_in_time():
    problem, fix = asked(Reply(200, b"{}", JSON, delay=5.0), seconds=0.3)
    assert problem == " gave no answer within 0.3 s"
    assert fix


def test_a_port_that_nobody_listens_on_is_told():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    problem, fix = ask_endpoint(f"http://127.0.0.1:{port}/v1", 2.0)
    assert "cannot be reached" in problem
    assert "OPENAI_BASE_URL" in fix


@pytest.mark.parametrize("url", ["localhost:8000", "http://me:secret@localhost/v1", "ftp://localhost/"])
def test_what_is_no_base_url_is_not_asked(url):
    problem, fix = ask_endpoint(url, 1.0)
    assert "secret" not in problem
    assert fix.startswith("set OPENAI_BASE_URL")
