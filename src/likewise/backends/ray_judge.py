"""A judge whose work is done by many: Ray Data hands blocks of pairs to actors, each of which holds the judge.

Only this module knows Ray. Rules, label store and output stay with whoever asks, so a cluster needs no common disk; an
answer does not depend on who gave it or beside what, so it is the local one, bit for bit.
"""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from likewise.backends.judge_each import judge_each
from likewise.backends.onnx_session import usable_cores
from likewise.core.errors import BackendError, LabelError, MissingExtraError
from likewise.core.labels import Judgement, Relation
from likewise.core.protocols import Judge, ProgressTask

if TYPE_CHECKING:
    import pyarrow

__all__ = ["CHUNK", "RayJudge"]

TextPair: TypeAlias = tuple[str, str]

BLOCK: Final = 64
"""Pairs handed to an actor at once: seconds of work, and what is lost with the process that asked."""
CHUNK: Final = 65_536
"""Pairs to ask for at once: each execution starts its actors anew, so a worker should have minutes of work from it."""
STORE_BYTES: Final = 256 * 2**20
"""Object store of a Ray that is started here: blocks are small, and a few are under way at a time."""

PATIENCE: Final = 10.0
"""Seconds to wait for a cluster to answer."""

QUIET: Final = {
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
}
"""Set where the user has not set them: no logs among our lines, and nothing told to anybody."""


