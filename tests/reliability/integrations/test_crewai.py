"""CrewAI against a local endpoint; telemetry off."""

from __future__ import annotations

import pytest

from likewise.core.errors import AgentError
from likewise.reliability.integrations.crewai import crewai_agent
from llm_server import serving
from reliability.integrations.scenario import KEY, Shop, check_refund, layer, plain, refunding, wrong_key

pytestmark = [
    pytest.mark.integrations,
    pytest.mark.filterwarnings("ignore::ImportWarning", "ignore::DeprecationWarning"),
]


@pytest.fixture(autouse=True)
def _telemetry_off(monkeypatch, tmp_path):
    for name in ("CREWAI_DISABLE_TELEMETRY", "CREWAI_DISABLE_TRACKING", "OTEL_SDK_DISABLED"):
        monkeypatch.setenv(name, "true")
    monkeypatch.setenv("CREWAI_TRACING_ENABLED", "false")
    monkeypatch.setenv("CREWAI_STORAGE_DIR", str(tmp_path))


def clerk(server, *tools):
    from crewai import LLM, Agent

    llm = LLM(model="openai/tiny", base_url=server.url, api_key=KEY, max_retries=0)
    return Agent(role="clerk", goal="help", backstory="none", llm=llm, tools=list(tools), verbose=False)


def crew(server, *tools):
    from crewai import Crew, Task

    agent = clerk(server, *tools)
    task = Task(description="Answer: {query}", expected_output="one sentence", agent=agent)
    return Crew(agents=[agent], tasks=[task], verbose=False)


def test_a_crew_and_a_single_agent_are_wrapped_as_they_are():
    for make in (crew, clerk):
        with serving(plain) as server:
            verdict = layer(3).wrap(make(server)).query("Capital of France?")
            assert len(server.requests) == 3
        assert {record.text for record in verdict.records} == {"1 asked."}
        assert verdict.runs_agreed == "3/3"


def test_inputs_of_ones_own_reach_the_tasks():
    with serving(plain) as server:
        ours = crewai_agent(crew(server), inputs=lambda query: {"query": f"<<{query}>>"})
        layer(2).wrap(ours).query("What?")
        assert all("<<What?>>" in str(request.body["messages"]) for request in server.requests)


def test_five_runs_send_one_refund():
    from crewai.tools import tool

    shop = Shop()
    with serving(refunding) as server:
        check_refund(crew(server, tool("refund_order")(shop.refund_tool())), shop, server)


def test_an_endpoint_that_refuses_is_a_failed_run_with_its_cause():
    with serving(wrong_key) as server, pytest.raises(AgentError, match="401"):
        layer(2).wrap(crew(server)).query("?")
