"""A tiny policy of the Qwen2 architecture with its own tokenizer: trained from nothing, on a laptop, in a minute.

A message is a role mark, its text, an end mark. A tool call is text too, `find_booking(guest=Ann)`; whatever does not
read as a call of that form is something said. The system's words are left out: the policy learns them from examples.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from likewise.core.errors import MissingExtraError
from likewise.core.rollout import Action, JsonValue, Observation, Rollout, ToolCall

__all__ = [
    "TinySize",
    "action_words",
    "load_tiny",
    "load_transformers",
    "messages_of",
    "read_action",
    "save_tiny",
    "tiny_model",
    "tiny_tokenizer",
    "tokens_of",
]

PAD, END, AGENT, USER, TOOL = "<|pad|>", "<|end|>", "<|agent|>", "<|user|>", "<|tool|>"
_CALL = re.compile(r"\s*([a-z_]{1,60})\(([^()]{0,400})\)\s*")
_ARGUMENT = re.compile(r"\s*([a-z_]{1,60})=([^,=]{1,200})")
TEMPLATE = (
    "{%- for message in messages %}"
    "{%- if message.role == 'assistant' %}{{ '<|agent|>' }}"
    "{% generation %}{{ message.content + '<|end|>' }}{% endgeneration %}"
    "{%- elif message.role != 'system' %}{{ '<|' + message.role + '|>' + message.content + '<|end|>' }}"
    "{%- endif %}{%- endfor %}{%- if add_generation_prompt %}{{ '<|agent|>' }}{%- endif %}"
)


@dataclass(frozen=True, slots=True)
class TinySize:
    """How large the policy is; `vocabulary` counts the pieces beside single characters."""

    hidden: int = 64
    layers: int = 2
    vocabulary: int = 260


def load_transformers() -> Any:  # noqa: ANN401 - a module
    """The library of models.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        import torch  # noqa: F401 - a model without it is an empty shell
        import transformers
    except ImportError as problem:
        raise MissingExtraError("training an agent", "train") from problem
    return transformers


def action_words(action: Action) -> str:
    """An action as the policy writes it: its one call, or its words."""
    if not action.tool_calls:
        return action.text
    call = action.tool_calls[0]
    given = call.arguments if isinstance(call.arguments, dict) else {}
    return f"{call.name}({', '.join(f'{name}={value}' for name, value in given.items())})"


def read_action(text: str) -> Action:
    """What the policy wrote, as an action; a call that is not well formed is something said."""
    found = _CALL.fullmatch(text)
    if found is None:
        return Action(text)
    parts = [part for part in found[2].split(",") if part.strip()]
    pairs = [_ARGUMENT.fullmatch(part) for part in parts]
    if any(pair is None for pair in pairs):
        return Action(text)
    arguments: dict[str, JsonValue] = {pair[1]: pair[2].strip() for pair in pairs if pair}
    return Action("", (ToolCall(found[1], arguments),)) if len(arguments) == len(parts) else Action(text)


def messages_of(rollout: Rollout) -> list[dict[str, str]]:
    """A rollout as chat messages with calls as text, ready for the template."""
    messages = []
    for turn in rollout.turns:
        messages += [{"role": each.source, "content": each.text} for each in turn.observations]
        messages.append({"role": "assistant", "content": action_words(turn.action)})
    return messages


def tiny_tokenizer(rollouts: Iterable[Rollout], size: TinySize | None = None) -> Any:  # noqa: ANN401 - a tokenizer
    """A BPE learned from rollouts; every text of ASCII characters has a spelling in it, others are dropped.

    Raises:
        MissingExtraError: The extra `train` is not installed.
    """
    transformers = load_transformers()
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    bpe = Tokenizer(models.BPE())
    words = pre_tokenizers.Split(Regex(r" ?\w+| ?[^\w\s]|\s"), "isolated")
    letters = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bpe.pre_tokenizer = pre_tokenizers.Sequence([words, letters])
    bpe.decoder = decoders.ByteLevel()
    marks = [PAD, END, AGENT, USER, TOOL]
    texts = (message["content"] for rollout in rollouts for message in messages_of(rollout))
    alphabet = [character for character in pre_tokenizers.ByteLevel.alphabet() if character.isascii()]
    alphabet += ["\u0120", "\u010a"]  # how a byte-level alphabet writes a space and a line's end
    vocabulary = (size or TinySize()).vocabulary + len(alphabet) + len(marks)
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=marks, show_progress=False, initial_alphabet=alphabet
    )
    bpe.train_from_iterator(texts, trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token=END, pad_token=PAD, padding_side="left", model_max_length=1024
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def tiny_model(tokenizer: Any, seed: int, size: TinySize | None = None) -> Any:  # noqa: ANN401 - a model
    """A Qwen2 with random weights, the same for the same seed.

    Raises:
        MissingExtraError: The extra `train` is not installed.
    """
    transformers = load_transformers()
    import torch

    size = size or TinySize()
    torch.manual_seed(seed)
    config = transformers.Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=size.hidden,
        intermediate_size=3 * size.hidden,
        num_hidden_layers=size.layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        dtype="float32",
    )
    return transformers.Qwen2ForCausalLM(config)


def tokens_of(observations: Sequence[Observation], tokenizer: Any) -> list[int]:  # noqa: ANN401 - a tokenizer
    """What was observed as tokens, with the mark that hands over to the agent."""
    text = "".join(f"<|{each.source}|>{each.text}{END}" for each in observations if each.source != "system")
    return list(tokenizer.encode(text + AGENT, add_special_tokens=False))


def save_tiny(model: Any, tokenizer: Any, folder: str | Path) -> None:  # noqa: ANN401 - a model and its tokenizer
    """Write a policy into a folder; the tokenizer last, so that its file says that all is there."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def load_tiny(folder: str | Path) -> tuple[Any, Any]:
    """The policy of a folder, and its tokenizer.

    Raises:
        MissingExtraError: The extra `train` is not installed.
    """
    transformers = load_transformers()
    # By its own class: the one that goes with the architecture would split texts in its own way.
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
    return transformers.Qwen2ForCausalLM.from_pretrained(folder), tokenizer
