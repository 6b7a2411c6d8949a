"""Background reports: taken from the history's list of jobs, one at a time, and given back where they stay undone."""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import anyio
import anyio.to_thread

from likewise.core.errors import BackendError, LikewiseError, StoreUnavailableError
from likewise.core.protocols import ProgressTask
from likewise.evaluation.evaluate import evaluate
from likewise.formats.registry import read_rollouts
from likewise.report.as_json import evaluation_as_json
from likewise.scoring.score import ScoringOptions
from likewise.service.service import Service
from likewise.service.turns import TurnTakingEncoder, TurnTakingJudge
from likewise.store.jobs import Job

__all__ = ["KIND", "make_report", "work_on_jobs"]

KIND = "report"
POLL_SECONDS = 0.5
_SOUND_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_LOG = logging.getLogger("likewise.service")


class _StopError(Exception):
    """Nobody wants the report any more, or another process makes it."""


class _Steps:
    """Counts steps, for whoever gives signs of life; raises where the work is to end."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop, self.what, self.done, self.total = stop, "", 0, None

    total: int | None

    @contextmanager
    def __call__(self, what: str, total: int | None) -> Iterator[ProgressTask]:
        self.what, self.done, self.total = what, 0, total
        self.advance(0)
        yield self

    def advance(self, steps: int = 1) -> None:
        if self._stop.is_set():
            raise _StopError
        self.done += steps


async def work_on_jobs(service: Service) -> None:
    """Take one job after another until the service stops."""
    worker = f"{socket.gethostname()[:40]}-{os.getpid()}-{uuid4().hex[:8]}"
    while not service.stopping:
        try:
            claim = partial(service.store.jobs.claim, worker, kind=KIND, lease=service.settings.job_lease)
            job = await anyio.to_thread.run_sync(claim)
        except StoreUnavailableError as problem:
            _LOG.warning("no jobs can be taken: %s", problem)
            await anyio.sleep(5)
            continue
        if job is None:
            await anyio.sleep(POLL_SECONDS)
        else:
            await _work_on(service, job, worker)


async def _work_on(service: Service, job: Job, worker: str) -> None:
    stop = threading.Event()
    steps = _Steps(stop)
    service.metrics.jobs_running.inc()
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_give_signs, service, job, worker, steps, stop)
            payload = await anyio.to_thread.run_sync(service.store.jobs.payload, job.id)
            work = partial(_attempt, service, job.params, payload or b"", steps)
            result, error = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
            group.cancel_scope.cancel()
        await _end(service, job, worker, steps, result, error)
    except anyio.get_cancelled_exc_class():
        stop.set()
        with anyio.CancelScope(shield=True):
            await _give_back(service, job, worker)
        raise
    finally:
        service.metrics.jobs_running.dec()


async def _give_signs(service: Service, job: Job, worker: str, steps: _Steps, stop: threading.Event) -> None:
    lease = service.settings.job_lease
    while not stop.is_set():
        beat = partial(
            service.store.jobs.beat, job.id, worker, done=steps.done, total=steps.total, what=steps.what, lease=lease
        )
        try:
            if not await anyio.to_thread.run_sync(beat):
                stop.set()
        except StoreUnavailableError as problem:
            _LOG.warning("no sign of life of job %s: %s", job.id, problem)
        await anyio.sleep(min(lease / 4, 1.0))


async def _end(service: Service, job: Job, worker: str, steps: _Steps, result: str | None, error: str | None) -> None:
    jobs = service.store.jobs
    if result is None and error is None:
        return  # cancelled, or taken over
    end = (
        partial(jobs.fail, job.id, worker, error)
        if error is not None
        else partial(jobs.finish, job.id, worker, result or "", done=steps.done, total=steps.total, what=steps.what)
    )
    for wait in (1, 5, 20, None):
        try:
            await anyio.to_thread.run_sync(end)
        except StoreUnavailableError as problem:
            _LOG.warning("the result of job %s cannot be stored: %s", job.id, problem)
            if wait is not None:
                await anyio.sleep(wait)
        else:
            service.metrics.jobs.labels("failed" if error is not None else "done").inc()
            return


async def _give_back(service: Service, job: Job, worker: str) -> None:
    try:
        await anyio.to_thread.run_sync(service.store.jobs.release, job.id, worker)
    except StoreUnavailableError:  # its lease ends, and it is taken over then
        _LOG.warning("job %s could not be given back", job.id)


def _attempt(
    service: Service, params: Mapping[str, Any], payload: bytes, steps: _Steps
) -> tuple[str | None, str | None]:
    """The report, or why there is none; neither where the work was to end."""
    try:
        return make_report(service, params, payload, steps), None
    except _StopError:
        return None, None
    except BackendError as problem:
        return None, f"the judge does not work: {problem}"
    except LikewiseError as problem:
        return None, str(problem)
    except Exception:
        _LOG.exception("a report failed")
        return None, "an error of the service itself; its log says more"


def make_report(service: Service, params: Mapping[str, Any], payload: bytes, steps: Any) -> str:  # noqa: ANN401 - a Progress
    """The report of an uploaded file, as JSON.

    Args:
        service: Its models are used, in turn with live requests.
        params: `name` and `format` of the file; `gamma`, `soft`, `seed`, `pool` as of `likewise report`.
        payload: The file.
        steps: Display of what is going on.

    Raises:
        LikewiseError: The file cannot be read, or its runs cannot be compared.
    """
    given = str(params.get("name", ""))
    name = given if _SOUND_NAME.fullmatch(given) else "upload"
    with TemporaryDirectory(prefix="likewise-") as folder:
        path = Path(folder) / name
        path.write_bytes(payload)
        try:
            rollouts = read_rollouts([path], format=params.get("format"), progress=steps)
            options = ScoringOptions(gamma=params.get("gamma", 0.8), soft=bool(params.get("soft", False)))
            evaluation = evaluate(
                rollouts,
                judge=TurnTakingJudge(service.judge),
                encoder=TurnTakingEncoder(service.encoder),
                options=options,
                seed=int(params.get("seed", 0)),
                pool=bool(params.get("pool", False)),
                progress=steps,
            )
        except LikewiseError as problem:
            raise _Unreadable(str(problem).replace(f"{folder}/", "")) from None
        text = json.dumps(evaluation_as_json(evaluation), allow_nan=False)
        return text.replace(json.dumps(f"{folder}/")[1:-1], "")


class _Unreadable(LikewiseError):
    """The same without the folder that the file lay in."""
