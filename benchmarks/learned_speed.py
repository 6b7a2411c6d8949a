"""Speed of the learned metric: a new turn at turn 5 and at turn 200, whole runs end to end, and a training.

python benchmarks/learned_speed.py [--fit] [--runs 120] [--quick]

Where other work shares the cores, the wall times are weak; processor seconds stand beside them. Training is on the
scale of the paper: 13 tasks of 30 runs of 12 turns, synthetic texts, after encoding.

What the encoder must do for a turn is counted, too: its tokens times the operations of its matrices. Beside the
operations that the processor does in a second of its time (a float32 product of NumPy's, and the encoder itself) that
says how many turns a second this machine can reach at all.
"""

from __future__ import annotations

import argparse
import statistics
import time
from importlib.resources import as_file, files

import numpy as np
from common import rollout_file, save

from likewise.backends.onnx_encoder import embedded_encoder
from likewise.backends.onnx_session import load_tokenizer
from likewise.core.rollout import Action, Observation, Rollout, Turn
from likewise.core.state_text import action_text, observation_text
from likewise.formats.registry import read_rollouts
from likewise.learned.checkpoint import Checkpoint
from likewise.learned.forward import weight_shapes
from likewise.learned.model import RSDModel
from likewise.learned.state_encoding import STATE_ENCODING_VERSION, state_width

OPERATIONS_A_TOKEN = 2 * 6 * 12 * 384**2
"""Of the encoder's matrices, two a weight: 6 layers of 12 squares of 384 (all-MiniLM-L6-v2); attention comes on top."""
WORDS = ("the", "flight", "is", "booked", "for", "you", "on", "monday", "from", "boston", "to", "denver", "with", "one")


def untrained(references: int = 512) -> RSDModel:
    """A model with weights that were never trained: as fast as one that was."""
    encoder, rng = embedded_encoder(), np.random.default_rng(0)
    width = state_width(384)
    weights = {
        name: (0.03 * rng.normal(size=shape)).astype(np.float32) for name, shape in weight_shapes(width, 1).items()
    }
    facts = {
        "encoder": encoder.encoder_id, "dimensions": 384, "width": width, "heads": 1, "gamma": 0.8, "alpha": 0.5,
        "beta": 5.0, "familiar": 1.0, "calibration": None, "state_encoding": STATE_ENCODING_VERSION,
    }  # fmt: skip
    return RSDModel(Checkpoint(facts, weights, rng.normal(size=(references, width)).astype(np.float32)), encoder)


def text(rng: np.random.Generator, words: int) -> str:
    """Words that were not seen together before."""
    return " ".join(rng.choice(WORDS, size=words)) + f" {rng.integers(10**9)}"


def new_turn(model: RSDModel, repeats: int) -> dict[str, float]:
    """Milliseconds of scoring one new turn of some 260 tokens, by the length of the history before it."""
    rng, found = np.random.default_rng(1), {}
    histories = {
        length: tuple(Turn((Observation("user", text(rng, 20)),), Action(text(rng, 10))) for _ in range(length))
        for length in (5, 200)
    }
    for turns in histories.values():
        model.score(turns)
    samples: dict[int, list[float]] = {length: [] for length in histories}
    spent: dict[int, list[float]] = {length: [] for length in histories}
    for _ in range(repeats):
        for length, turns in histories.items():  # in turn, so that what else runs here hits both
            model.score(turns)
            grown = (*turns, Turn((Observation("tool", text(rng, 160)),), Action(text(rng, 60))))
            began, processor = time.perf_counter(), time.process_time()
            model.score(grown)
            samples[length].append(time.perf_counter() - began)
            spent[length].append(time.process_time() - processor)
    for length in histories:
        found[f"milliseconds_at_turn_{length}"] = round(1000 * statistics.median(samples[length]), 2)
        found[f"processor_milliseconds_at_turn_{length}"] = round(1000 * statistics.median(spent[length]), 2)
    found["ratio"] = round(found["milliseconds_at_turn_200"] / found["milliseconds_at_turn_5"], 3)
    found["processor_ratio"] = round(
        found["processor_milliseconds_at_turn_200"] / found["processor_milliseconds_at_turn_5"], 3
    )
    return found


