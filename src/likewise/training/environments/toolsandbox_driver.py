"""Runs ToolSandbox inside the Python that it is installed in; likewise itself is not needed there.

Started as `python toolsandbox_driver.py`: settings come as JSON on standard input, results go to the folder that they
name, a folder of ToolSandbox's own form for each trial. What fails is one line on standard error that begins with
"likewise:".

Agent and user are roles handed to `Scenario.play_and_evaluate`, as ToolSandbox documents it. Its own agent asks OpenAI
alone and gives up on a call that cannot be made; this one asks any endpoint, and keeps such a call as text.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
import traceback
from pathlib import Path
from typing import Any

__all__ = ["identifier", "main", "readable_calls"]

SUMMARY = "result_summary.json"
SIMILARITIES = ("milestone_similarity", "minefield_similarity", "similarity")
MAPPINGS = ("milestone_mapping", "minefield_mapping")


def identifier(name: str, number: int) -> str:
    """An id that may begin the name of a Python variable, which is what ToolSandbox makes of it."""
    return f"call_{number}_" + re.sub(r"\W", "_", name, flags=re.ASCII)


def readable_calls(calls: list[tuple[str, str]], known: set[str]) -> bool:
    """Whether all calls (name, arguments) can be made: of known tools, with an object of arguments."""
    for name, arguments in calls:
        try:
            parsed = json.loads(arguments)
        except ValueError:
            return False
        if name not in known or not isinstance(parsed, dict):
            return False
    return True


def _client(url: str, timeout: float) -> Any:  # noqa: ANN401 - openai's own
    import httpx
    from openai import OpenAI

    # The client that ToolSandbox pins cannot make one of a later httpx, which it does not pin.
    inner = httpx.Client(timeout=timeout)
    return OpenAI(base_url=url, api_key=os.environ.get("OPENAI_API_KEY", "none"), http_client=inner, max_retries=2)


def _roles(settings: dict[str, Any]) -> dict[Any, Any]:
    from tool_sandbox.common.execution_context import RoleType
    from tool_sandbox.roles.execution_environment import ExecutionEnvironment

    agent = _loaded(settings["agent"]) if settings["agent"] else _agent_class(settings)
    user = _loaded(settings["user"]) if settings["user"] else _user_class(settings)
    return {RoleType.AGENT: agent(), RoleType.USER: user(), RoleType.EXECUTION_ENVIRONMENT: ExecutionEnvironment()}


def _agent_class(settings: dict[str, Any]) -> Any:  # noqa: ANN401 - a class of ToolSandbox's
    from tool_sandbox.roles.openai_api_agent import OpenAIAPIAgent

    class Agent(OpenAIAPIAgent):  # type: ignore[misc, unused-ignore]
        """ToolSandbox's own agent, asked at our endpoint and forgiving with calls."""

        model_name = settings["model"]

        def __init__(self) -> None:
            self.openai_client = _client(settings["url"], settings["timeout"])

        def model_inference(self, openai_messages: Any, openai_tools: Any) -> Any:  # noqa: ANN401 - ToolSandbox's own
            answer = self.openai_client.chat.completions.create(
                model=self.model_name,
                messages=openai_messages,
                tools=openai_tools,
                temperature=settings["temperature"],
            )
            _mend(answer.choices[0].message, set(self.get_available_tools()))
            return answer

    return Agent


def _mend(message: Any, known: set[str]) -> None:  # noqa: ANN401 - openai's own
    """Leave calls that can be made, with ids that can be variables; write others into the text, as they are."""
    calls = list(message.tool_calls or [])
    if calls and readable_calls([(each.function.name, each.function.arguments) for each in calls], known):
        for number, call in enumerate(calls):
            call.id = identifier(call.id or "", number)
        return
    broken = [json.dumps(each.function.model_dump(), ensure_ascii=False) for each in calls]
    message.tool_calls = None
    message.content = "\n".join([*filter(None, [message.content]), *broken])