class RayJudge:
    """The judge that `make` makes, on every worker of a Ray cluster; of one started here where there is none.

    A cluster is found as Ray finds it: RAY_ADDRESS, else the one that `ray start` started on this machine. Use it as a
    context manager: it leaves the cluster, or stops what it started.
    """

    def __init__(self, make: Callable[[], Judge], workers: int | None = None) -> None:
        """Take the recipe.

        Args:
            make: Makes the judge; sent to the workers, which must be able to import it and what it loads.
            workers: Actors that hold a judge, a core each; as many as the cluster has cores where None.

        Raises:
            MissingExtraError: Ray is not installed.
        """
        try:
            import pyarrow
            import ray.data  # noqa: F401 - the check for the extra
        except ImportError:
            raise MissingExtraError("--engine ray", "ray") from None
        del pyarrow
        self._make, self._workers = make, workers
        self._joined = False

    def __enter__(self) -> RayJudge:
        """The judge itself."""
        return self

    def __exit__(self, *problem: object) -> None:
        """Leave the cluster."""
        self.close()

    def close(self) -> None:
        """Leave the cluster that was joined here, or stop the one started here; a Ray of the caller's stays."""
        import ray

        if self._joined:
            self._joined = False
            ray.shutdown()

    @cached_property
    def judge_id(self) -> str:
        """That of the judge: who works it out changes no answer."""
        return self._make().judge_id

    def judge(self, pairs: Sequence[TextPair], progress: ProgressTask | None = None) -> Iterator[Judgement]:
        """Judge each pair, in order; see core.protocols.Judge. The iterator goes on after a `LabelError`.

        Raises:
            BackendError: The cluster does not work, is too small, or its workers hold another judge.
        """
        return _Answers(self._rows(list(pairs)), progress)

    def _rows(self, pairs: list[TextPair]) -> Iterator[tuple[TextPair, Judgement | LabelError]]:
        if not pairs:
            return
        import ray

        workers = self._connect()
        remaining = iter(pairs)
        try:
            dataset = ray.data.from_arrow(list(_blocks(pairs))).map_batches(
                _Worker,
                fn_constructor_args=(self._make, self.judge_id),
                batch_size=None,
                batch_format="pyarrow",
                compute=ray.data.ActorPoolStrategy(size=min(workers, -(-len(pairs) // BLOCK))),
                num_cpus=1,
            )
            for table in dataset.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
                for row, pair in zip(table.to_pylist(), islice(remaining, len(table)), strict=True):
                    yield pair, _outcome(row, pair)
        except ray.exceptions.RayError as error:
            raise BackendError(
                f"Ray gave up ({_last_line(error)}); what was judged is kept, and the same command goes on from there"
            ) from error
        left = next(remaining, None)
        if left is not None:
            raise BackendError("Ray ended before all pairs were judged; run the same command again")

    def _connect(self) -> int:
        """Join the cluster, or start one here; how many workers there are to be."""
        for name, value in QUIET.items():
            os.environ.setdefault(name, value)
        import logging

        import ray

        if not ray.is_initialized():
            address = _cluster()
            self._joined = True
            if address is None:
                self._start()
            else:
                _join(address)
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.execution_options.preserve_order = True
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        cores = int(ray.cluster_resources().get("CPU", 0))
        workers = self._workers or cores
        if not 1 <= workers <= cores:
            raise BackendError(f"the Ray cluster has {cores} core(s) for {workers} worker(s); set --workers")
        return workers

    def _start(self) -> None:
        import ray

        try:
            with _silence():
                ray.init(
                    address="local",
                    num_cpus=self._workers or usable_cores(),
                    include_dashboard=False,
                    object_store_memory=STORE_BYTES,
                    log_to_driver=False,
                    logging_level="ERROR",
                )
        except Exception as error:  # Ray raises what the failing part raises
            raise BackendError(f"Ray cannot be started on this machine: {_last_line(error)}") from error


def _cluster() -> str | None:
    """Address of the cluster to join: that of RAY_ADDRESS, else the one that `ray start` made here; None for neither.

    Ray's own search would also find the private Ray of another process, and it waits minutes for a cluster that is
    gone, so the address is looked up and tried here.

    Raises:
        BackendError: Nobody answers at RAY_ADDRESS.
    """
    named = os.environ.get("RAY_ADDRESS", "").strip()
    if named not in ("", "auto"):
        if named == "local":
            return None
        if (problem := _unreachable(named)) is not None:
            raise BackendError(f"no Ray cluster answers at {named}, which RAY_ADDRESS names ({problem})")
        return named
    folder = os.environ.get("RAY_TMPDIR") or tempfile.gettempdir()
    try:
        recorded = Path(folder, "ray", "ray_current_cluster").read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return recorded if recorded and _unreachable(recorded) is None else None


def _unreachable(address: str) -> str | None:
    """Why nobody can be reached at an address; None where somebody can."""
    host, _, port = address.rpartition("//")[2].rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE):
            return None
    except (OSError, ValueError, OverflowError) as error:
        return str(error)


def _join(address: str) -> None:
    import ray

    try:
        with _silence():
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except Exception as error:  # Ray raises what the failing part raises
        said, cause = [_last_line(error)], error.__cause__
        while cause is not None:
            said, cause = [*said, str(cause)], cause.__cause__
        hint = (
            "; it asks for a token: set RAY_AUTH_MODE=token, and see Ray's documentation of token authentication"
            if any("uth" in text and "token" in text for text in said)
            else ""
        )
        raise BackendError(f"the Ray cluster at {address} cannot be joined: {said[0]}{hint}") from error


@contextmanager
def _silence() -> Iterator[None]:
    """Standard error goes nowhere: Ray's C++ part greets there, whatever it is told."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(nowhere)
        os.close(kept)


class _Answers:
    """Outcomes as a judge gives them: judgements, and failures raised; unlike a generator it goes on after one."""

    def __init__(self, rows: Iterator[tuple[TextPair, Judgement | LabelError]], progress: ProgressTask | None) -> None:
        self._rows, self._progress = rows, progress

    def __iter__(self) -> _Answers:
        return self

    def __next__(self) -> Judgement:
        _, outcome = next(self._rows)
        if isinstance(outcome, LabelError):
            raise outcome
        if self._progress is not None:
            self._progress.advance()
        return outcome


def _blocks(pairs: Sequence[TextPair]) -> Iterator[pyarrow.Table]:
    """Tables of at most BLOCK pairs; texts as bytes, for Arrow's strings refuse lone surrogates."""
    import pyarrow

    for start in range(0, len(pairs), BLOCK):
        block = pairs[start : start + BLOCK]
        sides = [[pair[side].encode("utf-8", "surrogatepass") for pair in block] for side in (0, 1)]
        yield pyarrow.table(
            {name: pyarrow.array(s, pyarrow.large_binary()) for name, s in zip("ab", sides, strict=True)}
        )


class _Worker:
    """What runs in an actor. It raises nothing: Ray would start it anew for ever, and tell the user so at length."""

    def __init__(self, make: Callable[[], Judge], judge_id: str) -> None:
        self._fault, self._judge = "", None
        try:
            self._judge = make()
            if self._judge.judge_id != judge_id:
                self._fault = f"it holds {self._judge.judge_id}, not {judge_id}: install the same likewise everywhere"
        except Exception as error:
            self._fault = f"the judge cannot be loaded: {type(error).__name__}: {error}"

    def __call__(self, table: pyarrow.Table) -> pyarrow.Table:
        import pyarrow

        pairs = [
            (a.decode("utf-8", "surrogatepass"), b.decode("utf-8", "surrogatepass"))
            for a, b in zip(table["a"].to_pylist(), table["b"].to_pylist(), strict=True)
        ]
        return pyarrow.Table.from_pylist(self._answers(pairs), schema=_schema())

    def _answers(self, pairs: list[TextPair]) -> list[dict[str, object]]:
        if self._fault or self._judge is None:
            return [{"fault": _bytes(self._fault)}] * len(pairs)
        try:
            answers = dict(judge_each(self._judge, list(dict.fromkeys(pairs))))
        except Exception as error:  # handed to whoever asked, who stops the work
            return [{"fault": _bytes(f"{type(error).__name__}: {error}")}] * len(pairs)
        return [_row(answers[pair]) for pair in pairs]


def _schema() -> pyarrow.Schema:
    import pyarrow

    numbers = pyarrow.list_(pyarrow.float64())
    names = {"relation": pyarrow.int8(), "forward": numbers, "backward": numbers}
    texts = ("rule", "problem", "raw", "fault")
    return pyarrow.schema([*names.items(), *((name, pyarrow.large_binary()) for name in texts)])


def _row(outcome: Judgement | LabelError) -> dict[str, object]:
    if isinstance(outcome, LabelError):
        raw = outcome.raw_answer
        return {"problem": _bytes(outcome.problem), "raw": None if raw is None else _bytes(raw)}
    return {
        "relation": int(outcome.relation),
        "forward": [float(p) for p in outcome.forward],
        "backward": [float(p) for p in outcome.backward],
        "rule": _bytes(outcome.rule),
    }


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "surrogatepass")


def _outcome(row: dict[str, Any], pair: TextPair) -> Judgement | LabelError:
    fault = _text(row["fault"])
    if fault is not None:
        raise BackendError(f"a Ray worker cannot judge: {fault}")
    problem = _text(row["problem"])
    if problem is not None:
        return LabelError(problem, *pair, _text(row["raw"]))
    forward, backward = row["forward"], row["backward"]
    return Judgement(
        Relation(row["relation"]),
        (forward[0], forward[1], forward[2]),
        (backward[0], backward[1], backward[2]),
        _text(row["rule"]) or "",
    )


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:300]
