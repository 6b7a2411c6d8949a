"""From recorded rollouts to a learned metric: measure, encode, train, and say all about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from likewise.backends.label_store import LabelStore
from likewise.backends.onnx_encoder import embedded_encoder
from likewise.backends.tool_rules import ToolRules
from likewise.core.errors import GroupError
from likewise.core.protocols import Encoder, Judge, Progress, no_progress
from likewise.core.rollout import Rollout
from likewise.core.state_text import STATE_TEXT_VERSION
from likewise.core.version import VERSION
from likewise.evaluation.measured_tasks import MeasuredTasks, measure_tasks, task_digest
from likewise.learned.checkpoint import Checkpoint
from likewise.learned.familiar import familiar_up_to, reference_states
from likewise.learned.model import RSDModel
from likewise.learned.options import FitOptions
from likewise.learned.pairs import TaskRuns, task_runs
from likewise.learned.state_encoding import STATE_ENCODING_VERSION, StateEncoder
from likewise.learned.train import Snapshot, Trained, train
from likewise.scoring.score import ScoringOptions

__all__ = ["encode_tasks", "fit_measured", "fit_rsd"]


def fit_rsd(
    rollouts: Iterable[Rollout],
    *,
    options: FitOptions | None = None,
    soft: bool = False,
    judge: Judge | None = None,
    encoder: Encoder | None = None,
    rules: ToolRules | None = None,
    store: LabelStore | None = None,
    progress: Progress = no_progress,
    pool: bool = False,
    demo: str | None = None,
) -> RSDModel:
    """Train a learned metric on recorded rollouts.

    Args:
        rollouts: Recorded runs, several a task.
        options: How it is trained.
        soft: Distances from probabilities instead of labels.
        judge: Gives the relation of two texts; the embedded one where None.
        encoder: Gives vectors of texts; the embedded one where None.
        rules: How tool calls are compared.
        store: Remembers judgements between calls.
        progress: Display.
        pool: Treat runs of different models, agents or prompts as repeats.
        demo: Marks a model that is one to look at, and says why.

    Returns:
        The model; `save` writes it.

    Raises:
        GroupError: There is nothing to compare.
        MissingExtraError: PyTorch is not installed.
    """
    options, encoder = options or FitOptions(), encoder or embedded_encoder()
    measured = measure_tasks(
        rollouts,
        judge=judge,
        rules=rules,
        store=store,
        options=ScoringOptions(gamma=options.gamma, length_policy=options.length_policy, soft=soft),
        progress=progress,
        pool=pool,
    )
    return fit_measured(measured, encoder, options, soft=soft, progress=progress, demo=demo)


def encode_tasks(
    measured: MeasuredTasks, encoder: Encoder, options: FitOptions, progress: Progress = no_progress
) -> list[TaskRuns]:
    """The states of all rollouts of measured tasks."""
    states, runs = StateEncoder(encoder), []
    with progress("encoding tasks", total=len(measured.tasks)) as bar:
        for task in measured.tasks:
            states.prepare(task.group.valid)
            runs.append(task_runs(task.group, task.distance, states, options.same_state))
            bar.advance()
    return runs


def fit_measured(
    measured: MeasuredTasks,
    encoder: Encoder,
    options: FitOptions,
    *,
    soft: bool = False,
    progress: Progress = no_progress,
    demo: str | None = None,
    resume: Snapshot | None = None,
    save: Callable[[Snapshot], None] | None = None,
    runs: Sequence[TaskRuns] | None = None,
) -> RSDModel:
    """Train on tasks that were measured; see `fit_rsd`.

    Args:
        measured: Tasks and distances.
        encoder: Gives vectors of texts.
        options: How it is trained.
        soft: Whether the distances are made of probabilities.
        progress: Display.
        demo: Marks a model that is one to look at.
        resume: Where an earlier training of the same was stopped.
        save: Takes what is needed to go on.
        runs: What `encode_tasks` gave, to spare doing it again.

    Raises:
        GroupError: No pair of runs was compared at any turn.
        MissingExtraError: PyTorch is not installed.
    """
    runs = encode_tasks(measured, encoder, options, progress) if runs is None else runs
    try:
        trained = train(runs, options, resume=resume, save=save, progress=progress)
    except ValueError as problem:
        raise GroupError(str(problem)) from None
    states = [np.concatenate(each.states) for each in runs]
    facts = {
        "likewise": VERSION,
        "demo": demo,
        "encoder": encoder.encoder_id,
        "dimensions": len(encoder.encode(["width"])[0]),
        "width": int(states[0].shape[1]),
        "heads": options.heads,
        "state_encoding": STATE_ENCODING_VERSION,
        "state_text": STATE_TEXT_VERSION,
        "judge": measured.judge_id,
        "rules": measured.rules_id,
        "distance": "soft" if soft else "hard",
        "gamma": options.gamma,
        "n": options.n,
        "alpha": options.alpha,
        "beta": options.angle_weight,
        "angle": options.angle,
        "loss": str(options.loss),
        "length_policy": str(options.length_policy),
        "same_state": str(options.same_state),
        "options": options.as_json(),
        "data": measured.fingerprint,
        "tasks": len(runs),
        "rollouts": measured.rollouts,
        "seen_tasks": sorted(task_digest(each.task_id) for each in runs),
        "training": _training(trained, runs),
        "familiar": familiar_up_to(states, options.seed),
        "calibration": None,
    }
    return RSDModel(Checkpoint(facts, trained.weights, reference_states(states, options.seed)), encoder)


def _training(trained: Trained, runs: Sequence[TaskRuns]) -> dict[str, object]:
    return {
        "best_step": trained.best_step,
        "stopped_early": trained.stopped_early,
        "held_out_tasks": sorted(task_digest(runs[number].task_id) for number in trained.held_out),
        "looks": [[look.step, look.loss, look.held_out] for look in trained.looks],
    }
