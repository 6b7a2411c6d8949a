"""A report that is stopped, gently or not, loses no judgement, leaves no file, and goes on when it is run again."""

import json
import os
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "rollouts" / "airline.json"
PATIENCE = 200
TASKS = 2

pytestmark = [pytest.mark.model, pytest.mark.timeout(600)]


@pytest.fixture
def some_tasks(tmp_path):
    """The first tasks of the example: enough pairs for several batches, few enough for a test."""
    records = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    tasks = list(dict.fromkeys(record["task_id"] for record in records))[:TASKS]
    path = tmp_path / "some.json"
    path.write_text(json.dumps([record for record in records if record["task_id"] in tasks]), encoding="utf-8")
    return path


def stored(path):
    """Rows of the label store, 0 while there is none."""
    if not path.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            return connection.execute("SELECT count(*) FROM judgements").fetchone()[0]
    except sqlite3.OperationalError:  # the table is not there yet
        return 0


def listen_to_ctrl_c():
    """A shell starts background jobs deaf to SIGINT, and a child inherits that; a user's command is not so started."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_what_was_judged_before_the_end_is_not_judged_again(
    likewise, command, command_environment, some_tasks, tmp_path, how
):
    out, page, store = tmp_path / "o.json", tmp_path / "o.html", Path(command_environment["LIKEWISE_LABEL_STORE"])
    arguments = ["report", str(some_tasks), "--json", str(out), "--html", str(page)]
    with subprocess.Popen(
        [command, *arguments],
        env=command_environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=listen_to_ctrl_c,
    ) as process:
        deadline = time.monotonic() + PATIENCE
        while not stored(store) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        assert process.poll() is None, f"the report ended before it could be stopped, {stored(store)} rows stored"
        process.send_signal(how)
        stdout, stderr = process.communicate(timeout=PATIENCE)
    assert process.returncode == (130 if how == signal.SIGINT else -9), stderr
    assert stdout == ""
    if how == signal.SIGINT:
        assert stderr.count("\n") == 1
        assert stderr.startswith("likewise: interrupted; what was judged is kept")
    assert {path.name for path in tmp_path.iterdir()} == {"some.json", "store"}
    kept = stored(store)
    assert kept > 0
    again = likewise(*arguments)
    assert again.returncode == 0, again.stderr
    use = json.loads(out.read_text())["judge_use"]
    assert use["from_store"] >= kept
    assert use["from_model"] == stored(store) - kept


def processor_seconds(process):
    """What a process has used so far; endless once it has ended."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return float("inf")
    return float("inf") if fields[0] == "Z" else (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def hears_ctrl_c(process):
    """Whether the interpreter itself is up: before that a SIGINT ends any program without a word."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return True
    caught = next((line for line in status.splitlines() if line.startswith("SigCgt:")), "SigCgt: 0")
    return process.poll() is not None or bool(int(caught.split()[1], 16) >> (signal.SIGINT - 1) & 1)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs processor time of a running process")
@pytest.mark.parametrize(
    "used", [0.3, 0.45, 0.6, 0.9, 1.2]
)  # before 0.2 s the interpreter itself may still be starting
def test_an_interrupt_at_any_time_ends_it_in_one_line(command, command_environment, some_tasks, tmp_path, used):
    """While it is imported, parses, reads, loads its models and judges."""
    out, page = tmp_path / "o.json", tmp_path / "o.html"
    with subprocess.Popen(
        [command, "report", str(some_tasks), "--json", str(out), "--html", str(page)],
        env=command_environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=listen_to_ctrl_c,
    ) as process:
        while processor_seconds(process) < used or not hears_ctrl_c(process):
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=PATIENCE)
    assert (process.returncode, stdout) == (130, ""), stderr
    assert stderr.startswith("likewise: interrupted")
    assert stderr.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} <= {"some.json", "store"}
