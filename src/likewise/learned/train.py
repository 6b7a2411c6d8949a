"""Training of the learned metric: a task, two of its rollouts, a turn; the rest of the future from a slow copy.

Seeded and repeatable on one machine: the same tasks, options and seed give the same weights to the bit, also when the
training was stopped and taken up again.

Source: arXiv:2610.33012, Algorithm 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float64

from likewise.core.protocols import Progress, no_progress
from likewise.learned.forward import forward, pair_distance
from likewise.learned.network import as_arrays, as_tensors, load_torch, miss, phi, start_weights
from likewise.learned.network import pair_distance as torch_distance
from likewise.learned.options import FitOptions
from likewise.learned.pairs import Batch, PairTable, TaskRuns, pair_table
from likewise.learned.scaling import Scaling, scaling_of

__all__ = ["Look", "Snapshot", "Trained", "train"]

LOOKED_AT = 4096
"""Held-out entries compared at each look, spread evenly over them."""


@dataclass(frozen=True, slots=True)
class Look:
    """The held-out tasks after so many steps: the mean squared miss of whole measured futures."""

    step: int
    loss: float
    held_out: float | None


@dataclass(slots=True)
class Snapshot:
    """Everything that training needs to go on: arrays by name, and the rest as plain values."""

    arrays: dict[str, np.ndarray]
    step: int
    best_step: int
    best: float | None
    generator: dict[str, Any]
    looks: list[Look] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Trained:
    """What training gives.

    Attributes:
        weights: Arrays for `forward`, of the best look.
        looks: All looks.
        best_step: Step of the best one.
        held_out: Tasks that were held out, by number.
        stopped_early: Whether the held-out tasks ended it.
    """

    weights: dict[str, np.ndarray]
    looks: tuple[Look, ...]
    best_step: int
    held_out: tuple[int, ...]
    stopped_early: bool


def hold_out(tasks: int, options: FitOptions) -> tuple[list[int], list[int]]:
    """Numbers of the tasks to learn from, and of those held out; at least one each where there are three or more."""
    rng = np.random.default_rng((options.seed, 1))
    order = rng.permutation(tasks).tolist()
    kept = round(tasks * options.hold_out)
    if options.hold_out and tasks >= 3:
        kept = min(max(kept, 1), tasks - 2)
    elif tasks < 3:
        kept = 0
    return sorted(order[kept:]), sorted(order[:kept])


def train(
    tasks: Sequence[TaskRuns],
    options: FitOptions | None = None,
    *,
    resume: Snapshot | None = None,
    save: Callable[[Snapshot], None] | None = None,
    progress: Progress = no_progress,
) -> Trained:
    """Learn a metric from the rollouts of some tasks.

    Args:
        tasks: Tasks with states and distances; whole tasks are held out.
        options: How.
        resume: Where an earlier training of the same tasks and options was stopped.
        save: Takes what is needed to go on, at each look.
        progress: Display.

    Raises:
        MissingExtraError: PyTorch is not installed.
        ValueError: There is nothing to learn from.
    """
    options = options or FitOptions()
    load_torch()
    learn, held = hold_out(len(tasks), options)
    table = pair_table([tasks[i] for i in learn], n=options.n, gamma=options.gamma, policy=options.length_policy)
    judged = _held_out_table([tasks[i] for i in held], options)
    scaling = scaling_of(table.states, standardise=options.standardise, components=options.components)
    trainer = _Trainer(table, judged, scaling, options, resume)
    with progress("learning", total=options.steps) as bar:
        bar.advance(trainer.now.step)
        with _one_thread():
            stopped = trainer.run(save, bar.advance)
    best = {name.removeprefix("best/"): a for name, a in trainer.now.arrays.items() if name.startswith("best/")}
    return Trained(scaling.folded(best), tuple(trainer.now.looks), trainer.now.best_step, tuple(held), stopped)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Matrices of a batch are too small to share, and sums in one order repeat to the bit."""
    torch = load_torch()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _held_out_table(tasks: Sequence[TaskRuns], options: FitOptions) -> PairTable | None:
    """Whole measured futures of held-out tasks; None where there are none."""
    try:
        return pair_table(tasks, n=None, gamma=options.gamma, policy=options.length_policy) if tasks else None
    except ValueError:
        return None


