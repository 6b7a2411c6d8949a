"""Grounding on SummEdits: does the layer tell a summary from one in which a small edit made it false?

    LIKEWISE_DATA=... python benchmarks/grounding.py [SOURCES PER DOMAIN] [OF THESE, READ BY PLAIN NLI]

All 1,615 items take about 20 minutes of one core, and plain NLI on all of them hours; what was read is kept.

Balanced accuracy with a 95% interval (jackknife over sources, since items of one source are not independent), beside
always-consistent (0.5 by definition), lexical overlap, and the directed NLI reading source and summary as two whole
texts. `sentences_*` is what the layer does, sentence by sentence,
with either judge: ways to make one answer of an answer's sentences. Thresholds of overlap and of share are the medians
of all items: they know the balance of the classes, and no label.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from common import save
from grounding_common import Kept, balanced, directed, overlap

from likewise.core.protocols import Judge
from likewise.reliability.grounding import Grounding, GroundingReport, ground

DOMAINS = ("samsum", "sales_call", "qmsumm")


def sample(domain: str, most: int) -> list[dict[str, str]]:
    """All items of the first so many sources."""
    path = Path(os.environ["LIKEWISE_DATA"]) / "grounding" / f"summedits_{domain}.jsonl.gz"
    by_source: dict[str, list[dict[str, str]]] = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            item = json.loads(line)
            by_source[item["source"]].append(item)
    return [item for items in list(by_source.values())[:most] for item in items]


def rules(reports: list[GroundingReport], truth: list[bool], units: list[str]) -> dict[str, dict[str, float | None]]:
    """Ways to make one answer of an answer's sentences."""
    shares = [0.0 if report.share.value is None else report.share.value for report in reports]
    return {
        "no_sentence_contradicted": balanced(truth, [not r.contradicted for r in reports], units),
        "every_sentence_supported": balanced(truth, [share == 1.0 for share in shares], units),
        "share_above_median": balanced(truth, [share > float(np.median(shares)) for share in shares], units),
    }


def measure(items: list[dict[str, str]], plain: list[dict[str, str]], kept: Kept) -> dict[str, object]:
    """All rates of some items; plain NLI splits whole texts into many parts, and reads fewer."""
    truth, units = [item["label"] == "consistent" for item in items], [item["source"] for item in items]

    def checked(judge: Judge) -> list[GroundingReport]:
        return [ground(item["answer"], {"source": item["source"]}, judge, kept.encoder) for item in items]

    layer, action = checked(directed(kept)), checked(kept.action)
    whole = [said.forward for said in kept.network.compare([(item["source"], item["answer"]) for item in plain])]
    judged = [item["label"] == "consistent" for item in plain]
    plain_units = [item["source"] for item in plain]
    laps = [overlap(item["answer"], item["source"]) for item in items]
    return {
        "items": len(items),
        "sources": len(set(units)),
        "consistent": sum(truth),
        "always_consistent": 0.5,
        "lexical_overlap": balanced(truth, [lap >= float(np.median(laps)) for lap in laps], units),
        "plain_nli": {
            "items": len(plain),
            "sources": len(set(plain_units)),
            **balanced(judged, [int(np.argmax(triple)) == 0 for triple in whole], plain_units),
        },
        "sentences_directed_nli": rules(layer, truth, units),
        "sentences_action_judge": rules(action, truth, units),
        "statuses_directed_nli": _statuses(layer),
        "statuses_action_judge": _statuses(action),
    }


def _statuses(reports: list[GroundingReport]) -> dict[str, int]:
    found = [sentence.status for report in reports for sentence in report.sentences]
    return {status: found.count(status) for status in Grounding}


def main() -> None:
    """Score each domain, then all."""
    most, most_plain = [*map(int, sys.argv[1:3]), 1_000, 1_000][:2]
    kept, rows = Kept(), dict[str, object]()
    everything, all_plain = list[dict[str, str]](), list[dict[str, str]]()
    for domain in DOMAINS:
        items, plain = sample(domain, most), sample(domain, min(most, most_plain))
        everything += items
        all_plain += plain
        rows[domain] = measure(items, plain, kept)
        print(domain, json.dumps(rows[domain]), flush=True)
    rows["all"] = measure(everything, all_plain, kept)
    command = " ".join(["python benchmarks/grounding.py", *sys.argv[1:]])
    save("grounding", {"command": command, "judge": kept.network.judge_id, "domains": rows})


if __name__ == "__main__":
    main()
