"""A benchmark in another Python: started with settings on its standard input, its failure told in one sentence."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from likewise.core.errors import BackendError

__all__ = ["drive"]

KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE", "TAU2_DATA_DIR", "LD_LIBRARY_PATH", "PYTHONPATH")
"""What a benchmark is given of the environment, beside the key of the endpoint."""
MARK = "likewise: "


def drive(
    what: str,
    command: Sequence[str | Path],
    settings: Mapping[str, object],
    *,
    key_variable: str,
    limit: float | None = None,
    extra: Mapping[str, str] | None = None,
) -> None:
    """Run a driver to its end.

    Args:
        what: Name of the benchmark, for sentences.
        command: Interpreter, options, and the driver's file.
        settings: Sent as JSON; holds no secret, for benchmarks write settings into their results.
        key_variable: Environment variable that holds the endpoint's key; the benchmark gets it as OPENAI_API_KEY.
        limit: Seconds for all of it; none where None.
        extra: Further environment variables.

    Raises:
        BackendError: The interpreter cannot be started, took too long, or the driver failed; in its words.
    """
    key = os.environ.get(key_variable, "none")
    environment = {name: os.environ[name] for name in KEPT if name in os.environ}
    try:
        done = subprocess.run(
            [str(part) for part in command],
            input=json.dumps(settings),
            env={**environment, **(extra or {}), "OPENAI_API_KEY": key},
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=limit,
            check=False,
        )
    except OSError as problem:
        raise BackendError(f"the Python of {what} cannot be started: {problem}") from None
    except subprocess.TimeoutExpired:
        raise BackendError(f"{what} took longer than {limit:g} s; call again to go on where it was") from None
    if done.returncode:
        told = [line for line in done.stderr.splitlines() if line.startswith(MARK)]
        last = told[-1].removeprefix(MARK) if told else " ".join(done.stderr.split())[-500:]
        raise BackendError(f"{what} failed: {last.replace(key, '***') if key != 'none' else last}")
