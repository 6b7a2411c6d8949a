"""Rewards of fixed completions, of one process or of one of several: `torchrun ... rank_rewards.py FOLDER BATCH`."""

from __future__ import annotations

import json
import sys

SAID = [["a", "c"], ["b", "c"], ["c"], ["d", "d"], ["x"], ["a", "a"], ["a"], ["b", "x"]]
"""Eight completions of one prompt."""


def fixed(prompts, made):
    """What each process's share of the completions is; the policy has no say."""
    first = made.accelerator.process_index * len(prompts)
    runs = SAID[first : first + len(prompts)]
    talks = []
    for run in runs:
        talk = [[{"role": "assistant", "content": text}, {"role": "user", "content": "?"}] for text in run]
        talks.append([message for turn in talk for message in turn])
    return {
        "prompt_ids": [[3, 4]] * len(runs),
        "completion_ids": [[5, 6, 1]] * len(runs),
        "logprobs": None,
        "transcript": talks,
        "progress": [[0.0] * len(run) + [1.0] for run in runs],
    }


def rewards(folder, batch):
    """Processes there are, and the rewards of all completions by all rewards."""
    from likewise import RSDReward
    from likewise.training.entropy import SemanticEntropyReward
    from likewise.training.mixing import ProgressReward, ShuffledReward
    from training.batches import judge, model
    from training.tiny_policy import trainer

    group = RSDReward.in_group(judge())
    given = [RSDReward(model()), group, SemanticEntropyReward(judge()), ProgressReward(), ShuffledReward(group)]
    size = {"per_device_train_batch_size": batch, "num_generations": 8, "max_steps": 1}
    made = trainer(folder, given, rollout=fixed, options={"per_turn": True}, **size)
    kept = []
    inner = made._calculate_rewards

    def keep(*arguments):
        kept.append(inner(*arguments))
        return kept[-1]

    made._calculate_rewards = keep
    made.train()
    processes, first = made.accelerator.num_processes, made.accelerator.is_main_process
    return processes, first, kept[0].tolist()


if __name__ == "__main__":
    n, is_first, values = rewards(sys.argv[1], int(sys.argv[2]))
    import torch

    from likewise.training.siblings import apart, everywhere

    rank = torch.distributed.get_rank()
    seen, own = everywhere([f"{rank}-{i}" for i in range(rank + 1)])
    with apart():
        alone, _ = everywhere([rank])
    if is_first:
        sys.stdout.write(json.dumps([n, values, seen, alone]) + "\n")
    torch.distributed.destroy_process_group()
