"""`likewise label` as a user runs it: killed and run again, over long streams, on a Ray of this machine."""

import json
import os
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from likewise.backends.judges import embedded_judge
from likewise.backends.label_store import LabelStore
from likewise.core.labels import Judgement, Relation
from likewise.scoring.stored_judge import ordered

PATIENCE = 250
EXAMPLE = Path(__file__).parents[2] / "examples" / "rollouts" / "airline.json"

pytestmark = [pytest.mark.model, pytest.mark.timeout(900)]


def stored(path):
    """Rows of the label store, 0 while there is none."""
    if not path.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            return connection.execute("SELECT count(*) FROM judgements").fetchone()[0]
    except sqlite3.OperationalError:  # the table is not there yet
        return 0


@pytest.fixture
def pairs_file(tmp_path):
    """Pairs of real sentences, few of which a rule settles: more than one batch of the store's."""
    records = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    said = [m["content"] for r in records for m in r["traj"] if m["role"] == "assistant" and m["content"]]
    texts = sorted({text for text in said if len(text) < 300})
    path = tmp_path / "pairs.jsonl"
    lines = [json.dumps({"a": a, "b": b}) for a, b in pairwise(texts[:91])]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "engine",
    [
        pytest.param(["--workers", "1"], id="local"),
        pytest.param(["--engine", "ray", "--workers", "1"], id="ray", marks=pytest.mark.ray),
    ],
)
def test_a_killed_run_leaves_nothing_behind_and_the_next_goes_on_from_there(
    likewise, command, command_environment, pairs_file, tmp_path, engine
):
    out, store = tmp_path / "labels.jsonl", Path(command_environment["LIKEWISE_LABEL_STORE"])
    environment = command_environment | {"RAY_raylet_start_wait_time_s": "300"}
    arguments = ["label", str(pairs_file), "--out", str(out), *engine]
    with subprocess.Popen([command, *arguments], env=environment, stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + PATIENCE
        while not stored(store) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        assert process.poll() is None, f"it ended before it could be killed, {stored(store)} rows stored"
        os.kill(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert {path.name for path in tmp_path.iterdir()} == {"pairs.jsonl", "store"}
    kept = stored(store)
    assert kept > 0
    again = likewise(*arguments, "--json", environment=environment)
    assert again.returncode == 0, again.stderr
    use = json.loads(again.stdout)["judge_use"]
    assert use["from_store"] == kept
    assert use["from_model"] == stored(store) - kept > 0
    fresh = tmp_path / "fresh.jsonl"
    assert likewise("label", pairs_file, "--out", fresh, "--no-store").returncode == 0
    assert out.read_bytes() == fresh.read_bytes()


def streamed(command, environment, path, out):
    """Peak megabytes of one run."""
    arguments = [command, "label", str(path), "--out", str(out), "-q"]
    process = subprocess.Popen(arguments, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    assert status == 0
    return usage.ru_maxrss / 1024


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_memory_does_not_grow_with_the_stream(command, command_environment, tmp_path):
    """The store knows every pair, as after a first run: what is left is the road itself."""
    store, judge_id = Path(command_environment["LIKEWISE_LABEL_STORE"]), embedded_judge().judge_id
    known = Judgement.certain(Relation.NEUTRAL, "nli")
    peaks = []
    for total in (10_000, 40_000):
        path = tmp_path / f"{total}.jsonl"
        pairs = [
            (f"I looked at case {i}k{i} for you. " * 6, f"What about case {i}k{i} then? " * 6) for i in range(total)
        ]
        with path.open("w") as file:
            file.writelines(json.dumps({"a": a, "b": b}) + "\n" for a, b in pairs)
        with LabelStore(store) as labels:
            labels.put_many(judge_id, [(ordered(a.strip(), b.strip()), known) for a, b in pairs])
        out = tmp_path / "out.jsonl"
        peaks.append(streamed(command, command_environment, path, out))
        with out.open() as file:
            assert sum(1 for _ in file) == total
    assert peaks[1] < 400
    assert peaks[1] - peaks[0] < 40
