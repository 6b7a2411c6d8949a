"""LangChain's runnables and LangGraph's graphs against a local endpoint."""

from __future__ import annotations

from typing import Any

import pytest

from likewise.core.errors import AgentError
from likewise.reliability.integrations.langchain import langchain_agent
from llm_server import serving
from reliability.integrations.scenario import KEY, Shop, check_plain, check_refund, layer, plain, refunding, said

pytestmark = pytest.mark.integrations


@pytest.fixture(autouse=True)
def _telemetry_off(monkeypatch):
    for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"):
        monkeypatch.setenv(name, "false")


def model(server):
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model="tiny", base_url=server.url, api_key=KEY, max_retries=0)


def graph(server, *tools, checkpointer=None, **options):
    """A model that may call tools, written as a graph."""
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    bound = model(server).bind_tools(list(tools)) if tools else model(server)

    async def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await bound.ainvoke(state["messages"])]}

    built = StateGraph(MessagesState)
    built.add_node("model", ask)
    built.add_edge(START, "model")
    if tools:
        built.add_node("tools", ToolNode(list(tools)))
        built.add_conditional_edges("model", tools_condition)
        built.add_edge("tools", "model")
    return built.compile(checkpointer=checkpointer, **options)


def test_a_chat_model_a_chain_and_a_graph_are_wrapped_as_they_are():
    from langchain_core.output_parsers import StrOutputParser
    from langchain_core.prompts import ChatPromptTemplate

    with serving(plain) as server:
        check_plain(model(server), server)
    with serving(plain) as server:
        check_plain(graph(server), server)
    with serving(plain) as server:
        chain = ChatPromptTemplate.from_template("Answer: {question}") | model(server) | StrOutputParser()
        verdict = layer(2).wrap(langchain_agent(chain, prepare=lambda query: {"question": query})).query("?")
    assert verdict.answer == "1 asked."
    assert verdict.metadata["usage"] == {"input_tokens": None, "output_tokens": None}  # a parser drops the count


def test_a_graph_that_remembers_starts_each_run_and_each_query_anew():
    from langgraph.checkpoint.memory import InMemorySaver

    with serving(plain) as server:
        wrapped = layer(3).wrap(graph(server, checkpointer=InMemorySaver()))
        for _ in range(2):
            assert {record.text for record in wrapped.query("?").records} == {"1 asked."}


def test_five_runs_send_one_refund():
    from langchain_core.tools import tool

    shop = Shop()
    with serving(refunding) as server:
        check_refund(graph(server, tool(shop.refund_tool())), shop, server)


def test_calls_that_are_left_to_others_are_the_runs_tool_calls():
    def refund_order(order_id: str) -> str:
        """Refund an order."""
        raise AssertionError("nobody calls it")

    with serving(refunding) as server:
        verdict = layer(2).wrap(model(server).bind_tools([refund_order])).query("Refund order 7")
    assert [(call.name, call.arguments) for call in verdict.tool_calls] == [("refund_order", {"order_id": "7"})]
    assert verdict.runs_agreed == "2/2"


def test_a_graph_that_stops_for_a_person_has_no_answer():
    from langchain_core.tools import tool
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import interrupt

    @tool
    def refund_order(order_id: str) -> str:
        """Refund an order."""
        return str(interrupt("May I?"))

    with serving(refunding) as server, pytest.raises(AgentError, match="wait for a person"):
        layer(2).wrap(graph(server, refund_order, checkpointer=InMemorySaver())).query("Refund order 7")


def test_a_structured_response_is_read_field_by_field():
    from langchain_core.runnables import RunnableLambda

    answer = {"structured_response": {"main_answer": "Paris.", "key_findings": ["So."]}, "messages": []}
    verdict = layer(2).wrap(RunnableLambda(lambda query: answer)).query("?")
    assert verdict.answer == "Paris."
    assert verdict.variance_report.findings.value == 0.0


def test_an_endpoint_that_breaks_is_a_failed_run_with_its_cause():
    from dataclasses import replace

    with serving(lambda request: replace(said("x"), status=400)) as server, pytest.raises(AgentError, match="400"):
        layer(2).wrap(model(server)).query("?")
