"""`likewise serve` as a process: starts, says what is wrong, and loses nothing when it is told to end."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager

import httpx2
import pytest

from likewise.service.security.keys import Scope, create_key
from likewise.service.server import MOST_FILES
from likewise.store.store import Store
from llm_server import serving
from service_process import completion, free_port

pytestmark = pytest.mark.timeout(600)  # processes that load models, on a machine that may have other work
BODY = {"model": "tiny", "messages": [{"role": "user", "content": "Is it safe?"}]}


@pytest.fixture
def database(tmp_path):
    return f"sqlite:///{tmp_path / 'history.sqlite'}"


@pytest.fixture
def key(database):
    with Store.open(database) as store:
        made = create_key(store, "t", scopes={Scope.PROXY, Scope.READ}, per_minute=1e6, burst=100_000, actor="t")
    return made.secret


class Process:
    """A `likewise serve`."""

    def __init__(self, process, url, log):
        self.process, self.url, self.log = process, url, log

    def lines(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def end(self, number=signal.SIGTERM, seconds=60):
        self.process.send_signal(number)
        return self.process.wait(seconds)


@pytest.fixture
def serve(command, command_environment, tmp_path, database):
    """Start processes of these names side by side, and wait until all are ready: each costs the loading of models."""
    with ExitStack() as stack:

        def _start(upstream, name, **environment):
            port = free_port()
            log = tmp_path / f"{name}.log"
            environment = command_environment | {
                "LIKEWISE_DATABASE_URL": database,
                "LIKEWISE_PORT": str(port),
                "LIKEWISE_UPSTREAMS__MAIN__BASE_URL": upstream.url,
                "LIKEWISE_UPSTREAMS__MAIN__API_KEY": "sk-of-the-upstream-0123456789",
                "NO_PROXY": "*",
                **environment,
            }
            stream = stack.enter_context(log.open("wb"))
            process = stack.enter_context(
                subprocess.Popen([command, "serve"], env=environment, stderr=stream, stdout=stream, cwd=tmp_path)
            )
            stack.callback(process.kill)
            return Process(process, f"http://127.0.0.1:{port}", log)

        def _serve(upstream, *names, **environment):
            processes = [_start(upstream, name, **environment) for name in names]
            for process in processes:
                _until_ready(process)
            return processes

        yield _serve


def _until_ready(process, seconds=240):
    ends = time.monotonic() + seconds
    while True:
        assert process.process.poll() is None, process.log.read_text()
        assert time.monotonic() < ends, process.log.read_text()
        try:
            if httpx2.get(f"{process.url}/readyz", trust_env=False).status_code == 200:
                return
        except httpx2.TransportError:
            time.sleep(0.1)


@contextmanager
def asking(process, key, count):
    """So many requests at once, each in a thread; what came of them."""
    answers = []

    def ask():
        headers = {"Authorization": f"Bearer {key}"}
        try:
            answers.append(
                httpx2.post(
                    f"{process.url}/v1/chat/completions", json=BODY, headers=headers, timeout=240, trust_env=False
                )
            )
        except httpx2.TransportError as problem:
            answers.append(problem)

    threads = [threading.Thread(target=ask) for _ in range(count)]
    for thread in threads:
        thread.start()
    yield answers
    for thread in threads:
        thread.join()


def test_told_to_end_it_answers_and_stores_what_is_in_flight_ends_well_and_has_logged_no_secret(serve, key, database):
    def slow(request):
        time.sleep(1.0)
        return completion(*["It is safe."] * request.body.get("n", 1))

    with serving(slow) as upstream:
        (process,) = serve(upstream, "one", LIKEWISE_LOG_LEVEL="debug")
        headers = {"Authorization": f"Bearer {key}wrong", "X-Likewise-Key": f"{key}wrong"}
        assert httpx2.get(f"{process.url}/v1/verdicts", headers=headers, trust_env=False).status_code == 401
        with asking(process, key, 8) as answers:
            ends = time.monotonic() + 30
            while upstream.under_way < 8 and time.monotonic() < ends:
                time.sleep(0.01)
            assert upstream.under_way == 8
            code = process.end()
        assert code == 0
    assert [answer.status_code for answer in answers] == [200] * 8
    with Store.open(database) as store:
        stored = {each.id for each in store.verdicts.page(limit=50).items}
    assert stored == {answer.headers["x-likewise-verdict-id"] for answer in answers}
    with pytest.raises(httpx2.TransportError):
        httpx2.get(f"{process.url}/healthz", trust_env=False)
    _logged_as_json_without_secrets(process, key, 8)


def _logged_as_json_without_secrets(process, key, count):
    lines = process.lines()
    assert {line["level"] for line in lines} >= {"info"}
    assert [line["status"] for line in lines if line.get("route") == "/v1/chat/completions"] == [200] * count
    text = process.log.read_text()
    for secret in (key, key.rpartition("_")[2], "sk-of-the-upstream-0123456789", "It is safe."):
        assert secret not in text


def test_two_processes_share_one_history_and_lose_or_double_nothing(serve, key, database):
    with serving(lambda request: completion(*["It is safe."] * request.body.get("n", 1))) as upstream:
        processes = serve(upstream, "one", "two")
        with asking(processes[0], key, 30) as first, asking(processes[1], key, 30) as second:
            pass
        answers = [*first, *second]
        assert [answer.status_code for answer in answers] == [200] * 60
        identity = first[0].headers["x-likewise-verdict-id"]
        headers = {"Authorization": f"Bearer {key}"}
        read = httpx2.get(f"{processes[1].url}/v1/verdicts/{identity}", headers=headers, trust_env=False)
        assert read.json()["id"] == identity
        assert [process.end() for process in processes] == [0, 0]
    with Store.open(database) as store:
        stored = [each.id for each in store.verdicts.page(limit=200).items]
    assert sorted(stored) == sorted(answer.headers["x-likewise-verdict-id"] for answer in answers)


def test_the_settings_can_be_checked_without_serving(likewise, tmp_path):
    path = tmp_path / "serve.toml"
    path.write_text('[[policies]]\nmode = "of"\n')
    answer = likewise("serve", "--check", "--config", path)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "policies.0.mode" in answer.stderr
    path.write_text('[[policies]]\nmode = "off"\n')
    answer = likewise("serve", "--check", "--config", path)
    assert (answer.returncode, answer.stdout) == (0, "the settings are fine\n")


def test_an_address_that_is_taken_is_said_in_one_line(likewise, database):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        answer = likewise("serve", "--port", taken.getsockname()[1], "--database", database)
    assert answer.returncode == 3
    assert "Address already in use" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_history_that_cannot_be_opened_is_said_in_one_line(likewise, tmp_path):
    answer = likewise("serve", "--port", free_port(), "--database", f"sqlite:///{tmp_path}")
    assert answer.returncode == 4
    assert "Traceback" not in answer.stderr
    assert len(answer.stderr.splitlines()) == 1


def test_the_command_is_found_with_its_options(likewise):
    answer = likewise("serve", "--help")
    assert answer.returncode == 0
    assert "--config" in answer.stdout


def test_as_many_files_are_opened_as_the_system_allows(tmp_path):
    program = (
        "import resource; from likewise.service.server import open_many_files\n"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))\n"
        "open_many_files()\n"
        "print(*resource.getrlimit(resource.RLIMIT_NOFILE), hard)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    soft, hard, before = map(int, answer.stdout.split())
    assert soft == (MOST_FILES if hard == -1 else min(hard, MOST_FILES))
    assert hard == before
