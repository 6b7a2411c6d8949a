from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from likewise import RSDReward
from likewise.learned.network import load_torch
from likewise.training.entropy import SemanticEntropyReward, TokenEntropyReward
from likewise.training.mixing import HybridReward, ProgressFloor, ProgressReward, ShuffledReward
from likewise.training.turn_credit import turn_advantages
from training.batches import judge, model
from training.rank_rewards import rewards
from training.tiny_policy import chat_tokenizer, policy, rows, settings, trainer, two_turns

# What the libraries say of each other is theirs to mend.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
HERE = Path(__file__).parent
WITHOUT_TRL = """
import sys
sys.modules["trl"] = None
import likewise.training.grpo as grpo
try:
    grpo.ConsistencyGRPOTrainer
except ImportError as problem:
    print(problem)
"""


def test_without_trl_the_line_to_type_is_given():
    answer = subprocess.run([sys.executable, "-c", WITHOUT_TRL], capture_output=True, text=True, check=True, timeout=60)
    assert answer.stdout.strip() == "training with GRPO needs an extra: pip install 'likewise[train]'"


@pytest.mark.torch
@pytest.mark.model
def test_the_first_lines_of_the_guide_train_with_trls_own_trainer(tmp_path):
    page = (HERE.parents[1] / "docs" / "rewards.md").read_text(encoding="utf-8")
    lines = page.split("```python\n")[1].split("```")[0]
    words = chat_tokenizer()
    policy(len(words), longest=512).save_pretrained(tmp_path / "model")
    words.save_pretrained(tmp_path / "model")
    small = 'use_cpu=True, bf16=False, max_steps=1, disable_tqdm=True, save_strategy="no", logging_steps=1, '
    for own, ours in (
        ('"Qwen/Qwen2.5-0.5B-Instruct"', repr(str(tmp_path / "model"))),
        ('GRPOConfig(output_dir="out", ', f"GRPOConfig(output_dir={str(tmp_path / 'out')!r}, {small}"),
        ("max_completion_length=256", "max_completion_length=8"),
    ):
        assert lines.count(own) == 1
        lines = lines.replace(own, ours)
    names = {}
    exec(compile(lines, "docs/rewards.md", "exec"), names)
    assert names["trainer"].state.global_step == 1
    assert math.isfinite(logged(names["trainer"], "reward")[0])


def logged(made, name):
    return [entry[name] for entry in made.state.log_history if name in entry]


@pytest.mark.torch
def test_every_reward_trains_and_logs_what_it_is_made_of(tmp_path):
    in_group = RSDReward.in_group(judge())
    rewards = [
        RSDReward(model()),
        in_group,
        SemanticEntropyReward(judge()),
        TokenEntropyReward(),
        HybridReward(in_group, 0.5),
        ProgressFloor(in_group, 0.5),
        ProgressReward(),
        ShuffledReward(in_group),
    ]
    made = trainer(tmp_path, rewards, rollout=two_turns)
    made.train()
    assert made.state.global_step == 2
    for name in ("loss", "reward", "rsd", "semantic_entropy", "token_entropy", "progress", "below_floor"):
        values = logged(made, name)
        assert len(values) == 2, name
        assert all(math.isfinite(value) for value in values), name
    assert all(0 < value < math.log(15) for value in logged(made, "token_entropy"))


@pytest.mark.torch
def test_rewards_train_on_plain_completions_of_one_turn(tmp_path):
    made = trainer(tmp_path, [RSDReward.in_group(judge()), TokenEntropyReward()], max_steps=1)
    made.train()
    assert math.isfinite(logged(made, "reward")[0])


@pytest.mark.torch
def test_entropies_are_those_of_the_tokens_that_the_policy_wrote_and_come_by_turn(tmp_path):
    seen = []

    class Looking(TokenEntropyReward):
        def measure(self, completions, columns):
            seen.extend(columns["token_entropy"])
            return super().measure(completions, columns)

    made = trainer(tmp_path, [Looking()], rollout=two_turns, max_steps=1)
    made.train()
    _, _, written = made._written
    assert [len(turns) for turns in seen] == [2] * 8
    assert [sum(map(len, turns)) for turns in seen] == [sum(mask) for mask in written]


# Conventions of TRL


@pytest.mark.torch
def test_a_list_of_the_wrong_length_is_refused_by_trl_and_ours_never_is(tmp_path):
    class Short(ProgressReward):
        def __call__(self, *arguments, **columns):
            return super().__call__(*arguments, **columns)[1:]

    with pytest.raises(ValueError, match="'Short' returned 7 rewards, but 8 were expected"):
        trainer(tmp_path, [Short()], rollout=two_turns, max_steps=1).train()


