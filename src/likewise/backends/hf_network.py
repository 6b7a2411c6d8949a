"""The network of a Hugging Face NLI cross-encoder, on ONNX Runtime or PyTorch: token rows in, class scores out."""

from __future__ import annotations

import inspect
import mmap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float32, Int64

from likewise.backends.onnx_session import load_session
from likewise.core.errors import BackendError, MissingExtraError

__all__ = ["Network", "Row", "load_network", "weight_files"]

Row: TypeAlias = tuple[Sequence[int], Sequence[int]]
"""Token ids and segment ids of one pair of texts, special tokens included."""

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


@dataclass(frozen=True, slots=True)
class Network:
    """What gives class scores, and how it wants to be asked.

    Attributes:
        score: Scores (logits) of a batch of rows, in the model's own order of classes.
        side_by_side: Whether batches may run at once, each on one core; else it uses all cores by itself.
        alone: Whether rows must run one by one. Dynamic quantisation takes its scale from the whole batch: a row's
            answer would depend on its neighbours.
    """

    score: Callable[[Sequence[Row]], Float32[np.ndarray, "rows 3"]]
    side_by_side: bool
    alone: bool


def _graph(folder: Path) -> Path | None:
    """The ONNX graph of a folder; None where it has none.

    Raises:
        BackendError: There are several, and none has the name that says which is meant.
    """
    for named in ("model.onnx", "onnx/model.onnx"):
        if (folder / named).is_file():
            return folder / named
    found = sorted((*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx")))
    if len(found) > 1:
        names = ", ".join(path.relative_to(folder).as_posix() for path in found)
        raise BackendError(f"{folder}: several ONNX graphs ({names}); name the one to use model.onnx")
    return found[0] if found else None


def weight_files(folder: Path) -> list[Path]:
    """The files that hold the weights, in a fixed order.

    Raises:
        BackendError: There are none that can be read without running code.
    """
    graph = _graph(folder)
    found = sorted(graph.parent.glob(f"{graph.name}*")) if graph else sorted(folder.glob("*.safetensors"))
    if not found:
        pickled = "; pytorch_model.bin is a pickle, which can run code: convert it to safetensors"
        raise BackendError(
            f"{folder}: no model.onnx and no model.safetensors"
            + (pickled if (folder / "pytorch_model.bin").exists() else "")
        )
    return found


def load_network(folder: Path, config: Mapping[str, Any]) -> Network:
    """The network of a folder: ONNX Runtime where it has a graph, else PyTorch.

    Args:
        folder: Weights and config, as `save_pretrained` or an ONNX export writes them.
        config: The content of config.json.

    Raises:
        BackendError: The weights are missing, broken, or not those of a 3-class classifier of text pairs.
        MissingExtraError: PyTorch is needed and not installed.
    """
    pad = int(config.get("pad_token_id") or 0)
    graph = _graph(folder)
    return _onnx(graph, pad) if graph else _torch(folder, pad)


def _padded(rows: Sequence[Row], pad: int) -> dict[str, Int64[np.ndarray, "rows tokens"]]:
    width = max(len(ids) for ids, _ in rows)
    arrays = {name: np.zeros((len(rows), width), dtype=np.int64) for name in _INPUTS}
    arrays["input_ids"] += pad
    for i, (ids, segments) in enumerate(rows):
        arrays["input_ids"][i, : len(ids)] = ids
        arrays["attention_mask"][i, : len(ids)] = 1
        arrays["token_type_ids"][i, : len(ids)] = segments
    return arrays


def _checked(scores: object, rows: int, where: Path) -> Float32[np.ndarray, "rows 3"]:
    array = np.asarray(scores, dtype=np.float32)
    if array.shape != (rows, 3):
        raise BackendError(f"{where}: {rows} pairs gave an output of shape {array.shape}, expected ({rows}, 3)")
    return array


def _onnx(graph: Path, pad: int) -> Network:
    session = load_session(graph)
    wanted = [entry.name for entry in session.get_inputs()]
    if unknown := sorted(set(wanted) - set(_INPUTS)):
        raise BackendError(f"{graph}: unknown inputs {', '.join(unknown)} (expected {', '.join(_INPUTS)})")

    def run(rows: Sequence[Row]) -> Float32[np.ndarray, "rows 3"]:
        arrays = _padded(rows, pad)
        try:
            outputs = session.run(None, {name: arrays[name] for name in wanted})
        except Exception as problem:  # ONNX Runtime raises its own classes, one per fault
            raise BackendError(f"{graph}: the graph does not run ({problem})") from problem
        return _checked(outputs[0], len(rows), graph)

    return Network(run, side_by_side=True, alone=_quantises_on_the_fly(graph))


def _quantises_on_the_fly(graph: Path) -> bool:
    with graph.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(b"DynamicQuantizeLinear") >= 0


def _torch(folder: Path, pad: int) -> Network:
    try:
        import torch
        from transformers import AutoModelForSequenceClassification
        from transformers.utils import logging as hf_logging
    except ImportError as problem:
        raise MissingExtraError(f"{folder} without an ONNX graph", "hf") from problem
    bars = hf_logging.is_progress_bar_enabled()
    hf_logging.disable_progress_bar()  # a second of loading needs none among our lines
    try:
        model, info = AutoModelForSequenceClassification.from_pretrained(
            folder,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            output_loading_info=True,
        )
    except Exception as problem:  # whatever a config or a weights file can set off
        raise BackendError(f"{folder}: cannot be loaded as a classifier ({_first_line(problem)})") from problem
    finally:
        if bars:
            hf_logging.enable_progress_bar()
    if missing := sorted(info["missing_keys"]):
        raise BackendError(f"{folder}: the weights lack {', '.join(missing[:3])}: no trained classifier is in it")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = model.float().to(device).eval()
    wanted = [name for name in _INPUTS if name in inspect.signature(model.forward).parameters]
    if getattr(model.config, "type_vocab_size", 2) < 2 and "token_type_ids" in wanted:
        wanted.remove("token_type_ids")  # one segment is all it knows

    def run(rows: Sequence[Row]) -> Float32[np.ndarray, "rows 3"]:
        arrays = _padded(rows, pad)
        with torch.inference_mode():
            output = model(**{name: torch.from_numpy(arrays[name]).to(device) for name in wanted})
        return _checked(output.logits.cpu().numpy(), len(rows), folder)

    return Network(run, side_by_side=False, alone=False)


def _first_line(problem: Exception) -> str:
    lines = str(problem).strip().splitlines()
    return f"{type(problem).__name__}: {lines[0] if lines else ''}"
