"""The code blocks of a page: what kind they are, and what of them is not run, with the reason that the page gives.

A comment before a block says that nothing of it is run, or none of its lines that start with some words:

    <!-- not run: it needs a graphics card -->
    <!-- not run, `likewise serve`: it serves until it is stopped -->
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
TAG = re.compile(r"<!-- not run(?:, `(?P<words>[^`]+)`)?: (?P<reason>\S.*?) -->")
FENCE = re.compile(r"```(?P<kind>\w*)$")
COMMANDS = {"curl", "docker", "export", "git", "likewise", "make", "pip", "ray", "sqlite3", "torchrun"}
"""First words by which an indented block is known to be typed into a shell."""


@dataclass(frozen=True)
class Block:
    """A code block, and what the comments before it say."""

    page: str
    line: int
    kind: str
    text: str
    not_run: str | None = None
    skipped: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"

    def commands(self) -> list[list[str]]:
        """What is typed, command by command, without prompts, comments and what the terminal answers."""
        lines = self.text.replace("\\\n", " ").splitlines()
        if any(line.startswith("$ ") for line in lines):
            lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        typed = (shlex.split(line, comments=True) for line in lines)
        return [words for line in typed for words in _between(line) if words]


def pages():
    """The README, and every page of the documentation."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks_of(path):
    """All code blocks of a page, in order."""
    page, lines = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8").split("\n")
    found, at, tags = [], 0, []
    while at < len(lines):
        if tag := TAG.fullmatch(lines[at]):
            tags.append(tag)
            at += 1
            continue
        end, kind, text = _block_at(lines, at)
        if end is None:
            if lines[at].strip():
                assert not tags, f"{page}:{at}: a comment on running stands before no code block"
            at += 1
            continue
        whole = next((tag["reason"] for tag in tags if tag["words"] is None), None)
        skipped = {tag["words"]: tag["reason"] for tag in tags if tag["words"]}
        found.append(Block(page, at + 1, kind, text, whole, skipped))
        at, tags = end, []
    return found


def _block_at(lines, at):
    """Where the block that starts here ends, its kind and text; None where none starts."""
    if fence := FENCE.match(lines[at]):
        end = lines.index("```", at + 1)
        return end + 1, fence["kind"] or "text", "\n".join(lines[at + 1 : end])
    in_list = at > 1 and re.match(r"\s*([-*]|\d+\.) ", lines[at - 2])
    if lines[at].startswith("    ") and lines[at - 1].strip() == "" and not in_list:
        end = at
        while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
            end += 1
        text = "\n".join(line[4:] for line in lines[at:end]).rstrip()
        first = text.removeprefix("$ ").split()[0]
        return end, "sh" if first in COMMANDS else "text", text
    return None, "", ""


def _between(words):
    """Commands that `&&` or `|` joins."""
    one = []
    for word in words:
        if word in ("&&", "|"):
            yield one
            one = []
        else:
            one.append(word)
    yield one