def half_measured(prompts, trainer):
    done = two_turns(prompts, trainer)
    done["progress"] = [None if i % 2 else curve for i, curve in enumerate(done["progress"])]
    return done


@pytest.mark.torch
def test_completions_that_were_not_measured_have_no_advantage_and_spoil_nothing(tmp_path):
    made = trainer(tmp_path, [ProgressReward()], rollout=half_measured, max_steps=1)
    batch = made._generate_and_score_completions(inputs())
    advantages = batch["advantages"].tolist()
    assert advantages[1::2] == [0.0] * 4
    assert all(advantages[0::2])
    made.train()
    assert math.isfinite(logged(made, "loss")[0])


# Credit by turn


def inputs():
    """What TRL hands on: each prompt repeated for each of its completions."""
    return [dict(row) for row in rows(2) for _ in range(4)]


@pytest.mark.torch
def test_each_token_gets_the_advantage_of_its_own_action(tmp_path):
    made = trainer(tmp_path, [RSDReward.in_group(judge())], rollout=two_turns, options={"per_turn": True})
    given = inputs()
    batch = made._generate_and_score_completions(given)
    found, mask = batch["advantages"].numpy(), batch["tool_mask"].numpy() * batch["completion_mask"].numpy()
    assert found.shape == tuple(batch["completion_ids"].shape)
    assert (found[mask == 0] == 0).all()
    scores = RSDReward.in_group(judge()).turn_scores(
        [row["prompt"] for row in given], [row["transcript"] for row in given]
    )
    expected = turn_advantages(scores, 4)
    for row in range(8):
        by_token = [value for value, own in zip(found[row], mask[row], strict=True) if own]
        lengths = [len(run) for run in "".join(map(str, mask[row])).split("0") if run]
        by_hand = np.repeat(expected[row], lengths)
        assert by_token == pytest.approx(by_hand, abs=1e-5)
    assert made._metrics["train"]["turn_credit/whole"] == [0.0]


@pytest.mark.torch
def test_training_with_credit_by_turn_moves_the_policy_elsewhere_than_without(tmp_path):
    ends = []
    for per_turn in (False, True):
        made = trainer(tmp_path, [RSDReward.in_group(judge())], rollout=two_turns, options={"per_turn": per_turn})
        made.train()
        ends.append(made.model.lm_head.weight.detach().clone())
    assert not ends[0].equal(ends[1])


@pytest.mark.torch
def test_weights_of_rewards_count_in_credit_by_turn(tmp_path):
    options = {"per_turn": True}
    rewards = [ProgressReward(), RSDReward.in_group(judge())]
    made = trainer(tmp_path, rewards, rollout=two_turns, options=options, reward_weights=[1.0, 0.0])
    alone = trainer(tmp_path, rewards[:1], rollout=two_turns, options=options)
    pair = [each._generate_and_score_completions(inputs())["advantages"].numpy() for each in (made, alone)]
    assert np.allclose(*pair, atol=1e-6)


@pytest.mark.torch
def test_credit_by_turn_needs_rewards_that_score_turns(tmp_path):
    def length(completions, **columns):
        return [0.0] * len(completions)

    with pytest.raises(ValueError, match="credit by turn needs rewards that score turns; length does not"):
        trainer(tmp_path, [length], options={"per_turn": True})


# Tools that TRL calls


class Desk:
    """An environment as TRL has them: its public methods are tools."""

    def reset(self, **row):
        del row

    def find(self, name: str) -> str:
        """Find a booking.

        Args:
            name: Whose.
        """
        return f"booking of {name}"


