"""Small models, tasks and runs for the tests of the learned metric; nothing here needs PyTorch."""

from __future__ import annotations

import numpy as np

from judges import LetterEncoder
from likewise.core.rollout import Action, Observation, Rollout, StopReason, Turn
from likewise.learned.checkpoint import Checkpoint
from likewise.learned.network import start_weights
from likewise.learned.pairs import TaskRuns
from likewise.learned.state_encoding import STATE_ENCODING_VERSION, state_width

WIDTH = state_width(26)


def run_of(*turns, task="t", run="0", stop=StopReason.FINISHED, last=()):
    """A run from pairs (what was said, what was done)."""
    made = tuple(Turn((Observation("user", said),), Action(done)) for said, done in turns)
    return Rollout(task, run, made, stop=stop, last_observations=tuple(Observation("user", each) for each in last))


def facts(**changes):
    """The facts of a model over the letter encoder."""
    whole = {
        "likewise": "0",
        "demo": None,
        "encoder": LetterEncoder.encoder_id,
        "dimensions": 26,
        "width": WIDTH,
        "heads": 1,
        "state_encoding": STATE_ENCODING_VERSION,
        "state_text": 1,
        "judge": "table",
        "rules": "rules",
        "distance": "hard",
        "gamma": 0.8,
        "n": 3,
        "alpha": 0.5,
        "beta": 5.0,
        "angle": True,
        "loss": "squared",
        "length_policy": "absorb",
        "same_state": "start",
        "options": {},
        "data": "d",
        "tasks": 3,
        "rollouts": 6,
        "seen_tasks": ["0123456789abcdef"],
        "training": {"best_step": 1, "looks": [[1, 0.5, 0.5]], "held_out_tasks": []},
        "familiar": 0.5,
        "calibration": None,
    }
    return whole | changes


def checkpoint(seed=0, heads=1, references=None, **changes):
    """A model with weights as training starts with."""
    known = np.zeros((1, WIDTH), dtype=np.float32) if references is None else references
    return Checkpoint(facts(heads=heads, **changes), start_weights(WIDTH, heads, seed), known)


def random_task(rng, name="t", rollouts=4, longest=6, width=8, cuts=True, turns=None):
    """A task of random lengths, cuts and distances; ends filled in as `turn_distances` does."""
    from likewise.metrics.divergence import turn_distances

    lengths = rng.integers(1, longest + 1, size=rollouts) if turns is None else np.full(rollouts, turns)
    cut = rng.random(rollouts) < (0.4 if cuts else 0.0)
    pairs = np.array([(i, j) for i in range(rollouts) for j in range(i + 1, rollouts)], dtype=np.int64)
    distance = np.full((len(pairs), int(lengths.max())), np.nan)
    for p, (i, j) in enumerate(pairs):
        both = min(lengths[i], lengths[j])
        distance[p, :both] = rng.choice([0.0, 0.5, 1.0], size=both)
    filled = turn_distances(distance, pairs, lengths, cut, policy_of(cuts))
    states = tuple(
        rng.normal(size=(n + extra, width)).astype(np.float32) for n, extra in zip(lengths, cut, strict=True)
    )
    same = np.zeros((len(pairs), distance.shape[1] + 1), dtype=np.bool_)
    same[:, 0] = True
    return TaskRuns(name, states, pairs, filled, lengths.astype(np.int64), cut, same)


def policy_of(_):
    from likewise.core.group import LengthPolicy

    return LengthPolicy.ABSORB
