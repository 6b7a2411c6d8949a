"""AutoGen's agents and teams against a local endpoint."""

from __future__ import annotations

import pytest

from likewise.core.errors import AgentError
from likewise.reliability.integrations.autogen import autogen_agent
from llm_server import serving
from reliability.integrations.scenario import KEY, Shop, check_plain, check_refund, layer, plain, refunding, wrong_key

pytestmark = pytest.mark.integrations


def maker(server, **more):
    """A function that makes the agent of one run."""
    from autogen_agentchat.agents import AssistantAgent
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    info = {"vision": False, "function_calling": True, "json_output": True, "family": "unknown"}
    info["structured_output"] = True

    def make():
        client = OpenAIChatCompletionClient(
            model="tiny", base_url=server.url, api_key=KEY, model_info=info, max_retries=0
        )
        return AssistantAgent("clerk", client, **more)

    return make


def test_a_function_that_makes_an_agent_is_wrapped():
    with serving(plain) as server:
        check_plain(autogen_agent(maker(server)), server)


def test_an_agent_that_keeps_its_conversation_is_refused_with_the_way_out():
    with serving(plain) as server, pytest.raises(TypeError, match="give a function that makes it"):
        layer().wrap(maker(server)())


def test_a_team_answers_by_its_last_word():
    from autogen_agentchat.conditions import MaxMessageTermination
    from autogen_agentchat.teams import RoundRobinGroupChat

    with serving(plain) as server:
        make = maker(server)

        def team():
            return RoundRobinGroupChat([make()], termination_condition=MaxMessageTermination(2))

        verdict = layer(2).wrap(autogen_agent(team)).query("?")
    assert verdict.answer == "1 asked."
    assert verdict.records[0].meta["stop_reason"]


def test_five_runs_send_one_refund():
    shop = Shop()
    with serving(refunding) as server:
        make = maker(server, tools=[shop.refund_tool(as_async=True)], reflect_on_tool_use=True)
        check_refund(autogen_agent(make), shop, server)


def test_a_sync_tool_which_autogen_calls_without_its_run_is_not_called_at_all():
    """AutoGen calls sync tools in threads without their context: each run would send its refund."""
    shop = Shop()
    with serving(refunding) as server:
        make = maker(server, tools=[shop.refund_tool()], reflect_on_tool_use=True)
        verdict = layer(2).wrap(autogen_agent(make)).query("Refund order 7")
    assert not shop.hits
    assert "does not tell which run it is of" in verdict.answer


def test_an_endpoint_that_refuses_is_a_failed_run_with_its_cause():
    with serving(wrong_key) as server, pytest.raises(AgentError, match="401"):
        layer(2).wrap(autogen_agent(maker(server))).query("?")
