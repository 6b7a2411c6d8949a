"""Grounding on tool outputs: sentences of real airline agents against what their tools said.

    LIKEWISE_DATA=... python benchmarks/grounding_tools.py [ITEMS OF EACH KIND] [OF THESE, JUDGED]
    LIKEWISE_DATA=... python benchmarks/grounding_tools.py 200 --print  # 60 of them, to be read

Each sentence states values (codes, amounts, dates) that its run's tools gave before it. Three kinds of items:

* true: the sentence and the tool outputs that hold its values;
* swapped: the same with one value exchanged for another of its kind that these outputs do not hold;
* other run: the sentence and as many outputs of a run of another task, which hold none of its values.

`true` is so by construction only as far as values go: benchmarks/results/grounding_tools_checked.json is a reading of
60 items against their sources, and says which were wrong. The layer reads records of JSON by the action judge and prose
by the directed NLI; beside it stands the NLI for both. A check that all values stand in the source is right by
construction and is shown for that reason; what it cannot see is what is said of the values.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice

from common import rollout_file, save
from grounding_common import Kept, balanced, directed, overlap

from likewise.backends.sentences import split_sentences
from likewise.reliability.grounding import Grounding, ground

SEED = 7
DECIDED_ON = 50
"""Items of each kind, the first, on which it was decided which judge reads records and how values are matched."""
KINDS = {
    "code": re.compile(r"\b(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{6}\b"),
    "identity": re.compile(r"\b[a-z]+(?:_[a-z]+)*_\d{4,}\b"),
    "amount": re.compile(r"\$\d[\d,]*"),
    "date": re.compile(r"\b20\d\d-\d\d-\d\d\b"),
}
MOST_SOURCE = 4_000
"""Characters of all tool outputs of an item; longer ones are left out of the choice."""


@dataclass(frozen=True)
class Item:
    """A sentence, what it is checked against, and whether it is so."""

    key: str
    kind: str
    claim: str
    source: str
    supported: bool


def values(text: str) -> list[tuple[str, str]]:
    """Values of a text with their kinds, in order."""
    return [(kind, found) for kind, pattern in KINDS.items() for found in pattern.findall(text)]


def held(value: str, source: str) -> bool:
    """Whether a source holds a value, as a word of its own."""
    return re.search(rf"(?<![\w.]){re.escape(value.strip('$').replace(',', ''))}(?![\w])", source) is not None


def stated(run: dict) -> Iterator[tuple[str, str]]:
    """Sentences of the agent, with the tool outputs before them that hold all their values."""
    outputs: list[str] = []
    for message in run["traj"]:
        if message["role"] == "tool":
            if re.search("[A-Za-z]", str(message["content"])):  # a bare number does not say of what
                outputs.append(str(message["content"]))
        elif message["role"] == "assistant" and not message.get("tool_calls") and message["content"]:
            for sentence in split_sentences(message["content"]):
                found = {value for _, value in values(sentence)}
                if not found or sentence.rstrip().endswith(("?", ":")) or len(sentence.split()) < 5:
                    continue
                holding = [o for o in dict.fromkeys(outputs) if any(held(value, o) for value in found)]
                source = "\n".join(holding)
                if len(source) <= MOST_SOURCE and all(held(value, source) for value in found):
                    yield sentence, source


def make(runs: list[dict], most: int) -> list[Item]:
    """As many items of each kind, drawn with a fixed seed; each sentence once."""
    generator = random.Random(SEED)
    known = {}
    for number, run in enumerate(runs):
        for sentence, source in stated(run):
            known.setdefault(sentence, (number, run["task_id"], source))
    drawn = list(known.items())
    generator.shuffle(drawn)
    pool = {kind: sorted({v for s in known for k, v in values(s) if k == kind}) for kind in KINDS}
    items = []
    for claim, (number, task, source) in islice(drawn, most):
        key = f"{task}#{number}"
        items.append(Item(f"{key} true", "true", claim, source, True))
    for claim, (number, task, source) in drawn[::-1]:
        kind, old = generator.choice(values(claim))
        fresh = [v for v in pool[kind] if not held(v, source) and v not in claim]
        if fresh and sum(i.kind == "swapped" for i in items) < most:
            swapped = claim.replace(old, generator.choice(fresh))
            items.append(Item(f"{task}#{number} swapped", "swapped", swapped, source, False))
    for claim, (_, task, source) in drawn[most:] + drawn[:most]:
        if sum(i.kind == "other run" for i in items) == most:
            break
        others = [
            s
            for _, t, s in known.values()
            if t != task and not any(held(v, s) for _, v in values(claim)) and s.count("\n") == source.count("\n")
        ]
        if others:
            items.append(Item(f"{task} other run", "other run", claim, generator.choice(others), False))
    return items


def unseen(items: list[Item], said: list[bool], tasks: list[str]) -> dict[str, object]:
    """Balanced accuracy on the items that nothing was decided on, and by kind how many of them are supported."""
    so_far, later = Counter[str](), []
    for number, item in enumerate(items):
        if so_far[item.kind] >= DECIDED_ON:
            later.append(number)
        so_far[item.kind] += 1
    if not later:
        return {"items": 0}
    found = balanced([items[n].supported for n in later], [said[n] for n in later], [tasks[n] for n in later])
    kinds = {kind: [n for n in later if items[n].kind == kind] for kind in so_far}
    counts = {kind: {"items": len(those), "supported": sum(said[n] for n in those)} for kind, those in kinds.items()}
    return {"items": len(later), **found, **counts}


def main() -> None:
    """Make the items, check them, save rates."""
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()] or [200]
    items = make(json.loads(rollout_file().read_text()), numbers[0])
    if "--print" in sys.argv:
        print(json.dumps([asdict(item) for item in random.Random(SEED).sample(items, 60)], indent=1))
        return
    made = Counter(item.kind for item in items)
    items = [i for kind in made for i in islice((i for i in items if i.kind == kind), numbers[-1])]
    kept = Kept()
    judges = {
        "layer": (directed(kept), kept.action),
        "directed NLI alone": (directed(kept), directed(kept)),
    }
    truth, tasks = [item.supported for item in items], [re.split("[# ]", item.key)[0] for item in items]
    by: dict[str, list[str]] = {name: [] for name in judges}
    for number, item in enumerate(items, 1):
        for name, (prose, records) in judges.items():
            report = ground(item.claim, {"tools": item.source}, prose, kept.encoder, records)
            (*_, sentence) = report.sentences or [None]
            by[name].append("none" if sentence is None else str(sentence.status))
        if number % 20 == 0:
            print(f"{number} of {len(items)}", file=sys.stderr, flush=True)
    said = {name: [s == Grounding.SUPPORTED for s in statuses] for name, statuses in by.items()}
    laps = [overlap(item.claim, item.source) for item in items]
    median = sorted(laps)[len(laps) // 2]
    save(
        "grounding_tools",
        {
            "command": " ".join(["python benchmarks/grounding_tools.py", *sys.argv[1:]]),
            "judge": kept.network.judge_id,
            "rollouts": rollout_file().name,
            "seed": SEED,
            "made": made,
            "tasks": len(set(tasks)),
            "judged": Counter(item.kind for item in items),
            "balanced_accuracy": {
                "always_supported": 0.5,
                "lexical_overlap": balanced(truth, [lap >= median for lap in laps], tasks),
                **{name: balanced(truth, saying, tasks) for name, saying in said.items()},
                "layer more than lexical overlap": balanced(
                    truth, said["layer"], tasks, [lap >= median for lap in laps]
                ),
                "values_in_source (right by construction)": balanced(
                    truth, [all(held(v, i.source) for _, v in values(i.claim)) for i in items], tasks
                ),
            },
            "not_decided_on": {name: unseen(items, saying, tasks) for name, saying in said.items()},
            "statuses": {
                name: {
                    kind: {
                        status: sum(s == status and i.kind == kind for s, i in zip(statuses, items, strict=True))
                        for status in sorted(set(statuses))
                    }
                    for kind in ("true", "swapped", "other run")
                }
                for name, statuses in by.items()
            },
        },
    )


if __name__ == "__main__":
    main()
