"""pydantic-ai against a local endpoint."""

import pytest

from likewise.core.errors import AgentError
from likewise.reliability.integrations.pydantic_ai import pydantic_ai_agent
from llm_server import serving
from reliability.integrations.scenario import (
    KEY,
    Shop,
    check_plain,
    check_refund,
    fields,
    layer,
    plain,
    refunding,
    wrong_key,
)

pytestmark = pytest.mark.integrations


def agent(server, **more):
    from openai import AsyncOpenAI
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = AsyncOpenAI(base_url=server.url, api_key=KEY, max_retries=0)
    return Agent(OpenAIChatModel("tiny", provider=OpenAIProvider(openai_client=client)), **more)


def test_an_agent_is_wrapped_as_it_is():
    with serving(plain) as server:
        check_plain(agent(server), server)


def test_five_runs_send_one_refund():
    shop = Shop()
    with serving(refunding) as server:
        check_refund(agent(server, tools=[shop.refund_tool()]), shop, server)


def test_structured_output_is_read_field_by_field():
    from pydantic import BaseModel

    class Answer(BaseModel):
        main_answer: str
        key_findings: list[str]

    with serving(fields) as server:
        verdict = layer(2).wrap(agent(server, output_type=Answer)).query("?")
    assert verdict.answer == "Paris."
    assert verdict.variance_report.findings.value == 0.0


def test_calls_that_wait_for_approval_are_the_runs_tool_calls():
    from pydantic_ai import DeferredToolRequests, Tool

    shop = Shop()
    tool = Tool(shop.refund_tool(), requires_approval=True)
    with serving(refunding) as server:
        ours = agent(server, tools=[tool], output_type=[str, DeferredToolRequests])
        verdict = layer(2).wrap(ours).query("Refund order 7")
    assert [(call.name, call.arguments) for call in verdict.tool_calls] == [("refund_order", {"order_id": "7"})]
    assert not shop.hits


def test_each_run_has_its_own_dependencies():
    from pydantic_ai import RunContext

    made = []

    def deps():
        made.append([])
        return made[-1]

    with serving(refunding) as server:
        ours = agent(server, deps_type=list)

        @ours.tool
        def refund_order(context: RunContext[list], order_id: str) -> str:
            context.deps.append(order_id)
            return "noted"

        verdict = layer(3).wrap(pydantic_ai_agent(ours, deps=deps)).query("Refund order 7")
    assert verdict.answer == "Refunded: noted"
    assert made == [["7"]] * 3


def test_an_endpoint_that_refuses_and_a_query_that_is_no_text_are_failed_runs():
    with serving(wrong_key) as server, pytest.raises(AgentError, match="401"):
        layer(2).wrap(agent(server)).query("?")
    with serving(plain) as server, pytest.raises(AgentError, match="pydantic-ai is asked a text, got list"):
        layer(2).wrap(agent(server)).query([{"role": "user", "content": "?"}])
