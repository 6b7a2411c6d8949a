"""The judge on Ray: a real Ray of two cores, started by the judge itself or by `ray start`."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import pytest

from likewise.backends.judge_each import judge_each
from likewise.backends.judges import embedded_judge
from likewise.backends.label_store import LabelStore
from likewise.backends.ray_judge import BLOCK, RayJudge
from likewise.core.errors import BackendError, LabelError, MissingExtraError
from likewise.core.labels import Judgement
from likewise.scoring.stored_judge import StoredJudge
from ray_judges import SlowJudge, SumJudge, WrongHere, broken

TESTS = str(Path(__file__).parents[1])
PAIRS = [(f"text {i}", "x" * (i % 7)) for i in range(3 * BLOCK + 5)]

ray_itself = pytest.mark.filterwarnings("ignore")  # Ray and its libraries warn of their own doings


def test_without_ray_the_pip_line_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'likewise\[ray\]'"):
        RayJudge(SumJudge, 2)


@pytest.mark.ray
@ray_itself
def test_nothing_to_judge_starts_nothing():
    with RayJudge(SumJudge, 2) as judge:
        assert list(judge.judge([])) == []
        assert judge.judge_id == "sum"
    import ray

    assert not ray.is_initialized()


class Bar:
    steps = 0

    def advance(self, steps=1):
        self.steps += steps


@pytest.fixture(scope="module")
def cluster():
    """A Ray of two cores for all tests that do not start one themselves; workers find the tests' modules."""
    import ray

    kept = os.environ.get("PYTHONPATH")
    os.environ["RAY_raylet_start_wait_time_s"] = "300"  # noqa: SIM112 - Ray's own spelling; a busy machine is no reason to fail
    os.environ["PYTHONPATH"] = TESTS + (os.pathsep + kept if kept else "")
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100 * 2**20, log_to_driver=False)
    yield ray
    ray.shutdown()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()  # Ray does not wait for the processes that it ended, and Python says so
    if kept is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = kept


@pytest.mark.ray
@ray_itself
@pytest.mark.parametrize("workers", [1, 2])
def test_answers_are_the_local_ones_in_order(cluster, workers):
    bar = Bar()
    judge = RayJudge(SumJudge, workers)
    assert list(judge.judge(PAIRS, bar)) == list(SumJudge().judge(PAIRS))
    assert bar.steps == len(PAIRS)
    judge.close()
    assert cluster.is_initialized()  # a Ray of the caller's stays


@pytest.mark.ray
@ray_itself
def test_failures_come_with_their_pair_and_raw_answer_and_the_rest_is_judged(cluster):
    pairs = [("a", "b"), ("bad", "b"), ("lone \ud800 half", "b"), ("c", "bad too")]
    outcomes = dict(judge_each(RayJudge(SumJudge, 2), pairs))
    assert [type(outcomes[pair]) for pair in pairs] == [Judgement, LabelError, Judgement, LabelError]
    failure = outcomes["bad", "b"]
    assert (failure.problem, failure.first, failure.second, failure.raw_answer) == ("it is bad", "bad", "b", "?")
    assert outcomes["lone \ud800 half", "b"] == next(SumJudge().judge([pairs[2]]))


@pytest.mark.ray
@ray_itself
def test_another_judge_on_a_worker_is_refused(cluster):
    with pytest.raises(BackendError, match=r"it holds sum-\d+, not sum-\d+: install the same likewise everywhere"):
        list(RayJudge(WrongHere, 1).judge(PAIRS[:3]))


@pytest.mark.ray
@ray_itself
def test_a_judge_that_does_not_load_on_a_worker_is_a_plain_error(cluster):
    with pytest.raises(BackendError, match="cannot be loaded: OSError: no such weights"):
        list(RayJudge(broken, 1).judge(PAIRS[:3]))


@pytest.mark.ray
@ray_itself
def test_more_workers_than_cores_are_refused_at_once(cluster):
    with pytest.raises(BackendError, match=r"2 core\(s\) for 3 worker\(s\); set --workers"):
        list(RayJudge(SumJudge, 3).judge(PAIRS[:3]))


@pytest.mark.ray
@ray_itself
def test_a_worker_that_dies_costs_no_pair(cluster, tmp_path):
    log = tmp_path / "log"
    judge = RayJudge(partial(SlowJudge, str(log)), 2)
    answers, killed = [], False
    for answer in judge.judge(PAIRS):
        answers.append(answer)
        if not killed:
            killed = True
            listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
            workers = [int(line.split()[0]) for line in listed.splitlines() if "ray::" in line and "Worker" in line]
            assert workers
            os.kill(workers[0], signal.SIGKILL)
    assert answers == list(SumJudge().judge(PAIRS))


