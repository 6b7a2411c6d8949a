"""Agents of frameworks are told by their classes; the frameworks' own are in the files beside this one."""

from __future__ import annotations

import pytest

from likewise.reliability.agents import as_agent
from likewise.reliability.integrations.registry import adapted


class Agent:
    async def run(self, query):
        raise AssertionError


def test_a_class_of_another_package_is_no_agent_of_a_framework_whatever_its_name():
    assert adapted(Agent()) is None
    with pytest.raises(TypeError, match="an Endpoint or an agent of a framework, got Agent"):
        as_agent(Agent())


def test_a_class_made_from_a_frameworks_agent_is_one(monkeypatch):
    monkeypatch.setattr(Agent, "__module__", "pydantic_ai.agent")

    class Own(Agent):
        pass

    assert adapted(Own()) is not None


def test_plain_functions_stay_what_they_are():
    def function(query):
        return query

    assert as_agent(function).function is function
