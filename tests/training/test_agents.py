from __future__ import annotations

import json

import anyio
import pytest

from likewise.core.errors import BackendError
from likewise.core.rollout import Action, ToolCall
from likewise.training.agents import EndpointAgent, FunctionAgent, action_of
from likewise.training.environments.bookings import TOOLS
from llm_server import Reply, refused, said, serving

MESSAGES = [{"role": "system", "content": "p"}, {"role": "user", "content": "hi"}]
DEFINITIONS = [tool.definition for tool in TOOLS]
CALL = {"id": "c", "type": "function", "function": {"name": "find_booking", "arguments": '{"guest": "Ann"}'}}


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")


def ask(agent, tools=DEFINITIONS):
    return anyio.run(agent.act, MESSAGES, tools)


def test_a_text_a_message_and_an_action_are_actions():
    assert action_of("Hello.") == action_of({"content": "Hello."}) == action_of(Action("Hello.")) == Action("Hello.")
    assert action_of({"content": None, "tool_calls": [CALL]}) == Action(
        "", (ToolCall("find_booking", {"guest": "Ann"}),)
    )


@pytest.mark.parametrize("answer", [None, 3, ["Hello."], {"content": 5}])
def test_what_is_no_action_is_refused(answer):
    with pytest.raises(ValueError, match=r"an agent gives a text|cannot be read"):
        action_of(answer)


def test_functions_are_asked_whether_they_are_sync_or_async():
    async def later(messages, tools):
        return f"{len(messages)} {len(tools)}"

    def now(messages, tools):
        return {"content": messages[-1]["content"]}

    assert ask(FunctionAgent(later, "later")) == Action(f"2 {len(TOOLS)}")
    assert ask(FunctionAgent(now, "now")) == Action("hi")
    assert FunctionAgent(now, "now").agent_id == "now"


def test_an_endpoint_is_sent_the_conversation_the_tools_and_the_temperature():
    with serving(lambda _: said(None, tool_calls=[CALL])) as server:
        agent = EndpointAgent("m", server.url)
        assert ask(agent) == Action("", (ToolCall("find_booking", {"guest": "Ann"}),))
        body = server.requests[0].body
    assert (body["messages"], body["tools"], body["temperature"]) == (MESSAGES, DEFINITIONS, 1.0)
    assert agent.agent_id == f"m at {server.url}, temperature 1"


def test_an_endpoint_without_tools_is_sent_none():
    with serving(lambda _: said("Hello.")) as server:
        assert ask(EndpointAgent("m", server.url), []) == Action("Hello.")
        assert "tools" not in server.requests[0].body


def test_a_passing_failure_is_tried_again():
    answers = iter([refused(500), refused(429), said("Here.")])
    with serving(lambda _: next(answers)) as server:
        assert ask(EndpointAgent("m", server.url)) == Action("Here.")
        assert len(server.requests) == 3


@pytest.mark.parametrize("status", [401, 403, 404])
def test_an_endpoint_that_will_never_answer_is_down_and_the_key_is_not_told(status):
    with (
        serving(lambda _: refused(status, "no access for sk-very-secret")) as server,
        pytest.raises(BackendError) as caught,
    ):
        ask(EndpointAgent("m", server.url))
    assert "no access for ***" in str(caught.value)
    assert "very-secret" not in str(caught.value)


@pytest.mark.parametrize(
    "reply",
    [
        refused(400, "too long"),
        Reply(200, b"no json", {"Content-Type": "application/json"}),
        Reply(200, json.dumps({"object": "x"}).encode(), {"Content-Type": "application/json"}),
    ],
)
def test_an_answer_that_is_none_fails_the_run_alone(reply):
    with serving(lambda _: reply) as server, pytest.raises(RuntimeError):
        ask(EndpointAgent("m", server.url, retries=0))


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("localhost:8000", "no endpoint's URL"),
        ("ftp://host/v1", "no endpoint's URL"),
        ("http://user:pass@host/v1", "the key is in OPENAI_API_KEY"),
        ("http://host/v1?key=1", "the key is in OPENAI_API_KEY"),
    ],
)
def test_a_url_that_is_none_or_holds_a_secret_is_refused(url, told):
    with pytest.raises(ValueError, match=told):
        EndpointAgent("m", url)
