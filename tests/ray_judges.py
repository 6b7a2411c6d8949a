"""Judges for tests of work that is handed to other processes: what is sent there must be importable there."""

from __future__ import annotations

import os
import time
from pathlib import Path

from likewise.core.errors import LabelError
from likewise.core.labels import Judgement


class SumJudge:
    """Probabilities out of the texts' lengths, so that every pair has an answer of its own; some pairs fail."""

    judge_id = "sum"

    def judge(self, pairs, progress=None):
        for first, second in pairs:
            if "bad" in first + second:
                raise LabelError("it is bad", first, second, raw_answer="?")
            a, b = 1 / (2 + len(first)), 1 / (3 + len(second))
            yield Judgement.from_nli((a, 1 - a - a / 3, a / 3), (b, 1 - b - b / 7, b / 7))
            if progress is not None:
                progress.advance()


class SlowJudge(SumJudge):
    """Takes a fiftieth of a second for each pair, and notes down for whom."""

    def __init__(self, log: str):
        self._log = Path(log)

    def judge(self, pairs, progress=None):
        for pair in pairs:
            time.sleep(0.02)
            with self._log.open("a") as log:
                log.write(f"{pair[0]}\n")
            yield from super().judge([pair], progress)


class WrongHere(SumJudge):
    """Has another id in every process: as if each machine had weights of its own."""

    @property
    def judge_id(self):
        return f"sum-{os.getpid()}"


def broken():
    """Cannot be made in a worker."""
    if os.environ.get("RAY_WORKER_MODE") or "ray::" in Path("/proc/self/cmdline").read_text(errors="replace"):
        raise OSError("no such weights")
    return SumJudge()
