"""What training draws from: pairs of states of one task at one turn, with the measured part of their targets.

Only rollouts of one task are paired, at equal turns; entries of different pairs never touch. Everything is worked out
once, as arrays; a batch is a few look-ups. `metrics.td_targets` says the same one pair at a time, and a test compares.

Source: arXiv:2610.33012, Algorithm 1 (sample a task, two rollouts of it, a turn).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32, Float64, Int64

from likewise.core.group import LengthPolicy, RolloutGroup
from likewise.core.rollout import Rollout
from likewise.core.state_text import action_key, observation_text
from likewise.core.union_find import UnionFind
from likewise.learned.options import SameState
from likewise.learned.state_encoding import StateEncoder

__all__ = ["Batch", "PairTable", "TaskRuns", "measured_parts", "pair_table", "task_runs"]

TO_THE_END = 10**6
"""Steps of a target that is measured as far as there is anything to measure."""


@dataclass(frozen=True, slots=True)
class TaskRuns:
    """The states of the rollouts of one task, and how their actions differ.

    Attributes:
        task_id: The task.
        states: States of each rollout; see `StateEncoder.states`.
        pairs: The two rollouts of each pair.
        distance: Distance of each pair at each turn, as `divergence.turn_distances` gives them.
        lengths: Actions of each rollout.
        cut: Whether each was cut from outside.
        same: Whether the two states of a pair count as one, at each turn and after the last.
    """

    task_id: str
    states: tuple[Float32[np.ndarray, "states width"], ...]
    pairs: Int64[np.ndarray, "pairs 2"]
    distance: Float64[np.ndarray, "pairs turns"]
    lengths: Int64[np.ndarray, " rollouts"]
    cut: Bool[np.ndarray, " rollouts"]
    same: Bool[np.ndarray, "pairs states"]


@dataclass(frozen=True, slots=True)
class PairTable:
    """Entries (pair, turn) of many tasks; state numbers point into `states`.

    Attributes:
        states: All states.
        first: State of the one rollout of each entry.
        second: State of the other.
        known: Measured part of each target.
        discount: gamma^steps; 0 where nothing is guessed.
        next_first: State guessed from; 0 where nothing is guessed.
        next_second: The other.
        same: Whether the two states count as one.
        next_same: Whether those guessed from do.
        task: Number of the task of each entry.
        turn: Turn of each entry.
        pair_start: First entry of each pair; a pair's entries follow each other.
        pair_count: Its entries.
        task_start: First pair of each task.
        task_count: Its pairs.
        bucket: Entries of one pair of states, one after the other.
        bucket_start: Where the bucket of each entry starts.
        bucket_count: How many it holds.
        own: Entries whose two states count as one, task by task.
        own_start: Where those of each task that has any start.
        own_count: How many there are.
    """

    states: Float32[np.ndarray, "all width"]
    first: Int64[np.ndarray, " entries"]
    second: Int64[np.ndarray, " entries"]
    known: Float32[np.ndarray, " entries"]
    discount: Float32[np.ndarray, " entries"]
    next_first: Int64[np.ndarray, " entries"]
    next_second: Int64[np.ndarray, " entries"]
    same: Bool[np.ndarray, " entries"]
    next_same: Bool[np.ndarray, " entries"]
    task: Int64[np.ndarray, " entries"]
    turn: Int64[np.ndarray, " entries"]
    pair_start: Int64[np.ndarray, " pairs"]
    pair_count: Int64[np.ndarray, " pairs"]
    task_start: Int64[np.ndarray, " tasks"]
    task_count: Int64[np.ndarray, " tasks"]
    bucket: Int64[np.ndarray, " entries"]
    bucket_start: Int64[np.ndarray, " entries"]
    bucket_count: Int64[np.ndarray, " entries"]
    own: Int64[np.ndarray, " alike"]
    own_start: Int64[np.ndarray, " some"]
    own_count: Int64[np.ndarray, " some"]

    def __len__(self) -> int:
        """How many entries there are."""
        return len(self.first)

    def draw(self, size: int, rng: np.random.Generator, siblings: int = 1, own: float = 0.0) -> Batch:
        """Draw a task, a pair of its rollouts, a turn of them, each evenly; `size` times over.

        A share `own` of them comes from the entries of one state instead: a task, then one of its entries.
        """
        task = rng.integers(len(self.task_start), size=size)
        pair = self.task_start[task] + rng.integers(self.task_count[task])
        entry = self.pair_start[pair] + rng.integers(self.pair_count[pair])
        alike = round(size * own) if len(self.own) else 0
        if alike:
            some = rng.integers(len(self.own_start), size=alike)
            entry[:alike] = self.own[self.own_start[some] + rng.integers(self.own_count[some])]
        if siblings == 1:
            return Batch(entry, entry[:, None])
        place = rng.integers(self.bucket_count[entry][:, None], size=(size, siblings))
        return Batch(entry, self.bucket[self.bucket_start[entry][:, None] + place])


@dataclass(frozen=True, slots=True)
class Batch:
    """Entries to predict, and the entries whose targets are averaged for each."""

    entry: Int64[np.ndarray, " batch"]
    targets: Int64[np.ndarray, "batch siblings"]


def task_runs(
    group: RolloutGroup,
    distance: Float[np.ndarray, "pairs turns"],
    encoder: StateEncoder,
    same_state: SameState = SameState.START,
) -> TaskRuns:
    """Encode the valid rollouts of a task.

    Args:
        group: Rollouts of one task, at least two valid ones.
        distance: Distances of `group.pairs`, as `divergence.turn_distances` gives them.
        encoder: Gives the states.
        same_state: Which histories count as one state.

    Raises:
        ValueError: Fewer than two valid rollouts, or a rollout without turns.
    """
    if len(group.valid) < 2:
        raise ValueError(f"task {group.task_id!r} has {len(group.valid)} valid run(s); a pair needs two")
    states = tuple(encoder.states(rollout) for rollout in group.valid)
    pairs = np.array(group.pairs, dtype=np.int64)
    marks = [_history_marks(rollout) for rollout in group.valid]
    width = max(len(each) for each in marks)
    same = np.zeros((len(pairs), width), dtype=np.bool_)
    for p, (i, j) in enumerate(group.pairs):
        shared = min(len(marks[i]), len(marks[j]))
        same[p, :shared] = [a == b for a, b in zip(marks[i], marks[j], strict=False)]
    if same_state is not SameState.TEXT:
        same[:, 0] = True
    if same_state is SameState.SEEN:
        same |= _seen_alike(group, width)
    if same_state is SameState.TURN:
        same[:] = True
    if same_state is SameState.EQUIVALENT:
        alike = np.cumprod(distance == 0, axis=1).astype(np.bool_)
        same[:, 1 : distance.shape[1] + 1] |= alike[:, : width - 1]
    return TaskRuns(
        group.task_id,
        states,
        pairs,
        np.asarray(distance, dtype=np.float64),
        np.array(group.lengths, dtype=np.int64),
        np.array(group.cut, dtype=np.bool_),
        same,
    )


def _seen_alike(group: RolloutGroup, width: int) -> Bool[np.ndarray, "pairs states"]:
    """Whether the two rollouts of each pair were told the same last, at each turn and after the last."""
    told = []
    for rollout in group.valid:
        said = [turn.observations for turn in rollout.turns] + [rollout.last_observations]
        told.append([tuple((each.source, observation_text(each)) for each in one) for one in said])
    alike = np.zeros((len(group.pairs), width), dtype=np.bool_)
    for p, (i, j) in enumerate(group.pairs):
        shared = min(len(told[i]), len(told[j]))
        alike[p, :shared] = [bool(a) and a == b for a, b in zip(told[i], told[j], strict=False)]
    return alike


def _history_marks(rollout: Rollout) -> list[int]:
    """Equal for equal histories: one mark for the state before each action, and one after the last."""
    marks, running = [], hash(())
    for turn in rollout.turns:
        running = hash((running, *((each.source, observation_text(each)) for each in turn.observations)))
        marks.append(running)
        running = hash((running, action_key(turn.action)))
    marks.append(hash((running, *(observation_text(each) for each in rollout.last_observations))))
    return marks


def measured_parts(
    runs: TaskRuns, n: int, gamma: float, policy: LengthPolicy
) -> tuple[Float64[np.ndarray, "pairs turns"], Int64[np.ndarray, "pairs turns"], Int64[np.ndarray, "pairs turns"]]:
    """Of every target the measured part (NaN: no target), its steps (0: nothing is guessed), and the turns to a guess.

    The same as `metrics.td_targets.td_target` for each pair and turn.
    """
    d, turns, lengths = runs.distance, np.arange(runs.distance.shape[1]), runs.lengths[runs.pairs]
    both = lengths.min(axis=1)[:, None]
    furthest = both - 1 - turns
    whole, open_ended = _tails(runs, gamma, policy)
    reach = np.zeros(d.shape, dtype=np.int64)  # distances measured in a row from each turn on
    run = np.zeros(len(d), dtype=np.int64)
    for t in reversed(range(d.shape[1])):
        run = np.where(np.isnan(d[:, t]), 0, run + 1)
        reach[:, t] = run
    ends = (n > furthest) & ~open_ended
    steps = np.where(ends, 0, np.minimum(np.minimum(n, furthest), reach))
    # Both go on past the last turn that both acted at, unseen: from there the divergence goes on as it stands.
    goes_on = ((lengths > both) | runs.cut[runs.pairs]).all(axis=1)[:, None]
    stands = goes_on & (furthest == 0) & (reach > 0)
    ahead = np.where(stands, 0, steps)
    steps = np.where(stands, 1, steps)
    window = np.zeros(d.shape)
    filled = np.nan_to_num(d)
    for k in range(int(steps.max(initial=0))):
        later = np.zeros(d.shape)
        later[:, : d.shape[1] - k] = filled[:, k:]
        window += np.where(k < steps, gamma**k * later, 0.0)
    known = np.where(ends, whole, window)
    known[(turns >= both) | (~ends & (steps < 1))] = np.nan
    none = np.isnan(known)
    return known, np.where(none, 0, steps).astype(np.int64), np.where(none, 0, ahead).astype(np.int64)


def _tails(
    runs: TaskRuns, gamma: float, policy: LengthPolicy
) -> tuple[Float64[np.ndarray, "pairs turns"], Bool[np.ndarray, "pairs turns"]]:
    """The discounted sum from each turn to the last END, and whether something of it was not measured."""
    d, (first, second) = runs.distance, runs.pairs.T
    lengths, cut = runs.lengths, runs.cut
    any_cut = cut[first] | cut[second]
    if policy is LengthPolicy.ABSORB:
        over, open_end = np.maximum(lengths[first], lengths[second]), any_cut
    else:
        over = np.minimum(lengths[first], lengths[second])
        ended = (~cut[first] & (lengths[first] == over)) | (~cut[second] & (lengths[second] == over))
        open_end = any_cut & ~ended
    tail, unknown = np.zeros(len(d)), open_end.copy()
    whole, missing = np.zeros(d.shape), np.zeros(d.shape, dtype=np.bool_)
    for t in reversed(range(d.shape[1])):
        counts = t < over
        tail = np.where(counts, np.nan_to_num(d[:, t]) + gamma * tail, 0.0)
        unknown = unknown | (counts & np.isnan(d[:, t]))
        whole[:, t], missing[:, t] = tail, unknown
    return whole, missing


def pair_table(
    tasks: Sequence[TaskRuns],
    *,
    n: int | None = 3,
    gamma: float = 0.8,
    policy: LengthPolicy = LengthPolicy.ABSORB,
) -> PairTable:
    """All entries of some tasks.

    Args:
        tasks: Tasks, states of one width.
        n: Measured distances before guessing; as far as there are any where None.
        gamma: Discount in [0, 1).
        policy: What the turns after a rollout's own end count as.

    Raises:
        ValueError: No task has a pair of states with a target.
    """
    base, tasks_kept = 0, 0
    columns: list[dict[str, np.ndarray]] = []
    for runs in tasks:
        offsets = base + np.cumsum([0, *(len(each) for each in runs.states)])
        base = int(offsets[-1])
        known, steps, turns_on = measured_parts(runs, n or TO_THE_END, gamma, policy)
        pair, turn = np.nonzero(~np.isnan(known))
        if not len(pair):
            continue
        i, j = runs.pairs[pair].T
        step = steps[pair, turn]
        guessed = step > 0
        ahead = turn + turns_on[pair, turn]
        columns.append(
            {
                "first": offsets[i] + turn,
                "second": offsets[j] + turn,
                "known": known[pair, turn],
                "discount": np.where(guessed, gamma**step, 0.0),
                "next_first": np.where(guessed, offsets[i] + ahead, 0),
                "next_second": np.where(guessed, offsets[j] + ahead, 0),
                "same": runs.same[pair, turn],
                "next_same": guessed & runs.same[pair, np.where(guessed, ahead, 0)],
                "task": np.full(len(pair), tasks_kept),
                "turn": turn,
                "pair": pair,
                "bucket": _buckets(runs, pair, turn),
            }
        )
        tasks_kept += 1
    if not columns:
        raise ValueError("no task has two runs that were compared at any turn; there is nothing to learn from")
    joined = {name: np.concatenate([each[name] for each in columns]) for name in columns[0]}
    return PairTable(states=np.concatenate([s for runs in tasks for s in runs.states]), **_indexed(joined))


def _indexed(joined: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The columns of a table with where each pair, task and bucket starts; entries come by task, pair and turn."""
    task, pair, bucket = joined["task"], joined.pop("pair"), joined.pop("bucket")
    begins = np.flatnonzero(np.diff(task, prepend=-1) | np.diff(pair, prepend=-1))
    pair_task = task[begins]
    task_start = np.flatnonzero(np.diff(pair_task, prepend=-1))
    _, bucket_of = np.unique(np.stack([task, bucket], axis=1), axis=0, return_inverse=True)
    order = np.argsort(bucket_of.reshape(-1), kind="stable")
    counts = np.bincount(bucket_of.reshape(-1))
    starts = np.cumsum(counts) - counts
    own = np.flatnonzero(joined["same"])
    own_start = np.flatnonzero(np.diff(task[own], prepend=-1))
    whole = {
        **joined,
        "pair_start": begins,
        "pair_count": np.diff(begins, append=len(task)),
        "task_start": task_start,
        "task_count": np.diff(task_start, append=len(begins)),
        "bucket": order,
        "bucket_start": starts[bucket_of.reshape(-1)],
        "bucket_count": counts[bucket_of.reshape(-1)],
        "own": own,
        "own_start": own_start,
        "own_count": np.diff(own_start, append=len(own)),
    }
    kinds = {"known": np.float32, "discount": np.float32, "same": np.bool_, "next_same": np.bool_}
    return {name: np.asarray(column, dtype=kinds.get(name, np.int64)) for name, column in whole.items()}


def _buckets(
    runs: TaskRuns, pair: Int64[np.ndarray, " entries"], turn: Int64[np.ndarray, " entries"]
) -> Int64[np.ndarray, " entries"]:
    """One number for each two states: entries of states that count as the same share it."""
    k = len(runs.states)
    group = np.stack([list(_classes(runs, t)) for t in range(runs.distance.shape[1])])
    i, j = runs.pairs[pair].T
    a, b = group[turn, i], group[turn, j]
    low, high = np.minimum(a, b), np.maximum(a, b)
    return np.asarray((turn * k + low) * k + high, dtype=np.int64)


def _classes(runs: TaskRuns, turn: int) -> Iterator[int]:
    sets: UnionFind[int] = UnionFind()
    for p in np.flatnonzero(runs.same[:, turn]):
        sets.union(int(runs.pairs[p, 0]), int(runs.pairs[p, 1]))
    return (sets.find(k) for k in range(len(runs.states)))
