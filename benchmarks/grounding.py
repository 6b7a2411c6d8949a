"""Grounding on SummEdits: does the layer tell a summary from one in which a small edit made it false?

    LIKEWISE_DATA=... python benchmarks/grounding.py [SOURCES PER DOMAIN]

Balanced accuracy with a 95% interval (Wilson on each class, half widths combined; items of one source are not quite
independent, so that it is somewhat too narrow), beside always-consistent (0.5 by definition), lexical overlap, and the
directed NLI reading source and summary as two whole texts. `sentences_*` is what the layer does, sentence by sentence,
with either judge: ways to make one answer of an answer's sentences. Thresholds of overlap and of share are the medians
of all items: they know the balance of the classes, and no label.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from common import save
from grounding_common import Kept, balanced, directed, overlap

from likewise.core.protocols import Judge
from likewise.reliability.grounding import Grounding, GroundingReport, ground

DOMAINS = ("samsum", "sales_call", "qmsumm")
PLAIN_EVERY = 3
"""Whole texts are split into many parts by plain NLI; it reads every third item."""


def sample(domain: str, most: int) -> list[dict[str, str]]:
    """All items of the first so many sources."""
    path = Path(os.environ["LIKEWISE_DATA"]) / "grounding" / f"summedits_{domain}.jsonl.gz"
    by_source: dict[str, list[dict[str, str]]] = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            item = json.loads(line)
            by_source[item["source"]].append(item)
    return [item for items in list(by_source.values())[:most] for item in items]


def rules(reports: list[GroundingReport], truth: list[bool]) -> dict[str, dict[str, float]]:
    """Ways to make one answer of an answer's sentences."""
    shares = [0.0 if report.share.value is None else report.share.value for report in reports]
    return {
        "no_sentence_contradicted": balanced(truth, [not r.contradicted for r in reports]),
        "every_sentence_supported": balanced(truth, [share == 1.0 for share in shares]),
        "share_above_median": balanced(truth, [share > float(np.median(shares)) for share in shares]),
    }


def measure(items: list[dict[str, str]], kept: Kept) -> dict[str, object]:
    """All rates of some items."""
    truth = [item["label"] == "consistent" for item in items]

    def checked(judge: Judge) -> list[GroundingReport]:
        return [ground(item["answer"], {"source": item["source"]}, judge, kept.encoder) for item in items]

    layer, action = checked(directed(kept)), checked(kept.action)
    plain = items[::PLAIN_EVERY]
    whole = [
        comparison.forward for comparison in kept.network.network.compare([(i["source"], i["answer"]) for i in plain])
    ]
    laps = [overlap(item["answer"], item["source"]) for item in items]
    return {
        "items": len(items),
        "consistent": sum(truth),
        "always_consistent": 0.5,
        "lexical_overlap": balanced(truth, [lap >= float(np.median(laps)) for lap in laps]),
        "plain_nli": {
            "items": len(plain),
            **balanced(truth[::PLAIN_EVERY], [int(np.argmax(triple)) == 0 for triple in whole]),
        },
        "sentences_directed_nli": rules(layer, truth),
        "sentences_action_judge": rules(action, truth),
        "statuses_directed_nli": _statuses(layer),
        "statuses_action_judge": _statuses(action),
    }


def _statuses(reports: list[GroundingReport]) -> dict[str, int]:
    found = [sentence.status for report in reports for sentence in report.sentences]
    return {status: found.count(status) for status in Grounding}


def main() -> None:
    """Score each domain, then all."""
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    kept, rows = Kept(), dict[str, object]()
    began = time.process_time()
    everything: list[dict[str, str]] = []
    for domain in DOMAINS:
        items = sample(domain, most)
        everything += items
        rows[domain] = measure(items, kept)
        print(domain, json.dumps(rows[domain]), round(time.process_time() - began), "s", flush=True)
    rows["all"] = measure(everything, kept)
    save(
        "grounding",
        {
            "judge": kept.network.judge_id,
            "sources_per_domain": most,
            "domains": rows,
            "processor_seconds": round(time.process_time() - began),
        },
    )


if __name__ == "__main__":
    main()
