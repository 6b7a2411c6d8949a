"""Pages of the site that are made of what is elsewhere: the README, design notes, results of benchmarks, help texts."""

from __future__ import annotations

import ast
import json
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(\]\()([^)#\s]+)(#[^)\s]*)?(\))")
FIGURE = re.compile(r"\{([^}|]+)(?:\|([^}]*))?\}")
NO_HEADLINE = {"figure": "see the file", "limit": "", "command": ""}
"""Of a file that nobody has given a row yet; a test asks for it, the site is built all the same."""
MOST_ROWS = 40
"""Rows of one table of results; the rest is in the file."""


def relinked(markdown: str, source: str, page: str) -> str:
    """Links of a file of the repository, as they must be on a page of the site.

    Args:
        markdown: The text.
        source: Where the text stands in the repository, such as `README.md`.
        page: Where it stands on the site, such as `index.md`.
    """

    def turned(found: re.Match[str]) -> str:
        opening, address, anchor, closing = found.groups()
        if re.match(r"[a-z]+:", address):
            return found.group()
        target = os.path.normpath(os.path.join(os.path.dirname(source), address))
        place = place_of(target)
        if place is None:
            return found.group()
        return f"{opening}{os.path.relpath(place, os.path.dirname(page) or '.')}{anchor or ''}{closing}"

    return LINK.sub(turned, markdown)


def place_of(path: str) -> str | None:
    """Where a file of the repository stands on the site; None where it is not on it."""
    if path == "README.md":
        return "index.md"
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path == "design":
        return "design/index.md"
    if path == "CONTRIBUTING.md":
        return "contributing.md"
    if path == "NOTICE":
        return "notice.md"
    if path == "src/likewise/models/nli/CARD.md":
        return "model_card.md"
    if match := re.fullmatch(r"benchmarks/results/(\w+)\.json", path):
        return f"benchmarks/{match[1]}.md"
    if path.startswith("deploy"):
        return "deploy_files.md"
    return path if path.startswith("design/") else None


def results_page(name: str, results: Any, root: Path = ROOT) -> str:
    """A page of one file of results: what the benchmark says of itself, then every number in tables."""
    about = benchmark_docstring(root / "benchmarks" / f"{name}.py")
    lines = [f"# {name.replace('_', ' ').capitalize()}", ""]
    lines += [re.sub(r"\[(?![^\]]*\]\()", r"\\[", about), ""] if about else []  # `[--seed 0]` is no reference
    lines += [f"Drawn from `benchmarks/results/{name}.json` when this site is built.", ""]
    return "\n".join([*lines, *_rendered(results, 2)]) + "\n"


def benchmark_docstring(script: Path) -> str:
    """What a benchmark says of itself; nothing where no script has this name."""
    if not script.exists():
        return ""
    return ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""


def _plain(value: Any) -> bool:
    short_list = isinstance(value, list) and len(value) <= 4 and all(_plain(each) for each in value)
    return value is None or isinstance(value, str | int | float | bool) or short_list


def _cell(value: Any) -> str:
    if value is None:
        return "not measured"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_cell(each) for each in value)
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return re.sub(r"\s*\n\s*", " ", text).replace("|", "\\|").replace("<", "&lt;")


def _table(head: list[str], rows: list[list[Any]]) -> list[str]:
    shown = rows[:MOST_ROWS]
    lines = [f"| {' | '.join(_cell(each) for each in head)} |", f"|{' --- |' * len(head)}"]
    lines += [f"| {' | '.join(_cell(each) for each in row)} |" for row in shown]
    if len(rows) > len(shown):
        lines += ["", f"{len(rows) - len(shown)} more rows are in the file."]
    return [*lines, ""]


def _rendered(value: Any, depth: int) -> list[str]:
    """Tables where rows are alike, headings where they are not."""
    if isinstance(value, list):
        return _rendered_list(value, depth)
    if not isinstance(value, dict):
        return [_cell(value), ""]
    if value and all(isinstance(each, dict) and each and all(map(_plain, each.values())) for each in value.values()):
        columns = list(dict.fromkeys(key for each in value.values() for key in each))
        if len(columns) <= 10:
            return _table(["", *columns], [[key, *(each.get(c, "") for c in columns)] for key, each in value.items()])
    plain = [[key, each] for key, each in value.items() if _plain(each)]
    lines = _table(["", "value"], plain) if plain else []
    for key, each in value.items():
        if not _plain(each):
            title = _cell(key)
            lines += [f"{'#' * depth} {title}" if depth <= 6 else f"**{title}**", "", *_rendered(each, depth + 1)]
    return lines


def _rendered_list(value: list[Any], depth: int) -> list[str]:
    if all(isinstance(each, dict) and all(map(_plain, each.values())) for each in value) and value:
        columns = list(dict.fromkeys(key for each in value for key in each))
        if len(columns) <= 10:
            return _table(columns, [[each.get(column, "") for column in columns] for each in value])
    if all(map(_plain, value)):
        shown = ", ".join(_cell(each) for each in value[:MOST_ROWS])
        more = f", and {len(value) - MOST_ROWS} more in the file" if len(value) > MOST_ROWS else ""
        return [shown + more, ""]
    lines: list[str] = []
    for place, each in enumerate(value[:MOST_ROWS], 1):
        lines += [f"**{place}**", "", *_rendered(each, depth + 1)]
    return lines


