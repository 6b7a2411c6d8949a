"""What the tests of the command line and of whole runs share."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings
from jaxtyping import install_import_hook

# Array shapes and types of the metrics are checked at every call, in tests only.
install_import_hook("likewise.metrics", "beartype.beartype")

# How long an example takes says something of the machine and nothing of what it tests. Examples are the same each time,
# so that a red build is red again where it is looked into; `LIKEWISE_EXPLORE=1 make test` draws new ones.
settings.register_profile("likewise", deadline=None, derandomize="LIKEWISE_EXPLORE" not in os.environ)
settings.load_profile("likewise")

# A shell has its background jobs ignore Ctrl-C, and their children with them: the tests of it would test nothing.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

COMMAND = str(Path(sys.executable).with_name("likewise"))


def native_line(task, run, texts, **changes):
    """One rollout of ours, as a line: a turn for each text."""
    turns = [{"observations": [{"source": "user", "text": "And?"}], "action": {"text": text}} for text in texts]
    record = {"schema": "likewise.rollout/1", "task_id": task, "run_id": run, "turns": turns, "success": True}
    return json.dumps(record | changes)


@pytest.fixture
def runs_file(tmp_path):
    """Write a file of rollouts: {task: {run: texts}}, or lines made with `line`."""

    def _write(tasks, name="runs.jsonl"):
        lines = tasks
        if isinstance(tasks, dict):
            lines = [native_line(task, run, texts) for task, runs in tasks.items() for run, texts in runs.items()]
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return _write


@pytest.fixture
def line():
    """Make one line of our own format."""
    return native_line


@pytest.fixture
def command():
    """The installed console script."""
    return COMMAND


@pytest.fixture
def command_environment(tmp_path):
    """An environment in which nothing of the user's is read or written, and the terminal is 80 wide."""
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH")}
    return kept | {"COLUMNS": "80", "LIKEWISE_LABEL_STORE": str(tmp_path / "store" / "labels.sqlite")}


@pytest.fixture
def likewise(command_environment, tmp_path):
    """Run the installed command in a process of its own; text is decoded with errors visible."""

    def _run(*arguments, environment=None, **options):
        return subprocess.run(
            [COMMAND, *map(str, arguments)],
            env=command_environment | (environment or {}),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=200,
            check=False,
            **options,
        )

    return _run
