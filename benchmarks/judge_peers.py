"""Rows through the model and seconds: likewise against three ways of its peers, same weights, same pairs, one run.

- ours: `Labeller.settle` on the judge `hf:FOLDER`: rules, slot guard, each distinct pair once, batches by length;
- uqlm 0.6.7: `NLI.get_nli_results_batch`, called once for each set of answers, as its scorers do;
- lm-polygraph style: distinct answers of a set, every ordered pair of them and each with itself, batches of 10
  (what SemanticMatrixCalculator of 0.7 does; written anew here, its package is not needed);
- the published listing: for each pair of answers one row, one direction, one at a time.

Peers know no tool calls and read an action as text. `make bench-peers MODEL=FOLDER` makes the environment and runs
this; FOLDER holds a Hugging Face cross-encoder of three classes (safetensors).

How many rows go through the model, and how many token positions (padding included: what a network's time grows with),
depends on no answer. So both are also counted over all tasks, the model replaced by one that answers nothing;
`--only-count` does this alone, in a minute, and leaves the measured seconds in the results as they are.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import combinations, product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from common import RESULTS, machine, rollout_file, save
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from uqlm.nli import NLI

from likewise import group_rollouts, read_rollouts
from likewise.backends.hf_nli import HfNli
from likewise.backends.label_store import LabelStore
from likewise.backends.tool_rules import ToolRules
from likewise.core.rollout import Action
from likewise.core.state_text import action_text
from likewise.scoring.label import Labeller
from likewise.scoring.stored_judge import StoredJudge, ordered

Pair = tuple[str, str]
ANSWERS = (
    "The refund of $120 goes back to your card within five days.",
    "I cannot refund this ticket, because it is a basic economy fare.",
    "You will get your money back on the card that you paid with.",
    "Could you tell me the number of the reservation first?",
)


@dataclass
class Case:
    """Sets of actions; those of one set are compared with each other. `pairs` lists them, repeats included."""

    name: str
    sets: list[list[Action]]

    @property
    def pairs(self) -> Iterator[tuple[Action, Action]]:
        """All pairs within each set."""
        for actions in self.sets:
            yield from combinations(actions, 2)

    @property
    def texts(self) -> list[list[str]]:
        """What a judge without tool rules reads."""
        return [[action_text(action) for action in actions] for actions in self.sets]


@dataclass
class Outcome:
    """What one way did: rows, token positions, seconds, and the class of each ordered pair that it scored."""

    rows: int
    positions: int
    seconds: float
    processor_seconds: float
    classes: dict[Pair, int]


class Rows:
    """Counts the rows that go through a torch model, and their token positions."""

    def __init__(self, model) -> None:
        """Count from now on."""
        self.count = self.positions = 0
        model.register_forward_pre_hook(self._see, with_kwargs=True)

    def _see(self, model, args, kwargs):
        ids = kwargs["input_ids"] if "input_ids" in kwargs else args[0]
        self.count += len(ids)
        self.positions += ids.numel()


class Silent(torch.nn.Module):
    """Stands in for a model where only rows are counted: one class as good as another."""

    def forward(self, input_ids, **_):
        """No scores."""
        return SimpleNamespace(logits=torch.zeros(len(input_ids), 3))


def timed(work: Callable[[], dict[Pair, int]], counter: Rows | Ours) -> Outcome:
    """Run once; count, and take both clocks."""
    rows, positions = counter.count, counter.positions
    began, worked = time.perf_counter(), time.process_time()
    classes = work()
    seconds, worked = time.perf_counter() - began, time.process_time() - worked
    return Outcome(counter.count - rows, counter.positions - positions, seconds, worked, classes)


class Peers:
    """The peers' ways on one loaded model."""

    def __init__(self, folder: str) -> None:
        """Load it for each."""
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
        self.rows = Rows(self.model)
        self.uqlm = NLI(nli_model_name=folder, device="cpu")
        self.uqlm_rows = Rows(self.uqlm.model)

    def silence(self) -> None:
        """Only count from now on."""
        self.model, self.uqlm.model = Silent(), Silent()
        self.rows, self.uqlm_rows = Rows(self.model), Rows(self.uqlm.model)

    def scores(self, pairs: list[Pair]) -> np.ndarray:
        """One padded batch."""
        batch = self.tokenizer(
            [a for a, _ in pairs], [b for _, b in pairs], padding=True, truncation=True, return_tensors="pt"
        )
        with torch.no_grad():
            return self.model(**batch).logits.numpy()

    def eight_bit_flips(self, classes: dict[Pair, int]) -> dict[str, int]:
        """Of these ordered pairs, how many get another class from the same weights in 8 bits (dynamic, all Linear)."""
        exact = self.model
        self.model = torch.ao.quantization.quantize_dynamic(exact, {torch.nn.Linear}, dtype=torch.qint8)
        try:
            found = {pair: int(self.scores([pair]).argmax()) for pair in classes}
        finally:
            self.model = exact
        return {"ordered pairs": len(found), "another class": sum(found[pair] != classes[pair] for pair in found)}

    def run_uqlm(self, case: Case) -> dict[Pair, int]:
        """A fresh memory; one call a set."""
        self.uqlm.probabilities = {}
        for texts in case.texts:
            self.uqlm.get_nli_results_batch(list(combinations(texts, 2)))
        return {pair: int(row.argmax()) for pair, row in self.uqlm.probabilities.items()}

    def run_polygraph(self, case: Case) -> dict[Pair, int]:
        """All ordered pairs of the distinct answers of a set, themselves included, ten at a time."""
        found: dict[Pair, int] = {}
        for texts in case.texts:
            pairs = list(product(dict.fromkeys(texts), repeat=2))
            for start in range(0, len(pairs), 10):
                batch = pairs[start : start + 10]
                found.update(zip(batch, self.scores(batch).argmax(axis=1).tolist(), strict=True))
        return found

    def run_listing(self, case: Case) -> dict[Pair, int]:
        """One pair at a time, one direction."""
        found: dict[Pair, int] = {}
        for texts in case.texts:
            for pair in combinations(texts, 2):
                found[pair] = int(self.scores([pair]).argmax())
        return found