@pytest.mark.ray
@ray_itself
def test_the_store_is_written_while_the_cluster_works(cluster, tmp_path):
    log, sizes = tmp_path / "log", []
    with LabelStore(tmp_path / "s.sqlite") as store:
        far = RayJudge(partial(SlowJudge, str(log)), 2)

        class Watching:
            judge_id = far.judge_id

            def judge(self, pairs, progress=None):
                for answer in far.judge(pairs, progress):
                    sizes.append(len(store))
                    yield answer

        StoredJudge(Watching(), store).ask(PAIRS)
        assert len(store) == len(PAIRS)
    assert 0 < sizes[-1] < len(PAIRS)


@pytest.mark.ray
@pytest.mark.model
@ray_itself
@pytest.mark.timeout(900)
def test_the_embedded_judge_says_the_same_bit_for_bit_on_ray_locally_and_one_at_a_time(cluster):
    texts = [
        "Your flight is booked.",
        "Your flight has been booked.",
        "I could not book your flight.",
        "Which seat would you like?",
        "The refund of $120 is on its way to your card, and should be there within five business days.",
        "I cannot refund this ticket, because it was bought as basic economy and the day has passed.",
        " ".join(f"Item {i} of the order was shipped on time." for i in range(40)),
    ]
    pairs = [(a, b) for a in texts for b in texts if a < b] + [(b, a) for a in texts for b in texts if a < b]
    local = list(embedded_judge().judge(pairs))
    assert list(RayJudge(partial(embedded_judge, 1), 2).judge(pairs)) == local
    one = embedded_judge(1)
    assert [next(one.judge([pair])) for pair in pairs] == local


# A cluster of its own


@pytest.mark.ray
@ray_itself
@pytest.mark.timeout(900)
def test_a_cluster_that_ray_start_made_is_found_and_left_running():
    """In processes of their own: this one may be in another cluster."""
    folder = tempfile.mkdtemp(prefix="lw-")  # short: it becomes a part of the names of sockets
    ray = str(Path(sys.executable).with_name("ray"))
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RAY")} | {"PYTHONPATH": TESTS}
    environment |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "a-token-of-more-than-thirty-two-characters"}
    port = 20_000 + os.getpid() % 10_000
    start = [
        ray,
        "start",
        "--head",
        "--num-cpus=2",
        f"--port={port}",
        "--include-dashboard=false",
        "--disable-usage-stats",
    ]
    head = subprocess.run(
        [*start, f"--temp-dir={folder}"], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert head.returncode == 0, head.stderr
    work = (
        "from likewise.backends.ray_judge import RayJudge\n"
        "from ray_judges import SumJudge\n"
        "pairs = [(f'text {i}', 'x' * i) for i in range(70)]\n"
        "with RayJudge(SumJudge) as judge:\n"
        "    same = list(judge.judge(pairs)) == list(SumJudge().judge(pairs))\n"
        "    import ray; print(same, ray.get_runtime_context().gcs_address.rpartition(':')[2])\n"
    )
    address = environment | {"RAY_ADDRESS": f"127.0.0.1:{port}"}
    try:
        for _ in range(2):  # the first one leaves it running
            done = subprocess.run(
                [sys.executable, "-c", work], env=address, capture_output=True, text=True, timeout=400, check=False
            )
            assert done.returncode == 0, done.stderr
            assert done.stdout.split() == ["True", str(port)]
            assert done.stderr == ""
        stranger = {key: value for key, value in address.items() if "AUTH" not in key}
        done = subprocess.run(
            [sys.executable, "-c", work], env=stranger, capture_output=True, text=True, timeout=400, check=False
        )
        assert f"BackendError: the Ray cluster at 127.0.0.1:{port} cannot be joined" in done.stderr
        assert "set RAY_AUTH_MODE=token" in done.stderr
    finally:
        _stop(folder)
        shutil.rmtree(folder, ignore_errors=True)
    began = time.monotonic()
    gone = subprocess.run(
        [sys.executable, "-c", work], env=address, capture_output=True, text=True, timeout=400, check=False
    )
    assert f"BackendError: no Ray cluster answers at 127.0.0.1:{port}, which RAY_ADDRESS names" in gone.stderr
    assert time.monotonic() - began < 60


def _stop(folder):
    """End the processes of this cluster alone: `ray stop` would end those of others too."""
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        number, _, arguments = line.strip().partition(" ")
        if folder in arguments and int(number) != os.getpid():
            os.kill(int(number), signal.SIGKILL)