@pytest.mark.torch
def test_calls_that_trl_carries_out_are_turns_and_so_are_those_that_it_cannot_read(tmp_path, monkeypatch):
    from likewise.training.grpo import trainer_class

    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    words = chat_tokenizer()
    good = '<tool_call>\n{"name": "find", "arguments": {"name": "Ann"}}\n</tool_call><|im_end|>'
    bad = '<tool_call>\n{"name": "find", "arguments": {"na<|im_end|>'
    waiting = [[good, bad, good, bad], ["done<|im_end|>", "gone<|im_end|>"]]

    class Scripted(trainer_class()):
        def _generate_single_turn(self, prompt_ids, *others, **options):
            said = waiting.pop(0)
            assert len(said) == len(prompt_ids)
            return [words.encode(text, add_special_tokens=False) for text in said], None

    rewards = [RSDReward.in_group(judge()), TokenEntropyReward()]
    made = Scripted(
        model=policy(len(words), longest=1024),
        reward_funcs=rewards,
        processing_class=words,
        train_dataset=rows(1),
        environment_factory=Desk,
        per_turn=True,
        args=settings(tmp_path, per_device_train_batch_size=4, max_completion_length=400, max_steps=1),
    )
    seen = {}
    inner = made._calculate_rewards

    def look(inputs, prompts, completions, ids):
        seen["rewards"] = inner(inputs, prompts, completions, ids).tolist()
        seen["entropies"], seen["completions"] = [row["token_entropy"] for row in inputs], completions
        return made.accelerator.gather(load_torch().tensor(seen["rewards"]))

    made._calculate_rewards = look
    batch = made._generate_and_score_completions([dict(row) for row in rows(1) for _ in range(4)])
    assert [[m["role"] for m in talk] for talk in seen["completions"]] == [
        ["assistant", "tool", "assistant"],
        ["assistant"],
    ] * 2
    assert seen["completions"][0][0]["tool_calls"][0]["function"]["name"] == "find"
    assert [len(turns) for turns in seen["entropies"]] == [2, 1, 2, 1]
    assert not np.isnan(seen["rewards"]).any()
    assert made._metrics["train"]["turn_credit/whole"] == [0.0]
    assert batch["advantages"].shape == batch["completion_ids"].shape


# LoRA


@pytest.mark.torch
def test_an_adapter_is_trained_against_the_policy_without_it(tmp_path):
    from peft import LoraConfig

    lora = LoraConfig(r=2, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    rewards = [RSDReward.in_group(judge()), TokenEntropyReward()]
    made = trainer(tmp_path, rewards, rollout=two_turns, options={"peft_config": lora}, beta=0.04)
    before = {name: value.detach().clone() for name, value in made.model.named_parameters()}
    made.train()
    moved = {name for name, value in made.model.named_parameters() if not value.equal(before[name])}
    assert moved
    assert all("lora_" in name for name in moved)
    assert len(logged(made, "kl")) == 2


# Processes


def script(file, folder, *arguments, ranks=1):
    """Run a script in processes of its own."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(ranks)] if ranks > 1 else []
    paths = os.pathsep.join([str(HERE.parent), str(HERE.parents[1] / "src")])
    return subprocess.run(
        [sys.executable, *launcher, str(file), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.mark.torch
@pytest.mark.timeout(900)  # processes of their own, which load PyTorch anew
def test_two_processes_give_the_rewards_of_one_though_a_group_is_spread_over_both(tmp_path):
    answer = script(HERE / "rank_rewards.py", tmp_path, tmp_path / "two", 4, ranks=2)
    assert answer.returncode == 0, answer.stderr[-3000:]
    processes, two, seen, apart = json.loads(answer.stdout.strip().splitlines()[-1])
    assert (seen, apart) == (["0-0", "1-0", "1-1"], [0])  # unequal numbers, in order of rank
    alone, _, one = rewards(tmp_path / "one", 8)
    assert (alone, processes) == (1, 2)
    assert np.allclose(one, two, atol=1e-6)
    assert np.ptp(np.array(one), axis=0).min() > 0


DYING = """
import os, signal, sys
from transformers import TrainerCallback
from likewise import RSDReward
from likewise.learned.network import load_torch
from training.batches import judge
from training.tiny_policy import trainer, two_turns

class Killed(TrainerCallback):
    def on_save(self, args, state, control, **others):
        if state.global_step == 2:
            os.kill(os.getpid(), signal.SIGKILL)

trainer(sys.argv[1], [RSDReward.in_group(judge())], rollout=two_turns, options={"callbacks": [Killed()]},
        max_steps=4, save_strategy="steps", save_steps=1).train()
"""


@pytest.mark.torch
@pytest.mark.timeout(900)  # processes of their own, which load PyTorch anew
def test_a_training_that_was_killed_goes_on_from_its_checkpoint_as_if_it_had_not_been(tmp_path):
    (tmp_path / "dying.py").write_text(DYING, encoding="utf-8")
    answer = script(tmp_path / "dying.py", tmp_path, tmp_path / "out")
    assert answer.returncode == -signal.SIGKILL, answer.stderr[-3000:]
    rewards, times = [RSDReward.in_group(judge())], {"max_steps": 4, "save_strategy": "steps", "save_steps": 1}
    resumed = trainer(tmp_path / "out", rewards, rollout=two_turns, **times)
    resumed.train(resume_from_checkpoint=str(tmp_path / "out" / "checkpoint-2"))
    whole = trainer(tmp_path / "whole", rewards, rollout=two_turns, **times)
    whole.train()
    assert resumed.state.global_step == 4
    assert logged(resumed, "reward") == pytest.approx(logged(whole, "reward"), abs=1e-6)
    assert resumed.model.lm_head.weight.allclose(whole.model.lm_head.weight, atol=1e-6)
