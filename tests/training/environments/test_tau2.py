from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager

import pytest

from likewise.core.errors import BackendError
from likewise.core.rollout import StopReason
from likewise.evaluation.evaluate import evaluate
from likewise.training.environments.tau2 import Tau2Settings, collect_tau2
from llm_server import Reply, refused, said, serving

TAU2 = os.environ.get("LIKEWISE_TAU2_PYTHON", "")
needs_tau2 = pytest.mark.skipif(not TAU2, reason="set LIKEWISE_TAU2_PYTHON to a Python that has tau2")


@pytest.fixture
def results(tmp_path):
    return tmp_path / "runs" / "results.json"


SETTINGS = Tau2Settings("http://127.0.0.1:1/v1/", "tiny", "mock", tasks=("create_task_1",), trials=2)


def test_tau2_is_asked_for_what_was_set_and_our_own_module_is_not_taken_for_it(fake_python, results):
    python, told = fake_python("sys.exit(0)")
    settings = Tau2Settings("http://127.0.0.1:1/v1/", "tiny", "mock", user_model="small")
    with pytest.raises(BackendError, match="tau2 ended without a result"):
        collect_tau2(python, settings, results)
    noted = json.loads(told.read_text(encoding="utf-8"))
    asked = noted["settings"]
    assert asked["url"] == asked["user_url"] == "http://127.0.0.1:1/v1"
    assert (asked["model"], asked["user_model"], asked["tasks"]) == ("tiny", "small", None)
    assert asked["out"] == str(results)
    assert "key_variable" not in asked
    assert noted["arguments"][0] == "-P"
    assert noted["environment"]["LITELLM_LOCAL_MODEL_COST_MAP"] == "True"


def test_an_interpreter_without_tau2_is_told_where_to_get_it(results):
    with pytest.raises(BackendError, match=r"no tau2 in .*github\.com/sierra-research/tau2-bench.*another project"):
        collect_tau2(sys.executable, SETTINGS, results)


def test_results_have_the_name_that_tau2_gives_them(tmp_path):
    with pytest.raises(BackendError, match=r"called results\.json"):
        collect_tau2(sys.executable, SETTINGS, tmp_path / "runs.json")


@pytest.mark.parametrize("wrong", [{"trials": 0}, {"timeout": 0}, {"parallel": 0}])
def test_numbers_that_cannot_be_are_refused(wrong):
    with pytest.raises(ValueError, match="above 0"):
        Tau2Settings("http://127.0.0.1:1/v1", "tiny", **wrong)


# The real thing


def call(name, arguments):
    return {"tool_calls": [{"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}]}


@contextmanager
def endpoint(broken=False):
    """An agent that names the task in its own way each run, and a user who wants it made and then stops."""
    made = []

    def answer(request) -> Reply:
        messages = request.body["messages"]
        if request.body["model"] == "user":
            heard = str(messages[-1]["content"])
            return said("###STOP###" if "created" in heard else "Please create the meeting task for user_1.")
        if messages[-1]["role"] == "tool":
            return said("It is created.")
        titles = ("Important Meeting", "Buy milk")
        made.append(1)
        if broken and len(made) == 1:
            return said(None, **call("create_task", '{"user_id": "user_1", "title": '))
        arguments = {"user_id": "user_1", "title": titles[len(made) % 2]}
        return said(None, **call("create_task", json.dumps(arguments)))

    with serving(answer) as server:
        yield server


@needs_tau2
@pytest.mark.timeout(1200)
def test_four_trials_of_the_mock_domain_are_collected_read_back_and_evaluated(results, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret-1")
    with endpoint() as server:
        settings = Tau2Settings(
            server.url, "tiny", "mock", tasks=("create_task_1",), trials=4, user_model="user", max_steps=20
        )
        rollouts = collect_tau2(TAU2, settings, results, limit=600)
        asked = len(server.requests)
        again = collect_tau2(TAU2, settings, results, limit=600)
        assert len(server.requests) == asked  # resumed: nothing was run again
    assert [r.stop for r in rollouts] == [StopReason.FINISHED] * 4
    assert [r.actions for r in again] == [r.actions for r in rollouts]
    titles = {r.actions[0].tool_calls[0].arguments["title"] for r in rollouts}
    assert titles == {"Important Meeting", "Buy milk"}
    assert {r.success for r in rollouts} == {True, False}
    assert {request.body.get("temperature") for request in server.requests if request.body["model"] == "tiny"} == {1.0}
    seeds = {request.body["seed"] for request in server.requests if request.body["model"] == "tiny"}
    assert len(seeds) == 4
    assert "secret-1" not in results.read_text(encoding="utf-8")
    (task,) = evaluate(rollouts).tasks
    assert task.rsd.value > 0
    assert task.success_rate.value == 0.5


@needs_tau2
@pytest.mark.timeout(1200)
def test_a_call_that_does_not_parse_is_a_turn_of_text_and_the_run_goes_on(results):
    with endpoint(broken=True) as server:
        settings = Tau2Settings(
            server.url, "tiny", "mock", tasks=("create_task_1",), trials=1, user_model="user", max_steps=20
        )
        (rollout,) = collect_tau2(TAU2, settings, results, limit=600)
    assert rollout.valid
    assert rollout.actions[0].tool_calls == ()
    assert "create_task" in rollout.actions[0].text
    assert rollout.actions[1].tool_calls[0].name == "create_task"


@needs_tau2
@pytest.mark.timeout(1200)
def test_an_endpoint_that_fails_makes_runs_invalid_and_never_answers(results):
    with serving(lambda request: refused(400, "no such model")) as server:
        settings = Tau2Settings(server.url, "tiny", "mock", tasks=("create_task_1",), trials=1, max_steps=20)
        (rollout,) = collect_tau2(TAU2, settings, results, limit=600)
    assert rollout.stop is StopReason.INVALID
