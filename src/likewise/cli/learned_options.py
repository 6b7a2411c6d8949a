"""Options that the commands of the learned metric share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from likewise.cli.errors import say

if TYPE_CHECKING:
    from likewise.core.protocols import Encoder
    from likewise.learned.model import RSDModel

__all__ = ["EncoderName", "EncoderUrl", "ModelFolder", "encoder_from_options", "load_model", "one_line"]

ModelFolder: TypeAlias = Annotated[
    Path, typer.Option("--model", help="Folder that `likewise fit` wrote.", metavar="FOLDER", show_default=False)
]
EncoderName: TypeAlias = Annotated[
    str,
    typer.Option(
        "--encoder",
        help="embedded (offline), hf:FOLDER or hf:HUB-ID (sentence-transformers), openai:MODEL or cohere:MODEL (an "
        "embeddings endpoint; texts are sent to it). The one that the model was trained with.",
        metavar="NAME",
    ),
]
EncoderUrl: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--encoder-url",
        help="Base URL of the embeddings endpoint. The key is read from OPENAI_API_KEY or COHERE_API_KEY only.",
        metavar="URL",
    ),
]


def one_line(text: str | None) -> str | None:
    """Refuse, before anything is done, a label that no model may have.

    Raises:
        BadParameter: It is empty, too long, or has characters that cannot be printed.
    """
    if text is None:
        return None
    from likewise.learned.fields import FIELDS

    if not FIELDS["demo"].fits(text):
        raise typer.BadParameter(f"{FIELDS['demo'].expected.removesuffix(', or null')} is asked for")
    return text


def encoder_from_options(name: str, url: str | None, *, quiet: bool) -> Encoder:
    """The encoder that the options name; says where texts are sent, if anywhere.

    Raises:
        BadParameter: No encoder has such a name.
        BackendError: It cannot be loaded.
        MissingExtraError: A library that it needs is not installed.
    """
    from likewise.backends.encoders import encoder_from_name

    try:
        encoder = encoder_from_name(name, url)
    except ValueError as problem:
        raise typer.BadParameter(str(problem), param_hint="--encoder") from None
    endpoint = getattr(encoder, "endpoint", None)
    if endpoint and not quiet:
        say(f"texts of the runs are sent to {endpoint}")
    return encoder


def load_model(folder: Path, encoder: str, url: str | None, *, quiet: bool) -> RSDModel:
    """The model of a folder; says what a reader should know of it.

    Raises:
        CheckpointError: It is missing, broken, foreign or does not fit.
    """
    from likewise.learned.model import RSDModel

    model = RSDModel.load(folder, encoder_from_options(encoder, url, quiet=quiet))
    if model.facts["demo"] and not quiet:
        say(f"a demonstration model: {model.facts['demo']}")
    return model
