"""ONNX Runtime sessions that give one answer for one input, whatever else is asked.

Dynamic int8 quantisation takes its scale from the whole input tensor, so in a batch the answer for a row would
depend on its neighbours. Rows therefore run one at a time, without padding, and cores are used by running rows
side by side: on a CPU this costs nothing (benchmarks/label_throughput.py) and results repeat bit for bit.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from likewise.core.errors import BackendError
from likewise.core.interrupts import held

if TYPE_CHECKING:
    import onnxruntime
    from tokenizers import Tokenizer

__all__ = ["file_digest", "load_session", "load_tokenizer", "side_by_side", "usable_cores"]

Row = TypeVar("Row")
Result = TypeVar("Result")

AHEAD = 16
"""Rows handed out ahead of the results, for each core: enough that a long row keeps no other core waiting."""


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
    options.add_session_config_entry("session.disable_quant_qdq", "1")  # stored in 8 bits: made fp32 once, at load
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
    """Eight hex digits that name the content of files; they enter judge and encoder ids.

    Files are read once a process, unless they change.
    """
    return _digest(tuple((path, path.stat().st_size, path.stat().st_mtime_ns) for path in paths))


@lru_cache(maxsize=64)
def _digest(files: tuple[tuple[Path, int, int], ...]) -> str:
    digest = blake2b(digest_size=4)
    for path, _, _ in files:
        with path.open("rb") as file:
            while block := file.read(2**20):
                digest.update(block)
    return digest.hexdigest()


def side_by_side(
    function: Callable[[Row], Result], rows: Iterable[Row], workers: int | None = None
) -> Iterator[Result]:
    """Results in order of the rows, computed on so many cores; on all usable ones where None.

    Rows are taken from `rows` a few ahead of the results. A failure or an interrupt stops as soon as the rows at work
    are done; those that wait are dropped.
    """
    count = workers or usable_cores()
    pool, queued = ThreadPoolExecutor(count), deque[Future[Result]]()
    try:
        for row in rows:
            if len(queued) == AHEAD * count:
                yield _first(queued)
            with held():
                queued.append(pool.submit(function, row))
        while queued:
            yield _first(queued)
    finally:
        with held():
            pool.shutdown(wait=True, cancel_futures=True)
            del pool  # here, so that what follows a thread's end runs while interrupts are held


def _first(queued: deque[Future[Result]]) -> Result:
    with held():
        return queued.popleft().result()
