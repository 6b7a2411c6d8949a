"""Whether each tool reads or changes state, and who says so: the user's pin, an MCP annotation, or the verb."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from likewise.backends.tool_names import ToolClass, own_name, verb_class
from likewise.backends.tools_file import Hints, hinted_class, merged_hints
from likewise.core.state_text import canonical_text

__all__ = ["ClassSource", "ClassVerdict", "ToolClasses"]


class ClassSource(StrEnum):
    """Who said what a tool does; of several the first counts."""

    PIN = "pin"
    """The user, by name."""
    ANNOTATION = "annotation"
    """The server, by an MCP annotation: a hint, which may be wrong."""
    VERB = "verb"
    """The default on the verb that the tool's name starts with."""


@dataclass(frozen=True, slots=True)
class ClassVerdict:
    """A tool's class, who says so, and why."""

    tool_class: ToolClass
    source: ClassSource
    reason: str


@dataclass(frozen=True, slots=True)
class ToolClasses:
    """What is known of tools by name.

    Attributes:
        pins: The user's word, by the tool's full name as the logs have it.
        hints: Annotations, by full name; one for `cancel` also holds for `mcp__shop__cancel` and `shop.cancel`.
    """

    pins: Mapping[str, ToolClass] = field(default_factory=dict)
    hints: Hints = field(default_factory=dict)

    @classmethod
    def of_names(cls, pins: Mapping[str, ToolClass], hints: Hints) -> ToolClasses:
        """Take pins and hints under canonical names.

        Raises:
            ValueError: A pin is no class.
        """
        return cls(
            {canonical_text(name): ToolClass(value) for name, value in pins.items()},
            merged_hints(*({canonical_text(name): given} for name, given in hints.items())),
        )

    def with_hints(self, hints: Hints) -> ToolClasses:
        """The same with further annotations; where two disagree, a tool changes state."""
        return ToolClasses.of_names(self.pins, merged_hints(self.hints, hints))

    def of(self, name: str) -> ClassVerdict:
        """The class of a tool."""
        name = canonical_text(name)
        if name in self.pins:
            return ClassVerdict(self.pins[name], ClassSource.PIN, "pinned")
        return self._unpinned(name)

    def _unpinned(self, name: str, exact: bool = True) -> ClassVerdict:
        for key in ([name] if exact else []) + [own_name(name)]:
            hinted = hinted_class(self.hints.get(key, {})) if exact or key != name else None
            if hinted is not None:
                return ClassVerdict(hinted[0], ClassSource.ANNOTATION, hinted[1])
        tool_class, reason = verb_class(name)
        return ClassVerdict(tool_class, ClassSource.VERB, reason)

    def content(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """The pins and annotations that change a class: two with equal contents decide alike on every name."""
        pins = [(name, str(pin)) for name, pin in self.pins.items() if pin is not self._unpinned(name).tool_class]
        hints = []
        for name, given in self.hints.items():
            hinted = hinted_class(given)
            if hinted is not None and hinted[0] is not self._unpinned(name, exact=False).tool_class:
                hints.append((name, str(hinted[0])))
        return sorted(pins), sorted(hints)
