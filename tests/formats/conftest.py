import json

import pytest


@pytest.fixture
def write(tmp_path):
    """Write a file below the test's folder: bytes as they are, text as UTF-8, anything else as JSON."""

    def _write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(content, bytes):
            content = (content if isinstance(content, str) else json.dumps(content)).encode()
        path.write_bytes(content)
        return path

    return _write


@pytest.fixture
def tau_run():
    """One tau-bench record: two turns, one tool call, ended by its user, solved."""

    def _run(task_id=0, trial=0, **changes):
        return {
            "task_id": task_id,
            "trial": trial,
            "reward": 1.0,
            "info": {"task": {}, "source": "user", "user_cost": 0.01, "reward_info": {"reward": 1.0}},
            "traj": [
                {"role": "system", "content": "Be kind."},
                {"role": "user", "content": "Cancel my trip."},
                {"role": "assistant", "content": None, "tool_calls": [call("get_trip", '{"id": "T1"}')]},
                {"role": "tool", "name": "get_trip", "tool_call_id": "c1", "content": "{}"},
                {"role": "assistant", "content": "Done."},
                {"role": "user", "content": "Thanks ###STOP###"},
            ],
        } | changes

    return _run


@pytest.fixture
def tau2_file():
    """One tau2 file around the simulations given."""

    def _file(*simulations, **changes):
        return {
            "timestamp": "2026-01-01",
            "info": {
                "git_commit": "abc",
                "num_trials": 1,
                "agent_info": {"llm": "acme/one", "implementation": "llm_agent", "llm_args": {"temperature": 0.5}},
                "user_info": {"llm": "acme/user"},
                "environment_info": {"domain_name": "airline", "policy": "Be kind."},
            },
            "tasks": [],
            "simulations": list(simulations),
        } | changes

    return _file


@pytest.fixture
def simulation():
    """One tau2 simulation: scripted greeting, two turns, one agent call."""

    def _simulation(task_id="0", trial=0, **changes):
        return {
            "id": f"sim-{task_id}-{trial}",
            "task_id": task_id,
            "trial": trial,
            "seed": 7,
            "termination_reason": "user_stop",
            "reward_info": {"reward": 1.0},
            "messages": [
                {"role": "assistant", "content": "Hi! How can I help?", "tool_calls": None, "cost": 0.0, "usage": None},
                {"role": "user", "content": "Cancel T1.", "tool_calls": None},
                {
                    "role": "assistant",
                    "content": None,
                    "usage": {"completion_tokens": 3},
                    "tool_calls": [{"id": "a", "name": "cancel", "arguments": {"id": "T1"}, "requestor": "assistant"}],
                },
                {"role": "tool", "id": "a", "content": "ok", "requestor": "assistant", "error": False},
                {"role": "assistant", "content": "Cancelled.", "usage": {"completion_tokens": 3}},
                {"role": "user", "content": "###STOP###"},
            ],
        } | changes

    return _simulation


def call(name, arguments, call_id="c1"):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
