"""AG2 against a local endpoint."""

from __future__ import annotations

import pytest

from likewise.core.errors import AgentError
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
    from ag2 import Agent
    from ag2.config.openai import OpenAIConfig

    config = OpenAIConfig(model="tiny", base_url=server.url, api_key=KEY, max_retries=0, streaming=False)
    return Agent("clerk", config=config, **more)


def test_an_agent_is_wrapped_as_it_is():
    with serving(plain) as server:
        check_plain(agent(server), server)


def test_a_second_query_knows_nothing_of_the_first():
    with serving(plain) as server:
        wrapped = layer(2).wrap(agent(server))
        for _ in range(2):
            assert {record.text for record in wrapped.query("?").records} == {"1 asked."}


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
        verdict = layer(2).wrap(agent(server, response_schema=Answer)).query("?")
    assert verdict.answer == "Paris."
    assert verdict.variance_report.findings.value == 0.0


def test_an_endpoint_that_refuses_is_a_failed_run_with_its_cause():
    with serving(wrong_key) as server, pytest.raises(AgentError, match="401"):
        layer(2).wrap(agent(server)).query("?")
