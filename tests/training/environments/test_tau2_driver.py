from __future__ import annotations

import json

import pytest

from likewise.training.environments.tau2_driver import chat, read_answer
from llm_server import Reply, refused, said, serving


def call(name, arguments, **more):
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}} | more


def test_text_and_calls_are_read():
    message = {"content": "Now.", "tool_calls": [call("cancel", '{"id": 7}')]}
    assert read_answer(message) == ("Now.", [("c1", "cancel", {"id": 7})])


@pytest.mark.parametrize(
    "broken",
    [
        call("cancel", '{"id": '),
        call("cancel", "[7]"),
        call("", "{}"),
        call(None, "{}"),
        call("cancel", None),
        {"id": "c1"},
        "cancel(7)",
    ],
)
def test_a_call_that_cannot_be_made_stays_as_text_beside_those_that_can(broken):
    text, calls = read_answer({"content": "Now.", "tool_calls": [broken, call("find", {})]})
    assert calls == [("c1", "find", {})]
    said_first, kept = text.split("\n")
    assert said_first == "Now."
    assert json.loads(kept) == broken


def test_an_answer_of_nothing_is_nothing():
    assert read_answer({"content": None}) == (None, [])
    assert read_answer({"content": "", "tool_calls": []}) == (None, [])


def test_an_endpoint_is_asked_with_its_key_and_gives_its_message():
    with serving(lambda request: said("Hello")) as server:
        message = chat(server.url, "secret", {"model": "tiny", "messages": []}, 10)
        (request,) = server.requests
    assert message["content"] == "Hello"
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer secret"
    assert request.body == {"model": "tiny", "messages": []}


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (refused(400, "no such model"), "answered 400: .*no such model"),
        (Reply(200, b"<html>"), "no chat completion: <html>"),
        (Reply(200, b'{"choices": []}'), "no chat completion"),
        (Reply(200, b'{"choices": [{"message": 7}]}'), "no message"),
        (Reply(200, b"x" * (2**24 + 1)), "more than"),
    ],
)
def test_what_is_no_answer_is_told(reply, sentence):
    with serving(lambda request: reply) as server, pytest.raises(RuntimeError, match=sentence):
        chat(server.url, "", {}, 10)


def test_an_endpoint_that_is_not_there_is_told():
    with pytest.raises(RuntimeError, match="cannot be reached"):
        chat("http://127.0.0.1:9/v1", "", {}, 2)
