"""The monitor inside the real LangGraph and the real OpenAI Agents SDK, against a local endpoint."""

from __future__ import annotations

import asyncio

import pytest

from judges import LetterEncoder
from learned.samples import checkpoint
from likewise.core.rollout import Action, Observation, ToolCall
from likewise.learned.callbacks import agent_hooks, before_model
from likewise.learned.model import RSDModel
from likewise.learned.monitor import Alarm, AlarmPolicy, Monitor, Stopped
from llm_server import serving
from reliability.integrations.scenario import refunding
from reliability.integrations.test_langchain import model
from reliability.integrations.test_openai_agents import agent

pytestmark = pytest.mark.integrations


def monitor(threshold, then=Alarm.STOP):
    return Monitor(RSDModel(checkpoint(), LetterEncoder()), AlarmPolicy(threshold, then=then))


def by_hand(*, before_the_last_word):
    """The history of the refund as the monitor should have it."""
    live = RSDModel(checkpoint(), LetterEncoder()).start()
    live.observe([Observation("user", "Refund order 7")])
    live.act(Action("", (ToolCall("refund_order", {"order_id": "7"}),)))
    live.observe([Observation("tool", "done", "refund_order" if before_the_last_word else None)])
    return live.vector.tolist()


def refund_order(order_id: str) -> str:
    """Refund an order."""
    return "done"


def graph(server, check):
    """A graph that asks the monitor before each call of the model."""
    from langchain_core.tools import tool
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    tools = [tool(refund_order)]
    bound = model(server).bind_tools(tools)

    async def ask(state: MessagesState):
        return {"messages": [await bound.ainvoke(state["messages"])]}

    built = StateGraph(MessagesState)
    built.add_node("monitor", check)
    built.add_node("model", ask)
    built.add_node("tools", ToolNode(tools))
    built.add_edge(START, "monitor")
    built.add_edge("monitor", "model")
    built.add_conditional_edges("model", tools_condition)
    built.add_edge("tools", "monitor")
    return built.compile()


def ask_graph(server, check):
    return asyncio.run(graph(server, check).ainvoke({"messages": [("user", "Refund order 7")]}))


def test_a_graph_goes_through_a_monitor_that_sees_what_happens():
    watching = monitor(9.0)
    with serving(refunding) as server:
        result = ask_graph(server, before_model(watching))
        assert len(server.requests) == 2
    assert result["messages"][-1].content == "Refunded: done"
    assert watching.live.vector.tolist() == by_hand(before_the_last_word=True)


def test_a_graph_is_stopped_before_the_model_is_asked():
    with serving(refunding) as server:
        with pytest.raises(Stopped, match=r"turn [01]"):
            ask_graph(server, before_model(monitor(0.0)))
        assert len(server.requests) <= 1


def run_agent(server, hooks):
    from agents import Runner, function_tool

    ours = agent(server, tools=[function_tool(refund_order)])
    return asyncio.run(Runner.run(ours, "Refund order 7", hooks=hooks))


def test_the_agents_sdk_runs_with_hooks_of_its_own_class():
    from agents.lifecycle import RunHooksBase

    watching = monitor(9.0)
    hooks = agent_hooks(watching)
    assert isinstance(hooks, RunHooksBase)
    with serving(refunding) as server:
        result = run_agent(server, hooks)
        assert len(server.requests) == 2
    assert result.final_output == "Refunded: done"
    assert watching.live.vector.tolist() == by_hand(before_the_last_word=False)


def test_the_agents_sdk_is_stopped_before_the_model_is_asked():
    with serving(refunding) as server:
        with pytest.raises(Stopped):
            run_agent(server, agent_hooks(monitor(0.0)))
        assert len(server.requests) <= 1


def test_an_escalation_hands_over_and_the_run_goes_on():
    asked = []
    with serving(refunding) as server:
        result = run_agent(server, agent_hooks(monitor(0.0, Alarm.ESCALATE), asked.append))
    assert result.final_output == "Refunded: done"
    assert asked