def results_pages(root: Path = ROOT) -> dict[str, str]:
    """Page address -> text, for each file of results and for their list."""
    headlines = tomllib.loads((root / "benchmarks" / "headlines.toml").read_text(encoding="utf-8"))
    pages, rows = {}, []
    for path in sorted((root / "benchmarks" / "results").glob("*.json")):
        results = json.loads(path.read_text(encoding="utf-8"))
        pages[f"benchmarks/{path.stem}.md"] = results_page(path.stem, results, root)
        rows.append(results_row(path.stem, results, headlines.get(path.stem, NO_HEADLINE), root))
    head = "# Benchmarks\n\nEvery figure is drawn from the file that the benchmark wrote, when this site is built.\n\n"
    table = _table(["", "question", "figure", "how far it goes", "command"], rows)
    return {"benchmarks/index.md": head + "\n".join(table), **pages}


def results_row(name: str, results: Any, headline: Mapping[str, str], root: Path = ROOT) -> list[str]:
    """What a file of results shows, in one row; its figures are read from the file."""
    about = headline.get("what") or benchmark_docstring(root / "benchmarks" / f"{name}.py").split("\n")[0]
    figure = FIGURE.sub(lambda found: figure_at(results, found[1], (found[2] or "").strip()), headline["figure"])
    link = f"[{name.replace('_', ' ')}]({name}.md)"
    return [link, about, figure, headline["limit"], f"`{headline['command']}`"]


def figure_at(results: Any, path: str, form: str = "") -> str:
    """The value under these keys, in this form.

    Args:
        results: What a benchmark wrote.
        path: Keys with ` > ` between them; of a list, a place, or `key=value` for the entry that has it.
        form: As after the colon in `format`.

    Raises:
        LookupError: There is nothing, or not measured.
    """
    found = results
    for key in path.strip().split(" > "):
        if isinstance(found, list):
            name, named, value = key.partition("=")
            found = next((each for each in found if each.get(name) == value), None) if named else found[int(key)]
        else:
            found = found[key]
        if found is None:
            raise LookupError(f"{path!r}: nothing at {key!r}")
    return format(found, form)


def commands_page() -> str:
    """Every command with its own help, as the terminal shows it 100 columns wide."""
    from typer.main import get_command
    from typer.testing import CliRunner

    from likewise.cli.main import app

    lines = ["# Commands", "", "What each command says of itself with `--help`.", ""]
    for words in command_paths(get_command(app)):
        help_text = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "100"}, prog_name="likewise").output
        name = " ".join(["likewise", *words])
        lines += [f"## `{name}`", "", "```text", help_text.strip("\n"), "```", ""]
    return "\n".join(lines)


def command_paths(command: Any, words: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The words of each command, groups before what is in them."""
    inside = getattr(command, "commands", None) or {}
    return [words, *(path for name, each in inside.items() for path in command_paths(each, (*words, name)))]


def python_page() -> str:
    """Every public name, drawn from its docstring."""
    import likewise
    from likewise import _HOMES

    lines = ["# Python", "", "Everything here is imported from `likewise`; it loads on first use.", ""]
    for name in sorted(set(likewise.__all__) - {"__version__"}, key=str.lower):
        lines += [f"::: {_HOMES[name]}.{name}", ""]
    return "\n".join(lines)


def metrics_page(root: Path = ROOT) -> str:
    """Every module of the metrics, drawn from its docstrings."""
    lines = ["# Metrics", "", "One equation, one function. [The paper's equations](../paper_index.md) point here.", ""]
    for path in sorted((root / "src" / "likewise" / "metrics").glob("[!_]*.py")):
        lines += [f"::: likewise.metrics.{path.stem}", ""]
    return "\n".join(lines)


def copied_pages(root: Path = ROOT) -> dict[str, str]:
    """Page address -> text of files that are documents in the repository."""
    pages = {}
    for source in ("README.md", "CONTRIBUTING.md", "src/likewise/models/nli/CARD.md"):
        if (root / source).exists():
            page = str(place_of(source))
            pages[page] = relinked((root / source).read_text(encoding="utf-8"), source, page)
    pages["notice.md"] = "# Notices\n\n" + _quoted(root / "NOTICE")
    listed = ["# Design notes", "", "One note for each decision that a reader would ask about.", ""]
    for path in sorted((root / "design").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        pages[f"design/{path.name}"] = relinked(text, f"design/{path.name}", f"design/{path.name}")
        listed.append(f"- [{text.splitlines()[0].lstrip('# ')}]({path.name})")
    pages["design/index.md"] = "\n".join(listed) + "\n"
    files = ["# Files for deployment", "", "Examples to copy; [deployment](deploy.md) says what each is for.", ""]
    for path in sorted((root / "deploy").glob("*")):
        files += [f"## `{path.name}`", "", _quoted(path)]
    pages["deploy_files.md"] = "\n".join(files)
    return pages


def _quoted(path: Path) -> str:
    return f"````text\n{path.read_text(encoding='utf-8').rstrip()}\n````\n"


def generated_pages(root: Path = ROOT) -> dict[str, str]:
    """Every page that no file in docs/ holds."""
    reference = {
        "reference/commands.md": commands_page(),
        "reference/python.md": python_page(),
        "reference/metrics.md": metrics_page(root),
    }
    return {**copied_pages(root), **results_pages(root), **reference}
