from __future__ import annotations

import asyncio
import sys
from types import SimpleNamespace

import pytest

from judges import LetterEncoder
from learned.samples import checkpoint
from likewise.core.rollout import Action, Observation, ToolCall
from likewise.learned.callbacks import AgentHooks, MessageFeed, agent_hooks, before_model
from likewise.learned.model import RSDModel
from likewise.learned.monitor import Alarm, AlarmPolicy, Monitor, Stopped


def monitor(threshold=9.0, then=Alarm.STOP):
    return Monitor(RSDModel(checkpoint(), LetterEncoder()), AlarmPolicy(threshold, then=then))


def by_hand():
    live = RSDModel(checkpoint(), LetterEncoder()).start()
    live.observe([Observation("user", "hello")])
    live.act(Action("let me see", (ToolCall("look", {"id": 1}),)))
    live.observe([Observation("tool", "found")])
    return live.vector.tolist()


CHAT = [
    {"role": "user", "content": "hello"},
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "let me see"}],
        "tool_calls": [{"function": {"name": "look", "arguments": '{"id": 1}'}}],
    },
    {"role": "tool", "content": "found"},
]
LANGCHAIN = [
    SimpleNamespace(type="human", content="hello"),
    SimpleNamespace(type="ai", content="let me see", tool_calls=[{"name": "look", "args": {"id": 1}}]),
    SimpleNamespace(type="tool", content="found", name="look"),
]
RESPONSES = [
    {"role": "user", "content": "hello"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "let me see"}]},
    {"type": "function_call", "name": "look", "arguments": '{"id": 1}'},
    {"type": "function_call_output", "output": "found"},
]


@pytest.mark.parametrize("messages", [CHAT, LANGCHAIN, RESPONSES], ids=["chat", "langchain", "responses"])
def test_messages_of_each_form_are_the_same_history_whole_or_as_they_grow(messages):
    whole, growing = monitor(), monitor()
    MessageFeed(whole).take(messages)
    feed = MessageFeed(growing)
    for length in range(1, len(messages) + 1):
        feed.take(messages[:length])
    assert whole.live.vector.tolist() == growing.live.vector.tolist() == by_hand()


def test_a_graph_is_stopped_before_the_model_is_called():
    assert before_model(monitor(9.0))({"messages": LANGCHAIN}) == {}
    with pytest.raises(Stopped, match="turn 1"):
        before_model(monitor(0.0))({"messages": LANGCHAIN})
    asked = []
    before_model(monitor(0.0, Alarm.ESCALATE), asked.append)(SimpleNamespace(messages=CHAT))
    assert [reading.turn for reading in asked] == [1]


def test_the_agents_sdk_is_stopped_by_its_own_hook_and_other_hooks_do_nothing():
    hooks = AgentHooks(monitor(9.0))

    async def run(watching):
        await watching.on_agent_start(None, None)
        await watching.on_llm_start(None, None, "be kind", "hello")
        await watching.on_llm_end(None, None, None)

    asyncio.run(run(hooks))
    with pytest.raises(Stopped):
        asyncio.run(run(AgentHooks(monitor(0.0))))
    with pytest.raises(AttributeError):
        _ = hooks.something


def test_hooks_are_of_the_sdks_own_class_where_it_is_installed(monkeypatch):
    class RunHooks:
        async def on_llm_start(self, *_):
            raise AssertionError("ours comes first")

        async def on_handoff(self, *_):
            return "theirs"

    monkeypatch.setitem(sys.modules, "agents", SimpleNamespace(RunHooks=RunHooks))
    hooks = agent_hooks(monitor(9.0))
    assert isinstance(hooks, RunHooks)
    asyncio.run(hooks.on_llm_start(None, None, None, "hello"))
    assert asyncio.run(hooks.on_handoff()) == "theirs"


def test_refuses_a_list_that_shrinks():
    feed = MessageFeed(monitor())
    feed.take(CHAT)
    with pytest.raises(ValueError, match="shrank from 3 to 1"):
        feed.take(CHAT[:1])