def end_to_end(model: RSDModel, most: int | None) -> dict[str, float]:
    """Turns a second over recorded runs, texts embedded once each, nothing cut off."""
    runs = [run for run in read_rollouts([rollout_file()]) if run.valid][:most]
    tokens = tokens_of(runs)
    began, processor = time.perf_counter(), time.process_time()
    scored = 0
    for run in runs:
        model.states.prepare([run])
        scored += len(model.score_turns(run))
    seconds, processor = time.perf_counter() - began, time.process_time() - processor
    return {
        "runs": len(runs),
        "turns": scored,
        "seconds": round(seconds, 2),
        "processor_seconds": round(processor, 2),
        "turns_a_second": round(scored / seconds, 1),
        "turns_a_processor_second": round(scored / processor, 1),
        **ceiling(tokens, scored, processor),
    }


def tokens_of(runs: list[Rollout]) -> int:
    """Tokens of the texts that are embedded, each text once, none cut off."""
    texts = {observation_text(seen) for run in runs for turn in run.turns for seen in turn.observations}
    texts |= {action_text(turn.action) for run in runs for turn in run.turns}
    texts |= {observation_text(seen) for run in runs for seen in run.last_observations}
    with as_file(files("likewise.models") / "encoder" / "tokenizer.json") as path:
        tokenizer = load_tokenizer(path)
    return sum(len(tokenizer.encode(text).ids) for text in texts)


def ceiling(tokens: int, turns: int, processor: float) -> dict[str, float]:
    """Operations that a turn needs, what was reached, and what a float32 product reaches on the same processor."""
    side, rng = 768, np.random.default_rng(0)
    a, b = (rng.random((side, side), dtype=np.float32) for _ in range(2))
    a @ b
    began = time.process_time()
    for _ in range(20):
        a @ b
    product = 20 * 2 * side**3 / (time.process_time() - began)
    a_turn = tokens / turns * OPERATIONS_A_TOKEN
    return {
        "tokens_a_turn": round(tokens / turns, 1),
        "billion_operations_a_turn": round(a_turn / 1e9, 2),
        "encoder_billion_operations_a_processor_second": round(tokens * OPERATIONS_A_TOKEN / processor / 1e9, 1),
        "float32_product_billion_operations_a_processor_second": round(product / 1e9, 1),
        "billion_operations_a_second_for_40_turns": round(40 * a_turn / 1e9, 1),
    }


def fitting(quick: bool, components: int) -> dict[str, float]:
    """Seconds of a training with the default options, after encoding."""
    from likewise.learned.options import FitOptions
    from likewise.learned.pairs import TaskRuns
    from likewise.learned.train import train

    rng = np.random.default_rng(0)
    k, turns, width = (4, 3, 1158) if quick else (30, 12, 1158)
    pairs = np.array([(i, j) for i in range(k) for j in range(i + 1, k)], dtype=np.int64)
    tasks = []
    for number in range(13):
        states = tuple(0.05 * rng.normal(size=(turns, width)).astype(np.float32) for _ in range(k))
        same = np.zeros((len(pairs), turns + 1), dtype=np.bool_)
        same[:, 0] = True
        distance = rng.choice([0.0, 0.5, 1.0], size=(len(pairs), turns))
        lengths, cut = np.full(k, turns), np.zeros(k, dtype=np.bool_)
        tasks.append(TaskRuns(str(number), states, pairs, distance, lengths, cut, same))
    options = FitOptions(steps=20 if quick else 6000, every=10 if quick else 250, components=components)
    wall, processor = time.perf_counter(), time.process_time()
    trained = train(tasks, options)
    return {
        "seconds": round(time.perf_counter() - wall, 1),
        "processor_seconds": round(time.process_time() - processor, 1),
        "steps": trained.looks[-1].step,
        "components": components,
        "stopped_early": trained.stopped_early,
    }


def main() -> None:
    """Each figure once; the training only where PyTorch is there and it is asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--components", type=int, default=0, help="of --fit; 0 lets the network see all of a state")
    parser.add_argument("--runs", type=int, default=None, help="score so many recorded runs only")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    model = untrained()
    rows: dict[str, object] = {
        "bar": {"ratio": 1.3, "turns_a_second": 40, "fitting_seconds": 120},
        "new_turn": new_turn(model, 3 if given.quick else 40),
        "end_to_end": end_to_end(model, 2 if given.quick else given.runs),
    }
    if given.fit:
        rows["fitting"] = fitting(given.quick, given.components)
    save("learned_speed" + ("_quick" if given.quick else ""), rows)


if __name__ == "__main__":
    main()
