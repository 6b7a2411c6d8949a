"""Clients that know nothing of us: the official JavaScript one, LangChain's, LiteLLM's; each in a process of its own.

They live in environments of their own, which `make test-service` makes: `.venv-clients`, and npm's folder.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from judges import TableJudge
from likewise.core.labels import Relation
from llm_server import Reply, refused
from service_process import completion

pytestmark = pytest.mark.service
HERE = Path(__file__).parent / "clients"
PYTHON = Path(os.environ.get("LIKEWISE_CLIENTS_PYTHON", Path(__file__).parents[2] / ".venv-clients" / "bin" / "python"))
CALL = {"id": "call_1", "type": "function", "function": {"name": "refund", "arguments": '{"order": "#7"}'}}
CLASH = TableJudge({("Yes.", "No."): Relation.CONTRADICTORY})
QUIET = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "NO_PROXY": "*", "no_proxy": "*"}


def agent(request):
    """An upstream that does what it is asked to."""
    asked, count = request.user, request.body.get("n", 1)
    if asked == "Contradict yourself":
        return completion(*["Yes.", "Yes.", "No."][:count])
    if asked == "Fail":
        return refused(401, "wrong key of the upstream", code="upstream_key")
    if asked == "Wait":
        return Reply(200, b"{}", delay=30)
    if request.body.get("tools"):
        return completion(*[None] * count, calls=[CALL], reason="tool_calls")
    return completion(*["It is safe."] * count)


def talk(service, *command, timeout=240):
    """What a client printed, run with the service's address and a key."""
    answer = subprocess.run(
        [*map(str, command), service.url, service.key], capture_output=True, text=True, timeout=timeout, env=QUIET
    )
    assert answer.returncode == 0, answer.stderr
    assert service.key not in answer.stdout
    return json.loads(answer.stdout.splitlines()[-1])


@pytest.fixture(scope="session")
def node_folder(tmp_path_factory):
    """A folder in which npm has put the official client."""
    assert shutil.which("npm"), "npm is missing; make test-service installs it"
    folder = tmp_path_factory.mktemp("node")
    shutil.copy(HERE / "openai_client.mjs", folder)
    (folder / "package.json").write_text('{"private": true, "type": "module"}')
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "openai"]
    subprocess.run(command, cwd=folder, check=True, timeout=240, capture_output=True)
    return folder


def test_the_official_javascript_client_works_unchanged(start, node_folder):
    service, upstream = start(agent, judge=CLASH)
    found = talk(service, "node", node_folder / "openai_client.mjs")
    assert (found["plain"], found["verdict"], found["header"]) == ("It is safe.", "3/3", "serve")
    assert (found["stream"], found["helper"]) == ("It is safe.", "It is safe.")
    assert found["calls"] == [["refund", '{"order": "#7"}']]
    assert found["refused"] == ["ConflictError", 409, "likewise_contradiction"]
    assert found["error"] == ["AuthenticationError", 401, "upstream_key"]
    assert found["timeout"][0] == "APIConnectionTimeoutError"
    assert found["cancelled"][0] == "APIUserAbortError"
    contradictions = [request for request in upstream.requests if request.user == "Contradict yourself"]
    assert len(contradictions) == 1  # a 409 that no client takes for passing
    ends = time.monotonic() + 10
    while upstream.hung_up < 2 and time.monotonic() < ends:
        time.sleep(0.05)
    assert upstream.hung_up == 2


@pytest.fixture
def python():
    assert PYTHON.exists(), f"{PYTHON} is missing; make test-service makes it"
    return PYTHON


def test_langchain_works_unchanged(start, python):
    service, upstream = start(agent, judge=CLASH)
    found = talk(service, python, HERE / "langchain_client.py")
    assert (found["plain"], found["stream"]) == ("It is safe.", "It is safe.")
    assert [(call["name"], call["args"], call["id"]) for call in found["calls"]] == [
        ("refund", {"order": "#7"}, "call_1")
    ]
    assert found["refused"][1:] == [409, "likewise_contradiction"]
    assert len([request for request in upstream.requests if request.user == "Contradict yourself"]) == 1


def test_litellm_works_unchanged(start, python):
    service, _ = start(agent, judge=CLASH)
    found = talk(service, python, HERE / "litellm_client.py")
    assert (found["plain"], found["stream"]) == ("It is safe.", "It is safe.")
    assert found["calls"] == [{"name": "refund", "args": {"order": "#7"}}]
    assert found["refused"][1] == 409


def test_schemathesis_finds_no_server_error(start, python, tmp_path):
    # The upstream answers whatever it is asked: an error of its own, passed on, would be none of ours.
    service, _ = start(lambda request: completion("Yes."), judge=CLASH, allow=["http://127.0.0.1:9"], jobs=False)
    command = [
        python.with_name("st"),
        "run",
        f"{service.url}/openapi.json",
        *("--header", f"Authorization: Bearer {service.make_key_of_all()}"),
        *("--checks", "not_a_server_error"),
        *("--phases", "examples,coverage,fuzzing"),
        *("--max-examples", "8", "--seed", "1", "--generation-database", "none"),
        *("--request-timeout", "20", "--no-color"),
    ]
    answer = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=280, cwd=tmp_path, env=QUIET
    )
    assert answer.returncode == 0, answer.stdout[-6_000:] + answer.stderr[-2_000:]
    assert "No issues found" in answer.stdout or "passed" in answer.stdout, answer.stdout[-3_000:]