def _user_class(settings: dict[str, Any]) -> Any:  # noqa: ANN401 - a class of ToolSandbox's
    from tool_sandbox.roles.openai_api_user import OpenAIAPIUser

    class User(OpenAIAPIUser):  # type: ignore[misc, unused-ignore]
        """ToolSandbox's own simulated user, asked at our endpoint."""

        model_name = settings["user_model"]

        def __init__(self) -> None:
            self.openai_client = _client(settings["user_url"], settings["timeout"])

        def model_inference(self, openai_messages: Any, openai_tools: Any) -> Any:  # noqa: ANN401 - ToolSandbox's own
            answer = self.openai_client.chat.completions.create(
                model=self.model_name,
                messages=openai_messages,
                tools=openai_tools,
                temperature=settings["user_temperature"],
            )
            message = answer.choices[0].message
            for number, call in enumerate(message.tool_calls or []):
                call.id = identifier(call.id or "", number)
            message.tool_calls = message.tool_calls or None
            return answer

    return User


def _loaded(path: str) -> Any:  # noqa: ANN401 - whatever the user names
    module, _, name = path.partition(":")
    sys.path.insert(0, os.getcwd())
    return getattr(importlib.import_module(module), name)


def _play(name: str, scenario: Any, settings: dict[str, Any], folder: Path) -> dict[str, Any]:  # noqa: ANN401
    """One run as ToolSandbox's own command line notes it; one that failed around the agent has an exception."""
    roles: dict[Any, Any] = {}
    told: dict[str, Any] = {"name": name, "categories": [str(each) for each in scenario.categories]}
    try:
        roles = _roles(settings)
        found = scenario.play_and_evaluate(roles=roles, output_directory=folder, scenario_name=name).evaluation_result
    except Exception as problem:  # whatever it is, it is a failed run, and the others go on
        told |= {"traceback": traceback.format_exc(), "exception_type": type(problem).__name__}
        return {**told, **dict.fromkeys(SIMILARITIES, 0), "turn_count": 0, **{each: {} for each in MAPPINGS}}
    finally:
        for role in roles.values():
            role.teardown()
    told |= {"traceback": None, "exception_type": None}
    return {**told, **{each: getattr(found, each) for each in (*SIMILARITIES, "turn_count", *MAPPINGS)}}


def _run(settings: dict[str, Any]) -> None:
    from tool_sandbox.cli.utils import resolve_scenarios
    from tool_sandbox.common.tool_discovery import ToolBackend

    scenarios = resolve_scenarios(settings["scenarios"], ToolBackend.DEFAULT)
    for trial in range(settings["trials"]):
        folder = Path(settings["out"]) / f"trial-{trial:03d}"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / SUMMARY
        kept = json.loads(file.read_text(encoding="utf-8"))["per_scenario_results"] if file.is_file() else []
        # A run that failed around the agent is made again.
        done = {each["name"]: each for each in kept if each["exception_type"] is None}
        for name, scenario in scenarios.items():
            if name in done:
                continue
            done[name] = _play(name, scenario, settings, folder)
            beside = folder / f".{SUMMARY}"
            told = {"per_scenario_results": list(done.values()), "category_aggregated_results": {}}
            beside.write_text(json.dumps(told, ensure_ascii=False), encoding="utf-8")
            beside.replace(file)


def main() -> int:
    """Run what standard input asks for."""
    here = Path(__file__).resolve().parent  # neighbours of this file are none of ToolSandbox's modules
    sys.path[:] = [each for each in sys.path if not each or Path(each).resolve() != here]
    settings = json.load(sys.stdin)
    try:
        importlib.import_module("tool_sandbox.common.scenario")
    except ImportError as problem:
        sys.stderr.write(
            f"likewise: no ToolSandbox in {sys.executable} ({problem}); install https://github.com/apple/ToolSandbox "
            "there\n"
        )
        return 4
    try:
        _run(settings)
    except (KeyError, ValueError, RuntimeError, OSError, AttributeError, ImportError) as problem:
        sys.stderr.write(f"likewise: {type(problem).__name__}: {' '.join(str(problem).split())}\n")
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