class Ours:
    """The whole road, on the same weights."""

    def __init__(self, folder: Path) -> None:
        """Load the judge and count its rows."""
        self.judge = HfNli(folder, check=False)  # pace and equal labels need no good model
        self.count = self.positions = 0
        self._count(self.judge._network.score)
        self.order = self.judge._order

    def _count(self, score) -> None:
        def counted(rows):
            self.count += len(rows)
            self.positions += len(rows) * max(len(ids) for ids, _ in rows)
            return score(rows)

        self.judge._network = replace(self.judge._network, score=counted)

    def silence(self) -> None:
        """Only count from now on."""
        self._count(lambda rows: np.zeros((len(rows), 3), dtype=np.float32))

    def run(self, case: Case) -> dict[Pair, int]:
        """Settle all pairs; then read from the store what the judge itself said, before the slot guard."""
        with LabelStore(None) as store:
            Labeller(StoredJudge(self.judge, store)).settle(case.pairs)
            wanted = {ordered(*texts) for texts in needed(case)}
            known = store.get_many(self.judge.judge_id, list(wanted))
        found: dict[Pair, int] = {}
        for (a, b), judgement in known.items():
            found[a, b] = self.order[int(np.argmax(judgement.forward))]  # in the model's own order of classes
            found[b, a] = self.order[int(np.argmax(judgement.backward))]
        return found


def needed(case: Case) -> list[Pair]:
    """Pairs of texts that structure alone does not settle."""
    rules = ToolRules()
    return [texts for a, b in case.pairs for texts in rules.plan_action(a, b).needed_texts]


