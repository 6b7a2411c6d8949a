"""A monitor inside an agent framework: it reads the messages as they are, and stops or hands over before the bad turn.

No framework is imported: LangGraph calls a function with its state, the OpenAI Agents SDK calls methods of an object.
Both give the whole list of messages each time; only what is new is taken in.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from types import new_class
from typing import Any

from likewise.core.rollout import Action, JsonValue, Observation, ToolCall
from likewise.learned.monitor import Monitor, Reading

__all__ = ["AgentHooks", "MessageFeed", "agent_hooks", "before_model"]

_ROLES = {"human": "user", "developer": "system", "function": "tool", "ai": "assistant"}


class MessageFeed:
    """Feeds a monitor from a list of messages that grows: dicts or objects of LangChain, OpenAI chat or responses."""

    def __init__(self, monitor: Monitor) -> None:
        """Take in nothing yet."""
        self.monitor = monitor
        self._taken = 0
        self._text: list[str] = []
        self._calls: list[ToolCall] = []

    def take(self, messages: Iterable[Any]) -> None:
        """Take in the messages behind those taken before; all that the agent said and called in a row is one action."""
        whole = list(messages)
        if len(whole) < self._taken:
            raise ValueError(f"the list of messages shrank from {self._taken} to {len(whole)}; begin a new monitor")
        for message in whole[self._taken :]:
            self._one(message)
        self._taken = len(whole)

    def end_of_turn(self) -> None:
        """What the agent said and called so far is its action."""
        if self._text or self._calls:
            self.monitor.act(Action("\n".join(self._text), tuple(self._calls)))
            self._text, self._calls = [], []

    def _one(self, message: Any) -> None:  # noqa: ANN401 - a message of any framework
        kind, role = _field(message, "type"), _field(message, "role")
        if kind == "function_call":
            self._calls.append(_call(_field(message, "name"), _field(message, "arguments")))
        elif kind == "function_call_output":
            self._observed("tool", _content(_field(message, "output")), None)
        else:
            source = str(role or kind or "user")
            source = _ROLES.get(source, source)
            text = _content(_field(message, "content"))
            if source == "assistant":
                self._text += [text] if text else []
                self._calls += [_nested_call(each) for each in _field(message, "tool_calls") or ()]
            elif source in ("user", "system", "tool"):
                name = _field(message, "name")
                self._observed(source, text, name if isinstance(name, str) else None)

    def _observed(self, source: str, text: str, name: str | None) -> None:
        self.end_of_turn()
        self.monitor.live.observe([Observation(source, text, name)])


def before_model(
    monitor: Monitor, on_escalate: Callable[[Reading], object] | None = None
) -> Callable[[Any], dict[str, Any]]:
    """A node for LangGraph, or a `pre_model_hook`: reads `state["messages"]` and lets the model be called, or does not.

    Args:
        monitor: One for each run of the graph.
        on_escalate: Called where the policy asks to escalate (LangGraph's `interrupt` is one); without it that stops.

    Returns:
        A function from the state to no change of it; it raises `Stopped` where the agent must not act.
    """
    feed = MessageFeed(monitor)

    def check(state: Any) -> dict[str, Any]:  # noqa: ANN401 - the graph's own
        feed.take(_field(state, "messages") or ())
        feed.end_of_turn()
        monitor.check(on_escalate)
        return {}

    return check


class AgentHooks:
    """Run hooks for the OpenAI Agents SDK, by the names it calls; those that are not needed do nothing."""

    def __init__(self, monitor: Monitor, on_escalate: Callable[[Reading], object] | None = None) -> None:
        """Watch one run; see `before_model` for the arguments."""
        self._feed, self._on_escalate = MessageFeed(monitor), on_escalate
        self._instructed = False

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: str | None, input_items: Any) -> None:  # noqa: ANN401 - the SDK's own
        """Before each call of the model.

        Raises:
            Stopped: The agent must not act.
        """
        del context, agent
        if system_prompt and not self._instructed:
            self._feed.monitor.live.observe([Observation("system", system_prompt)])
            self._instructed = True
        self._feed.take([input_items] if isinstance(input_items, str) else input_items)
        self._feed.end_of_turn()
        self._feed.monitor.check(self._on_escalate)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any other hook
        """Every other hook does nothing."""
        if not name.startswith("on_"):
            raise AttributeError(name)
        return _nothing


def agent_hooks(monitor: Monitor, on_escalate: Callable[[Reading], object] | None = None) -> AgentHooks:
    """Hooks for `Runner.run(agent, text, hooks=agent_hooks(monitor))`; see `before_model` for the arguments.

    They are an instance of the SDK's own `RunHooks` where that is installed, as it asks for.
    """
    try:
        from agents import RunHooks  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return AgentHooks(monitor, on_escalate)
    made = new_class(
        "MonitorHooks", (AgentHooks, RunHooks)
    )  # RunHooks may be a generic alias, of which no type() is made
    hooks: AgentHooks = made(monitor, on_escalate)
    return hooks


async def _nothing(*args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - whatever a hook is given
    del args, kwargs


def _field(message: Any, name: str) -> Any:  # noqa: ANN401 - a message of any framework
    if isinstance(message, str):
        return {"role": "user", "content": message}.get(name)
    return message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)


def _content(content: Any) -> str:  # noqa: ANN401 - text, or parts of a message
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [each if isinstance(each, str) else _field(each, "text") for each in content]
        return "\n".join(part for part in parts if isinstance(part, str))
    return json.dumps(content, default=str, sort_keys=True)


def _nested_call(call: Any) -> ToolCall:  # noqa: ANN401 - LangChain's or OpenAI's
    function = _field(call, "function")
    if function is not None:
        return _call(_field(function, "name"), _field(function, "arguments"))
    return _call(_field(call, "name"), _field(call, "args"))


def _call(name: Any, arguments: Any) -> ToolCall:  # noqa: ANN401 - text, or an object
    parsed: Any = arguments
    if isinstance(arguments, str):
        try:
            parsed = json.loads(arguments)
        except (ValueError, RecursionError):
            parsed = arguments
    if isinstance(parsed, Mapping):
        whole: dict[str, JsonValue] = {str(key): value for key, value in parsed.items()}
        return ToolCall(str(name), whole)
    return ToolCall(str(name), str(arguments))
