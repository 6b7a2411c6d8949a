"""The figures of the structure: modules, lines, lengths of functions, cycles, docstrings, type errors, duplicates.

Run from the repository's environment: python tools/house_figures.py [--json] [--types]
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"
WINDOW = 8
"""Lines in a row that count as a duplicate where they stand twice, blanks and imports left out."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules(source: Path = SRC) -> dict[str, Path]:
    """Dotted name -> file of each module."""
    found = {}
    for path in sorted(source.rglob("*.py")):
        parts = list(path.relative_to(source).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def function_lengths(tree: ast.AST) -> list[int]:
    """Lines of each function, its signature and docstring included."""
    return [(node.end_lineno or node.lineno) - node.lineno + 1 for node in ast.walk(tree) if isinstance(node, Function)]


def public_things(tree: ast.Module) -> list[ast.Module | ast.ClassDef | Function]:
    """The module, its public classes, functions and methods."""
    found: list[ast.Module | ast.ClassDef | Function] = [tree]

    def visit(body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
                found.append(node)
                if isinstance(node, ast.ClassDef):
                    visit(node.body)

    visit(tree.body)
    return found


def imports_of(name: str, tree: ast.Module, names: set[str], package: bool) -> set[str]:
    """Modules of ours that this one imports when it is loaded; imports inside functions and for types wait."""
    found = set()
    for node in _at_load(tree.body):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            home = name.split(".") if package else name.split(".")[:-1]
            base = ".".join([*home[: len(home) - node.level + 1], *([node.module] if node.module else [])])
            base = base if node.level else (node.module or "")
            found |= {f"{base}.{each.name}" if f"{base}.{each.name}" in names else base for each in node.names}
    return {each for each in found if each in names and each != name}


def _at_load(body: list[ast.stmt]) -> list[ast.stmt]:
    found = []
    for node in body:
        if isinstance(node, Function) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)):
            continue
        found.append(node)
        for field in ("body", "orelse", "finalbody"):
            found += _at_load(getattr(node, field, []))
    return found


def cycles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that reach each other (Tarjan's strongly connected components of two or more)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(edges.get(node, ())):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found


def duplicate_blocks(texts: dict[str, str], window: int = WINDOW) -> list[tuple[str, str]]:
    """Places that share so many lines in a row; overlapping ones count once."""
    seen: dict[bytes, tuple[str, int]] = {}
    pairs: dict[tuple[str, str], list[int]] = defaultdict(list)
    for name, text in texts.items():
        lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
        lines = [(n, line) for n, line in lines if len(line) > 3 and not line.startswith(("import ", "from ", "#"))]
        for at in range(len(lines) - window + 1):
            digest = hashlib.sha256("\n".join(line for _, line in lines[at : at + window]).encode()).digest()
            first = seen.setdefault(digest, (name, lines[at][0]))
            if first != (name, lines[at][0]):
                pairs[first[0], name].append(lines[at][0])
    found = []
    for (first_name, second_name), places in pairs.items():
        starts = [n for i, n in enumerate(places) if i == 0 or n - places[i - 1] > window]
        found += [(first_name, f"{second_name}:{n}") for n in starts]
    return found


def figures(source: Path = SRC) -> dict[str, Any]:
    """All figures but the type errors, which need mypy and minutes."""
    files = modules(source)
    texts = {name: path.read_text(encoding="utf-8") for name, path in files.items()}
    trees = {name: ast.parse(text) for name, text in texts.items()}
    names = set(files)
    edges = {n: imports_of(n, tree, names, files[n].name == "__init__.py") for n, tree in trees.items()}
    lengths = sorted(length for tree in trees.values() for length in function_lengths(tree))
    public = [node for tree in trees.values() for node in public_things(tree)]
    lines = {name: len(text.splitlines()) for name, text in texts.items()}
    longest = max(lines, key=lambda name: lines[name])
    deciles = statistics.quantiles(lengths, n=10, method="inclusive") if len(lengths) > 1 else [lengths[0]] * 9
    return {
        "modules": len(files),
        "lines": sum(lines.values()),
        "functions": len(lengths),
        "function_length_median": statistics.median(lengths),
        "function_length_90th_percentile": deciles[-1],
        "longest_function": lengths[-1],
        "longest_file": {"module": longest, "lines": lines[longest]},
        "import_cycles": cycles(edges),
        "public_docstring_share": sum(ast.get_docstring(n) is not None for n in public) / len(public),
        "duplicate_blocks": duplicate_blocks(texts),
    }


def type_errors() -> int:
    """What mypy finds."""
    ended = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False)
    if ended.returncode not in (0, 1):
        raise SystemExit(f"mypy did not run: {ended.stderr or ended.stdout}")
    return sum(": error:" in line for line in ended.stdout.splitlines())


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--types", action="store_true", help="run mypy too (minutes)")
    options = parser.parse_args()
    found = figures()
    if options.types:
        found["type_errors"] = type_errors()
    if options.json:
        print(json.dumps(found, indent=2))
        return
    for name, value in found.items():
        shown = f"{len(value)}" + "".join(f"\n    {each}" for each in value) if isinstance(value, list) else value
        print(f"{name.replace('_', ' ')}: {shown}")


if __name__ == "__main__":
    main()
