"""Supervised fine-tuning on recorded runs: the agent's own messages are learned, all others are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from likewise.core.errors import MissingExtraError
from likewise.training.conversations import as_dataset
from likewise.training.recipe_checks import made

__all__ = ["fine_tune", "load_trl"]


def load_trl() -> Any:  # noqa: ANN401 - a module
    """The library of trainers.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        import trl
    except ImportError as problem:
        raise MissingExtraError("training an agent", "train") from problem
    return trl


def fine_tune(
    model: Any,  # noqa: ANN401 - a model or its folder
    tokenizer: Any,  # noqa: ANN401 - a tokenizer
    rows: Sequence[Mapping[str, Any]],
    folder: str | Path,
    *,
    settings: Mapping[str, Any],
    peft_config: Any = None,  # noqa: ANN401 - peft's
    resume: bool = False,
) -> list[float]:
    """Train on conversations, by TRL's SFTTrainer.

    Args:
        model: The policy, changed in place; or the folder or name to load it from.
        tokenizer: Its tokenizer, with a chat template that marks what the agent says.
        rows: Conversations, each `{"messages": [...]}`, and `tools` where the template shows tools.
        folder: Where the trainer keeps checkpoints.
        settings: Fields of trl.SFTConfig.
        peft_config: Trains an adapter instead of the model.
        resume: Whether to go on from the last checkpoint in `folder`.

    Returns:
        The loss at each time of logging.

    Raises:
        ConfigError: A field that there is not, or a value that is refused.
        MissingExtraError: The extra `train` is not installed.
    """
    trl = load_trl()
    from transformers import PrinterCallback

    args = made(trl.SFTConfig, {"assistant_only_loss": True, **settings}, "sft", output_dir=str(folder))
    trainer = trl.SFTTrainer(
        model=model,
        processing_class=tokenizer,
        train_dataset=as_dataset([dict(row) for row in rows]),
        args=args,
        peft_config=peft_config,
    )
    trainer.remove_callback(PrinterCallback)  # standard output is the caller's
    trainer.train(resume_from_checkpoint=resume)
    if args.save_strategy != "no" or peft_config is not None:
        trainer.save_model(str(folder))
    return [float(entry["loss"]) for entry in trainer.state.log_history if "loss" in entry]
