"""ONNX Runtime sessions that give one answer for one input, whatever else is asked.

Dynamic int8 quantisation takes its scale from the whole input tensor, so in a batch the answer for a row would
depend on its neighbours. Rows therefore run one at a time, without padding, and cores are used by running rows
side by side: on a CPU this costs nothing (benchmarks/label_throughput.py) and results repeat bit for bit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from likewise.core.errors import BackendError

if TYPE_CHECKING:
    import onnxruntime
    from tokenizers import Tokenizer

__all__ = ["file_digest", "load_session", "load_tokenizer", "side_by_side", "usable_cores"]

Row = TypeVar("Row")
Result = TypeVar("Result")


def usable_cores() -> int:
    """Cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def load_session(path: Path) -> onnxruntime.InferenceSession:
    """One single-threaded session.

    Raises:
        BackendError: The file is missing or is no ONNX graph.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as problem:  # ONNX Runtime raises its own classes, one per fault
        raise BackendError(f"{path}: cannot be loaded as an ONNX model ({problem})") from problem


def load_tokenizer(path: Path) -> Tokenizer:
    """A tokenizer with padding and truncation off.

    Raises:
        BackendError: The file is missing or is no tokenizer.
    """
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as problem:  # tokenizers raises bare Exception
        raise BackendError(f"{path}: cannot be loaded as a tokenizer ({problem})") from problem
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def file_digest(*paths: Path) -> str:
    """Eight hex digits that name the content of files; they enter judge and encoder ids."""
    digest = blake2b(digest_size=4)
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def side_by_side(function: Callable[[Row], Result], rows: Iterable[Row]) -> Iterator[Result]:
    """Results in order of the rows, computed on all usable cores.

    A failure or an interrupt stops at once: rows not yet started are dropped.
    """
    with ThreadPoolExecutor(usable_cores()) as pool:
        futures = [pool.submit(function, row) for row in rows]
        try:
            for future in futures:
                yield future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
