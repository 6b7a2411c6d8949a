from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from judges import LetterEncoder
from learned.samples import checkpoint, facts
from likewise.learned.checkpoint import Checkpoint
from likewise.learned.model import RSDModel
from likewise.learned.network import start_weights
from likewise.learned.state_encoding import state_width
from likewise.training.decision_states import DecisionRSDReward
from likewise.training.environments.bookings import Bookings
from likewise.training.pipeline import TinyPipeline, _parts
from likewise.training.rewards import RSDReward
from likewise.training.tiny_settings import TinySettings
from training.batches import model, prompt, said, user

SMALL = TinySettings(hidden=16, demonstrations=2, warm_steps=2, warm_batch=4, runs=2, fit_steps=1, expert=1,
                     expert_steps=1, steps=2, rounds=2, group=2, prompts=2, trials=2, blocks=1)  # fmt: skip


def fit(rollouts, judge, settings, seed):
    """A metric that was never trained, of the embedded encoder's kind."""
    from likewise.backends.onnx_encoder import embedded_encoder

    assert {each.task_id for each in rollouts} == set(Bookings.tasks)
    assert judge.judge_id == "bookings-1"
    encoder, width = embedded_encoder(), state_width(384)
    stated = facts(encoder=encoder.encoder_id, dimensions=384, width=width)
    known = np.zeros((1, width), dtype=np.float32)
    return RSDModel(Checkpoint(stated, start_weights(width, 1, seed), known), encoder)


def test_a_folder_is_of_one_seed_and_one_way(tmp_path):
    TinyPipeline(tmp_path, 0, SMALL, fit)
    TinyPipeline(tmp_path, 0, SMALL, fit)
    with pytest.raises(ValueError, match="another seed or other settings"):
        TinyPipeline(tmp_path, 1, SMALL, fit)


def test_an_arm_that_there_is_not_is_refused(tmp_path):
    pipeline = TinyPipeline(tmp_path, 0, SMALL, fit)
    with pytest.raises(ValueError, match="no arm 'best'; there are base, sft"):
        pipeline.arm("best")
    with pytest.raises(ValueError, match="arm 'base' has no reward"):
        pipeline.reward("base")
    with pytest.raises(ValueError, match="'rsd' is one of the pipeline's own arms; take another name"):
        pipeline.rewarded("rsd", RSDReward(model()))


@pytest.mark.parametrize(
    ("states", "kind"), [("decisions", DecisionRSDReward), ("score", RSDReward), ("end", RSDReward)]
)
def test_the_learned_reward_scores_the_states_that_the_settings_name(tmp_path, states, kind):
    pipeline = TinyPipeline(tmp_path, 0, replace(SMALL, states=states), fit)
    made = pipeline._learned(model())
    assert type(made) is kind
    ended = [[said("a"), user("Goodbye.")]]
    (value,) = made([prompt()], ended, [[1]])
    if states == "end":
        assert value == 0.0
    else:
        assert value < 0.0


@pytest.mark.parametrize(("steps", "rounds", "parts"), [(20, 4, [5] * 4), (5, 2, [3, 2]), (2, 4, [1, 1])])
def test_rounds_share_the_steps(steps, rounds, parts):
    assert _parts(steps, rounds) == parts


@pytest.mark.torch
@pytest.mark.model
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_every_arm_is_trained_evaluated_and_not_done_again(tmp_path):
    said = []
    pipeline = TinyPipeline(tmp_path, 0, SMALL, fit, say=said.append)
    arms = ("base", "sft", "token-entropy", "hybrid-0.5", "rsd-refreshed")
    found = {name: pipeline.arm(name) for name in arms}
    for runs in found.values():
        assert {temperature: len(rollouts) for temperature, rollouts in runs.items()} == {1.0: 16, 0.0: 16}
        by_task = {task: [r for r in runs[0.0] if r.task_id == task] for task in Bookings.tasks}
        assert all(first.actions == second.actions for first, second in by_task.values())
    log = json.loads((tmp_path / "arms" / "rsd-refreshed" / "training.json").read_text())
    assert [name for entry in log for name in ("reward", "miss") if name in entry] == ["reward", "miss", "reward"]
    mine = pipeline.rewarded("mine", pipeline.reward("hybrid-0.5"))  # any other reward is trained as the arms are
    assert [run.actions for run in mine[1.0]] == [run.actions for run in found["hybrid-0.5"][1.0]]
    before, told = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}, len(said)
    again = TinyPipeline(tmp_path, 0, SMALL, fit, say=said.append)
    assert again.arm("sft")[1.0] == found["sft"][1.0]
    assert len(said) == told
    assert {path: path.stat().st_mtime_ns for path in before if path.name != "settings.json"} == {
        path: at for path, at in before.items() if path.name != "settings.json"
    }


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_the_same_seed_gives_the_same_policy(tmp_path):
    runs = []
    for name in ("one", "two"):
        pipeline = TinyPipeline(tmp_path / name, 3, SMALL, fit)
        runs.append([r.actions for r in pipeline.collected()])
    assert runs[0] == runs[1]
    assert len(runs[0]) == 2 * len(Bookings.tasks)
    assert np.isfinite([r.reward for r in pipeline.collected()]).all()


def test_the_letters_of_the_tests_are_not_the_metrics_encoder(tmp_path):
    """A metric of another encoder would be refused when it is read back."""
    with pytest.raises(ValueError, match="encoder"):
        RSDModel(checkpoint(seed=0, encoder="elsewhere"), LetterEncoder())
