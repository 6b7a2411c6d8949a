"""What a reward costs beside the generation that it scores: 64 completions of 6 turns, 8 prompts of 8 siblings.

python benchmarks/reward_time.py [--quick]

Needs PyTorch and transformers (`make .venv-torch/.ready`). Weights are random: they cost what trained ones cost. Wall
time and processor time stand side by side, since the second does not depend on what else runs on the machine.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from common import save
from learned_speed import text, untrained

from likewise import RSDReward
from likewise.backends.onnx_encoder import embedded_encoder

PROMPTS, SIBLINGS, TURNS = 8, 8, 6
TOKENS = 24
"""Tokens generated a turn, about the words of an action here."""
POLICIES = {
    "tiny": {"hidden_size": 64, "intermediate_size": 256, "num_hidden_layers": 2, "vocab_size": 512},
    "small": {"hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 6, "vocab_size": 4096},
}


def batch(rng: np.random.Generator, shared: float) -> tuple[list[Any], list[list[dict[str, str]]]]:
    """Prompts and completions; a share of the texts is the same among siblings, as those of one policy are."""
    prompts, completions = [], []
    for _ in range(PROMPTS):
        opening = [{"role": "user", "content": text(rng, 30)}]
        common = [(text(rng, 18), text(rng, 25)) for _ in range(TURNS)]
        for _ in range(SIBLINGS):
            talk: list[dict[str, str]] = []
            for turn in range(TURNS):
                own = common[turn] if rng.random() < shared else (text(rng, 18), text(rng, 25))
                talk += [{"role": "assistant", "content": own[0]}, {"role": "user", "content": own[1]}]
            prompts.append(opening)
            completions.append(talk)
    return prompts, completions


def seconds(work: Callable[[], object]) -> dict[str, float]:
    """Wall and processor seconds of one call, over all threads."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return {
        "seconds": round(time.perf_counter() - wall, 3),
        "processor_seconds": round(time.process_time() - processor, 3),
    }


def rewarding(rng: np.random.Generator) -> dict[str, object]:
    """The learned reward on texts that are new, on a half that siblings share, and once more on the same."""
    model = untrained()
    reward = RSDReward(model)
    reward([[{"role": "user", "content": "warm"}]], ["up"])  # the session loads with the first text
    new, shared = batch(rng, 0.0), batch(rng, 0.5)
    return {
        "all_texts_new": seconds(lambda: reward(*new)),
        "half_the_turns_shared_by_siblings": seconds(lambda: reward(*shared)),
        "all_texts_seen_before": seconds(lambda: reward(*new)),
        "whole_history_encoded_anew_at_each_turn": seconds(lambda: whole_histories(*batch(rng, 0.0))),
    }


def whole_histories(prompts: list[Any], completions: list[list[dict[str, str]]]) -> None:
    """What it would cost without increments: the history behind each action as one text, to its end."""
    encoder = embedded_encoder()
    for opening, talk in zip(prompts, completions, strict=True):
        said = [message["content"] for message in (*opening, *talk)]
        encoder.encode(["\n".join(said[: 1 + 2 * turn]) for turn in range(1, TURNS + 1)])


def in_group(rng: np.random.Generator) -> dict[str, object]:
    """The reward without a learned metric, on calls that rules settle, and on messages that the judge must read."""
    prompts, completions = batch(rng, 0.5)
    calls = [
        [
            {
                "role": "assistant",
                "tool_calls": [{"function": {"name": "find", "arguments": {"id": message["content"]}}}],
            }
            if message["role"] == "assistant"
            else {"role": "tool", "content": message["content"]}
            for message in talk
        ]
        for talk in completions
    ]
    settled = RSDReward.in_group()
    return {"calls": seconds(lambda: settled(prompts, calls))}


def generating(size: dict[str, int], turns: int) -> dict[str, float]:
    """64 completions generated turn by turn with a cache of keys and values, an answer of 32 tokens after each."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    warnings.simplefilter("ignore", FutureWarning)  # the cache is about to be called something else
    torch.manual_seed(0)
    torch.set_num_threads(1)  # more would wait for each other on a busy machine, and waiting counts as work
    config = Qwen2Config(num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=True, **size)
    policy = Qwen2ForCausalLM(config).eval()
    rows = PROMPTS * SIBLINGS

    def run() -> None:
        cache, feed = None, torch.randint(0, size["vocab_size"], (rows, 60))
        with torch.no_grad():
            for _ in range(turns):
                for _ in range(TOKENS):
                    found = policy(input_ids=feed, past_key_values=cache, use_cache=True)
                    cache = found.past_key_values
                    feed = torch.multinomial(found.logits[:, -1].softmax(-1), 1)
                feed = torch.cat([feed, torch.randint(0, size["vocab_size"], (rows, 32))], 1)

    return {"parameters": sum(weights.numel() for weights in policy.parameters()), **seconds(run)}


def main() -> None:
    """Each figure once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    rng = np.random.default_rng(0)
    rows: dict[str, object] = {
        "batch": {"completions": PROMPTS * SIBLINGS, "turns": TURNS, "tokens_a_turn": TOKENS},
        "rsd_reward": rewarding(rng),
        "in_group_reward": in_group(rng),
        "generation": {name: generating(size, 1 if quick else TURNS) for name, size in POLICIES.items()},
    }
    save("reward_time" + ("_quick" if quick else ""), rows)


if __name__ == "__main__":
    main()
