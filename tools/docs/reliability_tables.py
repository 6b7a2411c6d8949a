"""The tables of docs/reliability.md, made of benchmarks/results: one call after a benchmark has run again.

python tools/docs/reliability_tables.py          # says which tables are not those of the results
python tools/docs/reliability_tables.py --write  # puts them right
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reliability.md"
RESULTS = ROOT / "benchmarks" / "results"
_BLOCK = re.compile(r"<!-- table: (\w+) -->\n\n(.*?)\n\n<!-- end of table -->", re.DOTALL)
Found = Mapping[str, Any]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0") if value < 1 else f"{value:.3f}"


def _with_interval(found: Found) -> str:
    shown = f"{found['value']:.3f}"
    return shown if found["low"] is None else f"{shown} [{found['low']:.3f}, {found['high']:.3f}]"


def sequential(found: Found) -> str:
    """What modes name wrongly, and what they cost, by agent."""
    rows = []
    for name, row in found["agents"].items():
        wrong, undecided, runs = (row[f"sequential_{each}"] for each in ("wrong", "undecided", "runs"))
        rows.append(
            [
                "always the same" if name == "1" else name,
                _share(row["fixed5_wrong"]),
                f"{_share(row['adaptive_wrong'])}, {row['adaptive_runs']:.1f}",
                f"{_share(wrong)}, {_share(undecided)}, {runs:.1f}",
            ]
        )
    head = ["agent's answers", "fixed 5: wrong", "adaptive: wrong, runs", "sequential: wrong, undecided, runs"]
    return _table(head, rows)


def summedits(found: Found) -> str:
    """Balanced accuracy of "consistent", by domain."""
    domains = found["domains"]

    def row(name: str, of: Callable[[Found], str]) -> list[str]:
        return [name, *(of(domain) for domain in domains.values())]

    def rule(kind: str, name: str) -> Callable[[Found], str]:
        return lambda domain: _with_interval(domain[f"sentences_{kind}"][name])

    rows = [
        row("always consistent", lambda domain: f"{domain['always_consistent']:.1f}"),
        row(
            "plain NLI, two whole texts",
            lambda d: (
                _with_interval(d["plain_nli"])
                + ("" if d["plain_nli"]["items"] == d["items"] else f" ({d['plain_nli']['items']} items)")
            ),
        ),
        row("lexical overlap, threshold at its median", lambda domain: _with_interval(domain["lexical_overlap"])),
        row("no sentence contradicted", rule("directed_nli", "no_sentence_contradicted")),
        row("share supported above its median", rule("directed_nli", "share_above_median")),
        row("every sentence supported", rule("directed_nli", "every_sentence_supported")),
        row(
            "no sentence contradicted, by the symmetric action judge", rule("action_judge", "no_sentence_contradicted")
        ),
        row("share supported above its median, by the action judge", rule("action_judge", "share_above_median")),
        row("every sentence supported, by the action judge", rule("action_judge", "every_sentence_supported")),
    ]
    names = [f"{name} ({domain['items']:,} items, {domain['sources']} sources)" for name, domain in domains.items()]
    return _table(["", *names], rows)


def tool_outputs(found: Found) -> str:
    """Balanced accuracy of "supported", and what was said of each kind of sentence."""
    accuracy, statuses = found["balanced_accuracy"], found["statuses"]
    kinds = {"true": "true", "swapped": "value exchanged", "other run": "other run"}

    def said(name: str) -> list[str]:
        of = statuses[name]
        return [f"{of[kind].get('supported', 0)}, {of[kind].get('contradicted', 0)}" for kind in kinds]

    rows = [
        ["always supported", "0.5", *(f"{found['judged'][kind]}, 0" for kind in kinds)],
        ["lexical overlap, threshold at its median", _with_interval(accuracy["lexical_overlap"]), "", "", ""],
        [
            "the directed NLI for everything",
            _with_interval(accuracy["directed NLI alone"]),
            *said("directed NLI alone"),
        ],
        ["the layer: records by the action judge", _with_interval(accuracy["layer"]), *said("layer")],
    ]
    for name, words in (("directed NLI alone", "the directed NLI"), ("layer", "the layer")):
        new = found["not_decided_on"][name]
        counts = [f"{new[kind]['supported']} of {new[kind]['items']}" for kind in kinds]
        rows.append([f"{words}, on the {new['items']} that nothing was decided on", _with_interval(new), *counts])
    return _table(["", "balanced accuracy", *(f"{kind}: supported, contradicted" for kind in kinds.values())], rows)


def overhead(found: Found) -> str:
    """Wall and processor time of the three ways."""
    ways = {
        "bare client": (f"bare client, {found['queries'] * found['runs']:,} calls", None),
        "layer, identical answers": ("layer, identical answers (no model is asked)", "overhead, judging excluded"),
        "layer, judging": ("layer, five wordings, embedded judge", "overhead, judging included"),
    }
    rows = []
    for way, (name, over) in ways.items():
        more = "" if over is None else f"{found[over]['processor_ms_a_query']:.0f} ms of processor"
        rows.append([name, f"{found[way]['wall_s']:.1f} s", f"{found[way]['processor_s']:.1f} s", more])
    return _table(["", "wall", "processor", "more than the bare client, a query"], rows)


TABLES: Mapping[str, tuple[str, Callable[[Found], str]]] = {
    "sequential": ("sequential_stopping", sequential),
    "summedits": ("grounding", summedits),
    "tool_outputs": ("grounding_tools", tool_outputs),
    "overhead": ("layer_overhead", overhead),
}
"""Name of a table to the file of its figures, and what makes it of them."""


def table(name: str) -> str:
    """One table, as the results have it."""
    file, make = TABLES[name]
    return make(json.loads((RESULTS / f"{file}.json").read_text(encoding="utf-8")))


def rewritten(page: str) -> str:
    """The page with all tables as the results have them."""
    return _BLOCK.sub(lambda block: f"<!-- table: {block[1]} -->\n\n{table(block[1])}\n\n<!-- end of table -->", page)


def shown(page: str) -> dict[str, str]:
    """The tables of a page by name."""
    return {block[1]: block[2] for block in _BLOCK.finditer(page)}


def main() -> int:
    """Say what differs, or put it right."""
    page = PAGE.read_text(encoding="utf-8")
    differ = [name for name, rows in shown(page).items() if rows != table(name)]
    print(f"differ from the results: {', '.join(differ)}" if differ else "all tables are those of the results")
    if "--write" in sys.argv[1:]:
        PAGE.write_text(rewritten(page), encoding="utf-8")
        return 0
    return int(bool(differ))


if __name__ == "__main__":
    sys.exit(main())