class _Trainer:
    def __init__(
        self,
        table: PairTable,
        held: PairTable | None,
        scaling: Scaling,
        options: FitOptions,
        resume: Snapshot | None,
    ) -> None:
        torch = load_torch()
        self.table, self.held, self.options = table, held, options
        seen = scaling.applied(table.states)
        self.states = torch.from_numpy(seen)
        self.held_states = None if held is None else scaling.applied(held.states)
        self.rng = np.random.default_rng((options.seed, 2))
        # Each head sees some tasks twice and some never, as in a bootstrap over tasks; one head sees all.
        counts = np.random.default_rng((options.seed, 3)).poisson(1.0, size=(options.heads, len(table.task_start)))
        self.head_weight = (
            np.ones_like(counts) if options.heads == 1 else np.where(counts.sum(1, keepdims=True), counts, 1)
        )
        if resume is None:
            start = start_weights(seen.shape[1], options.heads, options.seed)
            arrays = {f"{part}/{name}": a for part in ("online", "target", "best") for name, a in start.items()}
            resume = Snapshot(arrays, 0, 0, None, dict(self.rng.bit_generator.state))
        self.now = resume
        self.rng.bit_generator.state = resume.generator
        self.online = as_tensors(self._part("online"), trained=True)
        self.target = as_tensors(self._part("target"))
        self.optimizer = torch.optim.AdamW(
            self.online.values(), lr=options.rate, weight_decay=options.decay, fused=True
        )
        if resume.step:
            self._restore_optimizer()

    def _part(self, part: str) -> dict[str, np.ndarray]:
        return {n.removeprefix(f"{part}/"): a for n, a in self.now.arrays.items() if n.startswith(f"{part}/")}

    def run(self, save: Callable[[Snapshot], None] | None, advance: Callable[[int], None]) -> bool:
        """Train until the held-out tasks, or the steps, end it; tell whether it was the former."""
        options = self.options
        total, counted = 0.0, 0
        while self.now.step < options.steps:
            if self._waited_enough():
                return True
            total += self._step()
            counted += 1
            self.now.step += 1
            if self.now.step % options.every == 0 or self.now.step == options.steps:
                self._look(total / counted)
                if save is not None:
                    save(self._snapshot())
                advance(counted)
                total, counted = 0.0, 0
        return self._waited_enough()

    def _waited_enough(self) -> bool:
        later = sum(look.step > self.now.best_step for look in self.now.looks)
        return self.now.best is not None and later >= self.options.patience

    def _step(self) -> float:
        torch, options, table = load_torch(), self.options, self.table
        batch = table.draw(options.batch, self.rng, options.siblings, options.own)
        aim = self._targets(batch)
        rows = torch.from_numpy(np.concatenate([table.first[batch.entry], table.second[batch.entry]]))
        first, second = phi(self.online, self.states[rows]).chunk(2, dim=1)
        same = torch.from_numpy(table.same[batch.entry])
        guess = torch_distance(first, second, options.alpha, options.angle_weight, same)
        weight = torch.from_numpy(self.head_weight[:, table.task[batch.entry]].astype(np.float32))
        loss = (weight * miss(options.loss, guess, aim)).mean()
        for group in self.optimizer.param_groups:
            group["lr"] = options.rate_at(self.now.step)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.online.values(), options.clip)
        self.optimizer.step()
        with torch.no_grad():
            for name, tensor in self.target.items():
                tensor.lerp_(self.online[name].detach(), options.mix)
        return float(loss.detach())

    def _targets(self, batch: Batch) -> Any:  # noqa: ANN401 - a tensor
        """Targets of a batch by each head: (heads, batch)."""
        torch, options, table = load_torch(), self.options, self.table
        entry = batch.targets.reshape(-1)
        with torch.no_grad():
            rows = torch.from_numpy(np.concatenate([table.next_first[entry], table.next_second[entry]]))
            first, second = phi(self.target, self.states[rows]).chunk(2, dim=1)
            same = torch.from_numpy(table.next_same[entry])
            rest = torch_distance(first, second, options.alpha, options.angle_weight, same)
            aim = torch.from_numpy(table.known[entry]) + torch.from_numpy(table.discount[entry]) * rest
            aim = aim.reshape(options.heads, *batch.targets.shape).mean(-1)
            return aim.clamp(0.0, options.largest) if options.clamp else aim

    def _look(self, loss: float) -> None:
        """Compare with the held-out tasks, and keep the weights if they are the best so far."""
        now, weights = self.now, as_arrays(self.online)
        held_out = None if self.held is None else self._held_out_miss(weights)
        now.looks.append(Look(now.step, loss, held_out))
        if held_out is None or now.best is None or held_out < now.best:
            now.best, now.best_step = held_out, now.step
            now.arrays.update({f"best/{name}": a for name, a in weights.items()})

    def _held_out_miss(self, weights: dict[str, np.ndarray]) -> float:
        held, states, options = self.held, self.held_states, self.options
        if held is None or states is None:
            return math.nan
        entry = np.unique(np.linspace(0, len(held) - 1, min(LOOKED_AT, len(held))).astype(np.int64))
        latent = forward(weights, states)

        def distance(first: np.ndarray, second: np.ndarray, same: np.ndarray) -> Float64[np.ndarray, " entries"]:
            a, b = latent[:, first], latent[:, second]
            turned = pair_distance(a, b, options.alpha, options.angle_weight)
            bare = pair_distance(a, b, options.alpha, 0.0)
            return np.asarray(np.where(same, bare, turned).mean(axis=0), dtype=np.float64)

        guess = distance(held.first[entry], held.second[entry], held.same[entry])
        rest = distance(held.next_first[entry], held.next_second[entry], held.next_same[entry])
        aim = np.clip(held.known[entry] + held.discount[entry] * rest, 0.0, options.largest)
        return float(((guess - aim) ** 2).mean())

    def _snapshot(self) -> Snapshot:
        now = self.now
        for part, tensors in (("online", self.online), ("target", self.target)):
            now.arrays.update({f"{part}/{name}": a for name, a in as_arrays(tensors).items()})
        for number, name in enumerate(self.online):
            state = self.optimizer.state_dict()["state"][number]
            now.arrays[f"mean/{name}"] = state["exp_avg"].numpy().copy()
            now.arrays[f"square/{name}"] = state["exp_avg_sq"].numpy().copy()
        now.generator = dict(self.rng.bit_generator.state)
        return now

    def _restore_optimizer(self) -> None:
        torch = load_torch()
        whole = self.optimizer.state_dict()
        whole["state"] = {
            number: {
                "step": torch.tensor(float(self.now.step)),
                "exp_avg": torch.tensor(self.now.arrays[f"mean/{name}"]),
                "exp_avg_sq": torch.tensor(self.now.arrays[f"square/{name}"]),
            }
            for number, name in enumerate(self.online)
        }
        self.optimizer.load_state_dict(whole)