def rollouts(judge: HfNli, tasks: int | None) -> Case:
    """Whole tasks, from the first on, or all of them: at every turn the actions of all runs against each other.

    An action too long to stand twice in the judge's window is left out for everybody: the peers would cut it short and
    score another pair of texts than ours does.
    """
    sets: list[list[Action]] = []
    too_long = 0
    groups = group_rollouts(read_rollouts(rollout_file()))[:tasks]
    for group in groups:
        runs = [rollout.actions for rollout in group.valid]
        for turn in range(max(map(len, runs))):
            acting = [run[turn] for run in runs if len(run) > turn]
            actions = [action for action in acting if 2 * judge._length(action_text(action)) + 4 < judge._window]
            too_long += len(acting) - len(actions)
            if len(actions) > 1:
                sets.append(actions)
    pairs = sum(len(actions) * (len(actions) - 1) // 2 for actions in sets)
    what = f"{len(groups)} whole tasks, {len(sets)} turns, {pairs} pairs; {too_long} actions too long left out"
    return Case(f"{rollout_file().name}: {what}", sets)


def repeated() -> Case:
    """Twenty answers, four of them distinct."""
    answers = [Action(ANSWERS[i % 4]) for i in range(20)]
    random.Random(0).shuffle(answers)
    return Case("20 answers, 4 distinct", [answers])


def outcomes_of(case: Case, ours: Ours, peers: Peers) -> dict[str, Outcome]:
    """All four ways on one case."""
    return {
        "likewise": timed(lambda: ours.run(case), ours),
        "uqlm": timed(lambda: peers.run_uqlm(case), peers.uqlm_rows),
        "lm-polygraph style": timed(lambda: peers.run_polygraph(case), peers.rows),
        "one pair at a time": timed(lambda: peers.run_listing(case), peers.rows),
    }


def counts(outcome: Outcome, mine: Outcome) -> dict[str, object]:
    """Rows and token positions, and how many come on one of ours."""
    figures: dict[str, object] = {"rows": outcome.rows, "token positions": outcome.positions}
    if outcome is not mine:
        figures["rows for one of ours"] = round(outcome.rows / mine.rows, 2)
        figures["token positions for one of ours"] = round(outcome.positions / mine.positions, 2)
    return figures


def measured(case: Case, ours: Ours, peers: Peers) -> dict[str, object]:
    """What goes through the model, seconds, and labels."""
    outcomes = outcomes_of(case, ours, peers)
    mine = outcomes["likewise"]
    figures: dict[str, object] = {}
    for name, outcome in outcomes.items():
        shared = mine.classes.keys() & outcome.classes.keys()
        figures[name] = {
            **counts(outcome, mine),
            "seconds": round(outcome.seconds, 2),
            "processor_seconds": round(outcome.processor_seconds, 2),
        }
        if outcome is not mine:
            figures[name] |= {
                "times slower": round(outcome.seconds / mine.seconds, 2),
                "times slower (processor)": round(outcome.processor_seconds / mine.processor_seconds, 2),
                "ordered pairs that both scored": len(shared),
                "of them with another class": sum(mine.classes[pair] != outcome.classes[pair] for pair in shared),
            }
    return {"case": case.name, **figures, "int8 of the same weights": peers.eight_bit_flips(mine.classes)}


def counted(ours: Ours, peers: Peers) -> list[dict[str, object]]:
    """Both cases over all tasks, without a network."""
    ours.silence()
    peers.silence()
    found = []
    for case in (repeated(), rollouts(ours.judge, None)):
        outcomes = outcomes_of(case, ours, peers)
        figures = {name: counts(outcome, outcomes["likewise"]) for name, outcome in outcomes.items()}
        found.append({"case": case.name, **figures})
    return found


def weights_note(folder: Path) -> str:
    """What the folder says of its weights (benchmarks/peer_model.py); rows and pace do not depend on it."""
    note = folder / "NOTE.txt"
    return note.read_text().strip() if note.exists() else "as given"


def main() -> None:
    """Measure both cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder of a cross-encoder (safetensors)")
    parser.add_argument("--tasks", type=int, default=10, help="tasks of the rollouts, from the first")
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch, for everybody")
    parser.add_argument("--only-count", action="store_true", help="count rows and token positions, measure no time")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    ours, peers = Ours(args.model), Peers(str(args.model))
    results = RESULTS / "judge_peers.json"
    if args.only_count:
        figures = json.loads(results.read_text())
        before = figures.pop("machine")  # of the run that took the seconds
        figures.setdefault("measured", {name: before[name] for name in ("load_before", "date")})
    else:
        figures = {
            "judge": ours.judge.judge_id,
            "weights": weights_note(args.model),
            "rules": ToolRules().rules_id,
            "versions": {name: version(name) for name in ("likewise", "uqlm", "torch", "transformers", "numpy")},
            "threads": torch.get_num_threads(),
            "measured": {name: machine()[name] for name in ("load_before", "date")},
        }
        cases = [repeated(), rollouts(ours.judge, args.tasks)]
        peers.scores([("warm", "up")])
        figures["cases"] = [measured(case, ours, peers) for case in cases]
    figures["counted over all tasks"] = counted(ours, peers)
    save("judge_peers", figures)


if __name__ == "__main__":
    main()
