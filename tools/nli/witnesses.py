"""What network and encoder say of labelled pairs of actions, asked once and kept: the slow part of fitting the head.

    python tools/nli/witnesses.py --silver silver/action_pairs_train.jsonl \
        --variants silver/action_variants_train.jsonl --gold gold/action_pairs_dev.jsonl --made build/judge/made.jsonl \
        --cache build/judge/witnesses.jsonl

Surface features are not kept but computed when the cache is read, so that a change of rules asks no network anew.
The cache goes on where it was stopped, and is refused for another network.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from likewise.backends.action_judge import witness_features
from likewise.backends.onnx_encoder import embedded_encoder
from likewise.backends.onnx_nli import Comparison, OnnxNli, embedded_nli
from likewise.core.labels import Relation
from likewise.core.state_text import canonical_text

FOLDS = 5
CHUNK = 64
"""Pairs asked together and then written."""
SOURCES = ("silver", "variants", "gold", "made")

Row = dict[str, str]
Pair = tuple[str, str]


@dataclass(frozen=True)
class Material:
    """Labelled text pairs with their features: one entry a pair."""

    features: np.ndarray
    truth: np.ndarray
    source: np.ndarray
    domain: np.ndarray
    kind: np.ndarray
    task: np.ndarray
    """What must not be on both sides of a fold: domain and task of a run, or the sentence that variants are of."""
    fold: np.ndarray
    """Fold by task of the airline pairs that silver and gold share; -1 elsewhere."""
    pairs: list[Pair]

    @property
    def airline(self) -> np.ndarray:
        """Which pairs are of the domain that gold is of."""
        return self.domain == "airline"


def read_rows(paths: dict[str, Path]) -> list[Row]:
    """Text pairs of all files; `source` says which file."""
    rows = []
    for source, path in paths.items():
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            kind = row.get("kind", "text-text")
            if kind in ("text-tool", "tool-tool") or kind.startswith(
                "action_"
            ):  # the last are the labelled pairs again
                continue
            rows.append({"domain": "airline", **row, "source": source})
    return rows


def pair_of(row: Row) -> Pair:
    """The canonical texts, as a judge gets them."""
    a, b = canonical_text(row["action_a"]), canonical_text(row["action_b"])
    return (a, b) if a <= b else (b, a)


def ask(pairs: list[Pair], network: OnnxNli, cache: Path) -> None:
    """Append what the cache lacks."""
    known = set(read_cache(cache, network.judge_id))
    missing = [pair for pair in dict.fromkeys(pairs) if pair not in known]
    encoder = embedded_encoder()
    with cache.open("a", encoding="utf-8") as file:
        if not file.tell():
            file.write(json.dumps({"network": network.judge_id}) + "\n")
        for start in range(0, len(missing), CHUNK):
            chunk = missing[start : start + CHUNK]
            texts = list(dict.fromkeys(text for pair in chunk for text in pair))
            vectors = dict(zip(texts, encoder.encode(texts), strict=True))
            for (a, b), said in zip(chunk, network.compare(chunk), strict=True):
                kept = [a, b, said.forward, said.backward, said.relation, float(vectors[a] @ vectors[b])]
                file.write(json.dumps(kept) + "\n")
            file.flush()
            print(f"{start + len(chunk)} of {len(missing)}", flush=True)


def read_cache(cache: Path, network: str) -> dict[Pair, tuple[Comparison, float]]:
    """What was asked of this network; a line cut off by an interruption is asked again."""
    if not cache.exists():
        return {}
    lines = cache.read_text(encoding="utf-8").splitlines()
    if not lines or json.loads(lines[0]) != {"network": network}:
        raise SystemExit(f"{cache}: kept for another network than {network}; remove it, or name another file")
    found = {}
    for line in lines[1:]:
        try:
            a, b, forward, backward, relation, cosine = json.loads(line)
        except ValueError:
            continue
        found[a, b] = (Comparison(tuple(forward), tuple(backward), tuple(relation)), cosine)
    return found


def material(rows: list[Row], cache: Path, network: str, partly: bool = False) -> Material:
    """Features of all rows, from the cache and the rules of today; with `partly`, of the rows that the cache has.

    Raises:
        SystemExit: The cache lacks a pair.
    """
    known = read_cache(cache, network)
    lacking = sum(pair_of(row) not in known for row in rows)
    if lacking and not partly:
        raise SystemExit(
            f"{cache}: {lacking} of {len(rows)} pairs are not in it; run tools/nli/witnesses.py to its end, or "
            "take --partly"
        )
    rows = [row for row in rows if pair_of(row) in known]
    pairs = [pair_of(row) for row in rows]
    features = [witness_features(*known[pair], *pair) for pair in pairs]
    numbered = [str(row.get("task_id", "")) for row in rows]
    return Material(
        features=np.array(features),
        truth=np.array([int(Relation[row["label"].upper()]) for row in rows]),
        source=np.array([row["source"] for row in rows]),
        domain=np.array([row["domain"] for row in rows]),
        kind=np.array([row.get("kind", "text-text") for row in rows]),
        task=np.array([f"{row['domain']}/{row.get('task_id', row.get('seed_id', ''))}" for row in rows]),
        fold=np.array(
            [
                int(n) % FOLDS if n.isdigit() and row["domain"] == "airline" else -1
                for n, row in zip(numbered, rows, strict=True)
            ]
        ),
        pairs=pairs,
    )


def files_of(args: argparse.Namespace) -> dict[str, Path]:
    """The files that were named, by source."""
    return {name: getattr(args, name) for name in SOURCES if getattr(args, name)}


def add_files(parser: argparse.ArgumentParser) -> None:
    """Options that name the files and the cache."""
    for name in SOURCES:
        parser.add_argument(f"--{name}", type=Path, required=name != "made")
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--partly", action="store_true", help="use what the cache has, and say how much that is")
    parser.add_argument("--network", type=Path, help="folder written by export.py; the shipped network if not given")


def network_of(args: argparse.Namespace) -> OnnxNli:
    """The network that was named."""
    return OnnxNli(args.network) if args.network else embedded_nli()


def in_order(rows: list[Row]) -> Iterator[Row]:
    """Gold, then silver, then the rest, each mixed: an interrupted cache then holds a sample that can be used."""
    mixed = [rows[i] for i in np.random.default_rng(0).permutation(len(rows))]
    for sources in (("gold",), ("silver",), ("variants", "made")):
        yield from (row for row in mixed if row["source"] in sources)


def main() -> None:
    """Parse and ask."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_files(parser)
    args = parser.parse_args()
    args.cache.parent.mkdir(parents=True, exist_ok=True)
    ask([pair_of(row) for row in in_order(read_rows(files_of(args)))], network_of(args), args.cache)


if __name__ == "__main__":
    main()
