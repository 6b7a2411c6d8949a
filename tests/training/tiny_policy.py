"""The smallest policy that TRL trains: a vocabulary of words, one layer, nothing downloaded."""

from __future__ import annotations

import warnings

WORDS = ("a", "b", "c", "d", "x", "user", "assistant", "And", "?", "Hello", "p", "q")
VOCABULARY = 3 + len(WORDS)
TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }} {{ m['content'] }} <end> {% endfor %}"
    "{% if add_generation_prompt %}assistant {% endif %}"
)


def tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    names = ["<pad>", "<end>", "<unk>", *WORDS]
    words = Tokenizer(models.WordLevel({name: i for i, name in enumerate(names)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made = PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="<end>", unk_token="<unk>", padding_side="left"
    )
    made.chat_template = TEMPLATE
    return made


def policy(vocabulary=VOCABULARY, longest=128, seed=0):
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(seed)
    size = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    ids = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": None}
    config = Qwen2Config(vocab_size=vocabulary, num_key_value_heads=2, max_position_embeddings=longest, **size, **ids)
    return Qwen2ForCausalLM(config)


def settings(folder, **changes):
    from trl import GRPOConfig

    given = {
        "output_dir": str(folder),
        "use_cpu": True,
        "bf16": False,
        "report_to": "none",
        "save_strategy": "no",
        "logging_steps": 1,
        "disable_tqdm": True,
        "per_device_train_batch_size": 8,
        "num_generations": 4,
        "max_completion_length": 4,
        "max_steps": 2,
        "learning_rate": 1e-2,
        "activation_checkpointing": False,
        "dataloader_pin_memory": False,
    }
    return GRPOConfig(**{**given, **changes})


def rows(n=8):
    """Two prompts in turn."""
    from datasets import Dataset

    return Dataset.from_list([{"prompt": [{"role": "user", "content": "pq"[i % 2]}], "nr": i} for i in range(n)])


def trainer(folder, rewards, *, rollout=None, model=None, options=None, **changes):
    from likewise.training.grpo import ConsistencyGRPOTrainer

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of TRL's own making: experimental features
        return ConsistencyGRPOTrainer(
            model=model or policy(),
            reward_funcs=rewards,
            processing_class=tokenizer(),
            train_dataset=rows(),
            args=settings(folder, **changes),
            rollout_func=rollout,
            **(options or {}),
        )


def two_turns(prompts, trainer):
    """Two actions of one or two words drawn from the policy, with the user's answer between; progress at random.

    The first word alone is heard, as one of four letters: siblings must often agree, or all rewards are one.
    """
    import torch

    words, model = trainer.processing_class, trainer.accelerator.unwrap_model(trainer.model)
    rng = torch.Generator().manual_seed(trainer.state.global_step)
    asked = [
        words.apply_chat_template(p, add_generation_prompt=True, tokenize=True, return_dict=False) for p in prompts
    ]
    answer = words.encode("user And ? <end> assistant", add_special_tokens=False)
    done = {name: [] for name in ("completion_ids", "env_mask", "transcript", "progress", "stop")}
    with torch.no_grad():
        for ids in asked:
            tail, mask, said = [], [], []
            for turn in range(2):
                own = []
                while len(own) < 2 and 1 not in own:
                    logits = model(torch.tensor([ids + tail + own])).logits[0, -1]
                    own.append(int(torch.multinomial(logits.softmax(-1), 1, generator=rng)))
                said.append({"role": "assistant", "content": "acdx"[own[0] % 4]})
                tail, mask = tail + own, mask + [1] * len(own)
                if turn == 0:
                    said.append({"role": "user", "content": "And ?"})
                    tail, mask = tail + answer, mask + [0] * len(answer)
            done["completion_ids"].append(tail)
            done["env_mask"].append(mask)
            done["transcript"].append(said)
            done["progress"].append([0.0, *torch.rand(2, generator=rng).tolist()])
            done["stop"].append("finished")
    return {"prompt_ids": asked, "logprobs": None, **done}


def chat_tokenizer():
    """Bytes, and the marks of Qwen's chat form; TRL knows how to read calls in it."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    from trl.chat_template_utils import add_response_schema, qwen2_5_chat_template

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    bytes_of = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(letters)}, merges=[]))
    bytes_of.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_of.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(
        tokenizer_object=bytes_of, eos_token="<|im_end|>", pad_token="<|endoftext|>", padding_side="left"
    )
    made.add_special_tokens({"additional_special_tokens": ["<|im_start|>"]})
    # Not special, as in Qwen: special ones are lost when text is decoded.
    made.add_tokens(["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"])
    made.chat_template = qwen2_5_chat_template
    return add_response_schema(made)
