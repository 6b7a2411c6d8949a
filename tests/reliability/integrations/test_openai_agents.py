"""The OpenAI Agents SDK against a local endpoint."""

from __future__ import annotations

import sys

import pytest

from likewise.core.errors import AgentError, MissingExtraError
from likewise.reliability.home_loop import run_at_home
from likewise.reliability.integrations.openai_agents import openai_agent
from llm_server import said as kept_alive
from llm_server import serving
from reliability.integrations.scenario import (
    KEY,
    Shop,
    check_plain,
    check_refund,
    fields,
    layer,
    left_behind,
    plain,
    refunding,
    wrong_key,
)


def test_without_the_sdk_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "agents", None)
    with pytest.raises(MissingExtraError, match=r"likewise\[openai-agents\]"):
        openai_agent(object())


def agent(server, **more):
    from agents import Agent, OpenAIChatCompletionsModel, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=server.url, api_key=KEY, max_retries=0)
    return Agent(name="clerk", model=OpenAIChatCompletionsModel("tiny", client), **more)


@pytest.mark.integrations
class TestOpenAIAgents:
    def test_an_agent_of_the_sdk_is_wrapped_as_it_is(self):
        with serving(plain) as server:
            verdict = check_plain(agent(server), server)
        assert verdict.records[0].meta["last_agent"] == "clerk"

    def test_a_second_query_works_over_the_connections_of_the_first(self):
        def kept(request):
            return kept_alive("Paris.")

        with serving(kept) as server:
            ours = agent(server)
            wrapped = layer(2).wrap(ours)
            answers = [wrapped.query("?").answer for _ in range(3)]
            run_at_home(ours.model._client.close)
        assert answers == ["Paris."] * 3

    def test_five_runs_send_one_refund(self):
        from agents import function_tool

        shop = Shop()
        with serving(refunding) as server:
            check_refund(agent(server, tools=[function_tool(shop.refund_tool())]), shop, server)

    def test_structured_output_is_read_field_by_field(self):
        from pydantic import BaseModel

        class Answer(BaseModel):
            main_answer: str
            key_findings: list[str]

        with serving(fields) as server:
            verdict = layer(2).wrap(agent(server, output_type=Answer)).query("?")
        assert verdict.answer == "Paris."
        assert verdict.variance_report.findings.value == 0.0

    def test_an_endpoint_that_refuses_is_a_failed_run_with_its_cause(self):
        with serving(wrong_key) as server, pytest.raises(AgentError, match="401"):
            layer(2).wrap(agent(server)).query("?")

    def test_each_run_has_its_own_context_and_hooks(self):
        from agents import RunHooks

        made = []

        def context():
            made.append({})
            return made[-1]

        class Marking(RunHooks):
            async def on_agent_start(self, wrapper, agent):
                wrapper.context["seen"] = wrapper.context.get("seen", 0) + 1

        with serving(plain) as server:
            layer(3).wrap(openai_agent(agent(server), context=context, hooks=Marking)).query("?")
        assert made == [{"seen": 1}] * 3

    def test_a_call_that_waits_for_approval_is_no_answer(self):
        from agents import function_tool

        shop = Shop()
        tool = function_tool(shop.refund_tool(), needs_approval=True)
        with (
            serving(refunding) as server,
            pytest.raises(AgentError, match="waits for a person to approve refund_order"),
        ):
            layer(2).wrap(agent(server, tools=[tool])).query("Refund order 7")
        assert not shop.hits

    def test_runs_that_take_too_long_are_given_up_and_nothing_is_left(self):
        def slow(request):
            reply = plain(request)
            reply.delay = 5
            return reply

        with serving(slow) as server, pytest.raises(AgentError, match="no answer within"):
            layer(3, deadline=0.5).wrap(agent(server)).query("?")
        assert not left_behind()
