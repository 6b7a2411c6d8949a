from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager

import pytest

from likewise.core.errors import BackendError
from likewise.core.rollout import StopReason
from likewise.evaluation.evaluate import evaluate
from likewise.training.environments.toolsandbox import ToolSandboxSettings, collect_toolsandbox
from llm_server import Reply, refused, said, serving

SANDBOX = os.environ.get("LIKEWISE_TOOLSANDBOX_PYTHON", "")
needs_toolsandbox = pytest.mark.skipif(
    not SANDBOX, reason="set LIKEWISE_TOOLSANDBOX_PYTHON to a Python that has ToolSandbox"
)


def test_toolsandbox_is_asked_for_what_was_set(fake_python, tmp_path):
    python, told = fake_python("sys.exit(0)")
    settings = ToolSandboxSettings("http://127.0.0.1:1/v1/", "tiny", ("cellular_off",), user_url="http://u/v1/")
    with pytest.raises(BackendError, match="ToolSandbox ended without a result in"):
        collect_toolsandbox(python, settings, tmp_path / "runs")
    asked = json.loads(told.read_text(encoding="utf-8"))["settings"]
    assert (asked["url"], asked["user_url"]) == ("http://127.0.0.1:1/v1", "http://u/v1")
    assert (asked["model"], asked["user_model"], asked["scenarios"]) == ("tiny", "tiny", ["cellular_off"])
    assert "key_variable" not in asked


def test_an_interpreter_without_toolsandbox_is_told_where_to_get_it(tmp_path):
    settings = ToolSandboxSettings("http://127.0.0.1:1/v1", "tiny", ("cellular_off",))
    with pytest.raises(BackendError, match=r"no ToolSandbox in .*github\.com/apple/ToolSandbox"):
        collect_toolsandbox(sys.executable, settings, tmp_path / "runs")


@pytest.mark.parametrize("wrong", [{"trials": 0}, {"timeout": 0}, {"scenarios": ()}])
def test_settings_that_cannot_be_are_refused(wrong):
    with pytest.raises(ValueError, match=r"above 0, and there is at least one scenario"):
        ToolSandboxSettings(**({"url": "http://127.0.0.1:1/v1", "model": "tiny", "scenarios": ("a",)} | wrong))


# The real thing


def call(name, arguments):
    made = {"id": "call-1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"tool_calls": [made]}


@contextmanager
def endpoint(first='{"on": false}'):
    """An agent that turns cellular service off, and says so in its own way each run; a user who is then content."""
    runs = []

    def answer(request) -> Reply:
        messages = request.body["messages"]
        if request.body["model"] == "user":
            return said(None, **call("end_conversation", "{}"))
        if messages[-1]["role"] == "tool":
            return said(("Cellular service is off.", "I could not find your contact.")[len(runs) % 2])
        runs.append(1)
        return said(None, **call("set_cellular_service_status", first if len(runs) == 1 else '{"on": false}'))

    with serving(answer) as server:
        yield server


@needs_toolsandbox
@pytest.mark.timeout(1200)
def test_trials_of_a_scenario_are_collected_read_back_and_evaluated(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret-1")
    with endpoint() as server:
        settings = ToolSandboxSettings(server.url, "tiny", ("cellular_off",), trials=2, user_model="user")
        rollouts = collect_toolsandbox(SANDBOX, settings, tmp_path / "runs", limit=600)
        asked = len(server.requests)
        again = collect_toolsandbox(SANDBOX, settings, tmp_path / "runs", limit=600)
        assert len(server.requests) == asked  # resumed: nothing was run again
    assert [r.stop for r in rollouts] == [StopReason.FINISHED] * 2
    assert [r.actions for r in again] == [r.actions for r in rollouts]
    assert [r.actions[0].tool_calls[0].name for r in rollouts] == ["set_cellular_service_status"] * 2
    assert len({r.actions[1].text for r in rollouts}) == 2
    assert all(r.meta["progress"][-1] > 0 for r in rollouts)
    (task,) = evaluate(rollouts).tasks
    assert task.rsd.value > 0


@needs_toolsandbox
@pytest.mark.timeout(1200)
def test_a_call_that_cannot_be_made_is_a_turn_of_text_and_a_dead_endpoint_an_invalid_run(tmp_path):
    with endpoint(first='{"on": ') as server:
        settings = ToolSandboxSettings(server.url, "tiny", ("cellular_off",), trials=1, user_model="user")
        (rollout,) = collect_toolsandbox(SANDBOX, settings, tmp_path / "broken", limit=600)
    assert rollout.valid
    assert "set_cellular_service_status" in rollout.actions[0].text
    with serving(lambda request: refused(400, "no such model")) as server:
        settings = ToolSandboxSettings(server.url, "tiny", ("cellular_off",), trials=1)
        (rollout,) = collect_toolsandbox(SANDBOX, settings, tmp_path / "dead", limit=600)
    assert rollout.stop is StopReason.INVALID
