"""Runs tau2 inside the Python that tau2 is installed in; likewise itself is not needed there.

Started as `python -P tau2_driver.py` (without -P a neighbour of this file would be taken for tau2): settings come as
JSON on standard input, results go to the file that they name. What fails is one line on standard error that begins with
"likewise:".

The agent is registered here rather than taken from tau2, whose own gives up on a call whose arguments do not parse.
This one keeps such a call as the text that the model wrote, so that the run goes on and the turn is scored.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

__all__ = ["chat", "main", "read_answer"]

AGENT, USER = "likewise_agent", "likewise_user"
LARGEST = 2**24
"""Bytes of an answer; a longer one is none."""


def read_answer(message: dict[str, Any]) -> tuple[str | None, list[tuple[str, str, dict[str, Any]]]]:
    """Text and calls (id, name, arguments) of a chat answer.

    A call that cannot be made stays text: all that the model wrote, as JSON behind what it said.
    """
    content = message.get("content")
    text = content if isinstance(content, str) else ""
    calls, broken = [], []
    for number, call in enumerate(message.get("tool_calls") or []):
        function = call.get("function") if isinstance(call, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        arguments = function.get("arguments") if isinstance(function, dict) else None
        try:
            parsed = json.loads(arguments) if isinstance(arguments, str) else arguments
        except ValueError:
            parsed = None
        if isinstance(name, str) and name.strip() and isinstance(parsed, dict):
            calls.append((str(call.get("id") or f"call-{number}"), name, parsed))
        else:
            broken.append(call)
    if broken:
        text = "\n".join([*filter(None, [text]), *(json.dumps(call, ensure_ascii=False) for call in broken)])
    return text or None, calls


def chat(url: str, key: str, body: dict[str, Any], timeout: float) -> dict[str, Any]:
    """The message of one chat completion.

    Raises:
        RuntimeError: The endpoint gave none; says what it gave.
    """
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    request = urllib.request.Request(f"{url}/chat/completions", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            raw = answer.read(LARGEST + 1)
    except urllib.error.HTTPError as problem:
        raise RuntimeError(f"{url} answered {problem.code}: {problem.read(300).decode(errors='replace')}") from None
    except OSError as problem:
        raise RuntimeError(f"{url} cannot be reached: {problem}") from None
    if len(raw) > LARGEST:
        raise RuntimeError(f"{url} answered more than {LARGEST} bytes")
    try:
        message = json.loads(raw)["choices"][0]["message"]
    except (ValueError, LookupError, TypeError):
        raise RuntimeError(f"{url} answered no chat completion: {raw[:200].decode(errors='replace')}") from None
    if not isinstance(message, dict):
        raise RuntimeError(f"{url} answered no message")
    return message


def _agent_class(settings: dict[str, Any]) -> Any:  # noqa: ANN401 - a class of tau2's
    from tau2.agent.llm_agent import LLMAgent
    from tau2.data_model.message import AssistantMessage, MultiToolMessage, ToolCall
    from tau2.utils.llm_utils import to_litellm_messages

    key = os.environ.get("OPENAI_API_KEY", "")

    class Agent(LLMAgent):  # type: ignore[misc, unused-ignore]
        """tau2's own agent, asked at our endpoint and forgiving with calls."""

        def _generate_next_message(self, message: Any, state: Any) -> Any:  # noqa: ANN401 - tau2's own
            state.messages += message.tool_messages if isinstance(message, MultiToolMessage) else [message]
            body = {
                "model": settings["model"],
                "messages": to_litellm_messages(state.system_messages + state.messages),
                "tools": [tool.openai_schema for tool in self.tools],
                "temperature": settings["temperature"],
                **({} if self.llm_args.get("seed") is None else {"seed": self.llm_args["seed"]}),
            }
            answer = chat(settings["url"], key, body, settings["timeout"])
            text, calls = read_answer(answer)
            made = [ToolCall(id=name, name=tool, arguments=arguments) for name, tool, arguments in calls]
            return AssistantMessage(role="assistant", content=text, tool_calls=made or None, cost=0.0)

    return Agent


def _loaded(path: str) -> Any:  # noqa: ANN401 - whatever the user names
    module, _, name = path.partition(":")
    sys.path.insert(0, os.getcwd())
    return getattr(importlib.import_module(module), name)


def _run(settings: dict[str, Any]) -> None:
    from tau2.data_model.simulation import TextRunConfig
    from tau2.registry import registry
    from tau2.runner import get_tasks, run_tasks

    agent = _agent_class(settings)

    def make(tools: Any, domain_policy: str, **options: Any) -> Any:  # noqa: ANN401 - tau2's own
        return agent(tools, domain_policy, llm=settings["model"], llm_args=dict(options.get("llm_args") or {}))

    registry.register_agent_factory(_loaded(settings["agent"]) if settings["agent"] else make, AGENT)
    if settings["user"]:
        registry.register_user(_loaded(settings["user"]), USER)
    config = TextRunConfig(
        domain=settings["domain"],
        task_ids=settings["tasks"],
        agent=AGENT,
        llm_agent=settings["model"],
        llm_args_agent={"temperature": settings["temperature"]},
        user=USER if settings["user"] else "user_simulator",
        llm_user=f"openai/{settings['user_model']}",
        llm_args_user={"temperature": settings["user_temperature"], "api_base": settings["user_url"]},
        num_trials=settings["trials"],
        max_steps=settings["max_steps"],
        max_concurrency=settings["parallel"],
        seed=settings["seed"],
        auto_resume=True,
        hallucination_retries=0,
        log_level="ERROR",
    )
    tasks = get_tasks(settings["task_set"] or settings["domain"], settings["split"], settings["tasks"])
    out = Path(settings["out"])
    run_tasks(config, tasks, save_path=out, save_dir=out.parent)


def main() -> int:
    """Run what standard input asks for."""
    settings = json.load(sys.stdin)
    try:
        importlib.import_module("tau2.registry")
        importlib.import_module("tau2.runner")
    except ImportError as problem:
        sys.stderr.write(
            f"likewise: no tau2 in {sys.executable} ({problem}); install https://github.com/sierra-research/tau2-bench "
            "there: the package of that name on PyPI is another project\n"
        )
        return 4
    try:
        _run(settings)
    except (ValueError, RuntimeError, OSError, AttributeError, ImportError) as problem:
        sys.stderr.write(f"likewise: {type(problem).__name__}: {problem}\n")
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
