"""The tools of real rollouts, counted by a walk over the raw JSON."""

from __future__ import annotations

import json
from collections import Counter, defaultdict

import pytest

from data_folder import data_folder
from likewise import read_rollouts
from likewise.backends.tool_rules import ToolRules
from likewise.scoring.tool_inventory import tool_inventory

pytestmark = pytest.mark.data

CHANGING = {
    "update_reservation_flights",
    "book_reservation",
    "cancel_reservation",
    "transfer_to_human_agents",
    "update_reservation_baggages",
    "send_certificate",
    "update_reservation_passengers",
}
"""Of the tools of the airline, those whose code writes to its database or ends the conversation."""


def test_the_tools_of_the_airline_runs_are_all_found_and_their_classes_are_those_of_their_code():
    path = data_folder() / "rollouts/tau-bench/gpt-4o-airline-tasks-0-29.json"
    calls: Counter[str] = Counter()
    tasks: dict[str, set[int]] = defaultdict(set)
    for record in json.loads(path.read_text(encoding="utf-8")):
        for message in record["traj"]:
            for call in message.get("tool_calls") or []:
                calls[call["function"]["name"]] += 1
                tasks[call["function"]["name"]].add(record["task_id"])
    found = tool_inventory(read_rollouts(path), ToolRules())
    assert {tool.name: (tool.calls, tool.tasks) for tool in found} == {
        name: (count, len(tasks[name])) for name, count in calls.items()
    }
    assert {tool.name for tool in found if tool.verdict.tool_class == "changes"} == CHANGING


def test_calls_of_the_simulated_user_and_of_prepared_histories_are_not_the_agents():
    path = data_folder() / "rollouts/tau2"
    agents: Counter[str] = Counter()
    for file in sorted(path.glob("*.json")):
        content = json.loads(file.read_text(encoding="utf-8"))
        starts = {task["id"]: task.get("initial_state") or {} for task in content["tasks"]}
        prepared = {task: len(start.get("message_history") or []) for task, start in starts.items()}
        for simulation in content["simulations"]:
            for message in simulation["messages"][prepared[simulation["task_id"]] :]:
                for call in message.get("tool_calls") or []:
                    agents[call["name"]] += call.get("requestor") != "user"
    agents += Counter()  # drops names without a call: those of the simulated user alone
    found = Counter({tool.name: tool.calls for tool in tool_inventory(read_rollouts(path), ToolRules())})
    assert found == agents
