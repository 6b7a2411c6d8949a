from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from likewise import RSDReward
from likewise.training.guards import RewardWatch
from training.batches import judge

WITHOUT = """
import sys
sys.modules["transformers"] = None
import likewise.training.watch as watch
try:
    watch.WatchCallback
except ImportError as problem:
    print(problem)
"""


def test_without_transformers_the_line_to_type_is_given():
    answer = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True, timeout=60)
    assert answer.stdout.strip() == "watching a training needs an extra: pip install 'likewise[train]'"


def feed(callback, looks):
    """Logs of a training, step by step; whether it was told to stop."""
    control = SimpleNamespace(should_training_stop=False)
    for step, logs in enumerate(looks):
        callback.on_log(None, SimpleNamespace(global_step=step), control, logs=logs)
    return control.should_training_stop


FALL = [{"reward": 0, "rsd": r, "progress": p} for r, p in [(1.0, 0.8), (1.0, 0.8), (0.2, 0.1), (0.2, 0.1)]]


@pytest.mark.torch
@pytest.mark.parametrize("stop", [True, False])
def test_a_collapse_is_a_warning_and_ends_the_training_where_that_is_wished(stop):
    from likewise.training.watch import TrainingWarning, WatchCallback

    callback = WatchCallback(RewardWatch(window=2), stop=stop)
    with pytest.warns(TrainingWarning, match="step 3: RSD fell"):
        assert feed(callback, FALL) is stop
    assert len(callback.told) == 1


@pytest.mark.torch
def test_logs_of_anything_else_and_gaps_in_them_are_passed_over():
    from likewise.training.watch import WatchCallback

    callback = WatchCallback(RewardWatch(window=1))
    gaps = [{"reward": 0, "rsd": None, "progress": float("nan")}, {"reward": 0}, {"reward": 0, "rsd": "x"}]
    assert not feed(callback, [None, {"train_runtime": 3.0}, {"eval_reward": 1.0}, *gaps])
    assert callback.told == []


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_a_policy_that_always_does_the_same_useless_thing_is_caught_while_trl_trains_it(tmp_path):
    from likewise.training.watch import TrainingWarning, WatchCallback
    from training.tiny_policy import trainer

    def collapsing(prompts, made):
        """Good and unlike at first; from the third step on always the same, and of no use."""
        useless = made.state.global_step >= 2
        texts = ["x"] * 8 if useless else list("acbdacbd")
        return {
            "prompt_ids": [[3, 4]] * 8,
            "completion_ids": [[5, 1]] * 8,
            "logprobs": None,
            "transcript": [[{"role": "assistant", "content": text}] for text in texts],
            "progress": [[0.0, 0.0 if useless else 0.75]] * 8,
        }

    callback = WatchCallback(RewardWatch(window=2, floor=0.5))
    made = trainer(
        tmp_path,
        [RSDReward.in_group(judge())],
        rollout=collapsing,
        options={"callbacks": [callback]},
        max_steps=5,
    )
    with pytest.warns(TrainingWarning):  # several kinds
        made.train()
    told = "\n".join(callback.told)
    assert "RSD fell" in told
    assert "consistent is not useful" in told
    assert "they taught nothing" in told
    assert [entry["rsd"] for entry in made.state.log_history if "rsd" in entry][-1] == 0.0


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_trained_on_consistency_alone_a_policy_comes_to_do_one_useless_thing_and_the_guard_says_so(tmp_path):
    from likewise.training.watch import TrainingWarning, WatchCallback
    from training.tiny_policy import trainer, two_turns

    def useless(prompts, made):
        done = two_turns(prompts, made)
        return {**done, "progress": [[0.0, 0.0, 0.0] for _ in prompts]}

    callback = WatchCallback(RewardWatch(window=3, floor=0.5, settled=0.5))
    options = {"callbacks": [callback]}
    pace = {"max_steps": 36, "learning_rate": 6e-2, "lr_scheduler_type": "constant"}
    made = trainer(tmp_path, [RSDReward.in_group(judge())], rollout=useless, options=options, **pace)
    with pytest.warns(TrainingWarning):
        made.train()
    rewards = [entry["reward"] for entry in made.state.log_history if "reward" in entry]
    assert max(rewards[:5]) < -0.5
    assert max(rewards[-5:]) > -0.1  # 0 is the best there is
    assert "consistent is not useful" in "\n".join(callback.told)
