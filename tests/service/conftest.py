"""What the tests of the service share."""

from __future__ import annotations

import shutil
from contextlib import ExitStack

import pytest

from likewise.store.store import Store
from llm_server import serving
from service_history import lives, write
from service_process import running


@pytest.fixture
def start(tmp_path):
    """Start an upstream and a service in front of it: `service, upstream = start(answer, policies=[...])`."""
    with ExitStack() as stack:

        def _start(answer, *, upstream=None, **settings):
            server = stack.enter_context(serving(answer))
            settings.setdefault("upstreams", {"main": {"base_url": server.url} | (upstream or {})})
            return stack.enter_context(running(tmp_path, **settings)), server

        yield _start


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """A file with the history of an agent that became worse five days ago: written once, copied for each test."""
    path = tmp_path_factory.mktemp("prepared") / "history.sqlite"
    with Store.open(f"sqlite:///{path}") as store:
        write(store, lives())
    return path


@pytest.fixture
def regressed(prepared, tmp_path):
    """Its history, opened."""
    shutil.copy(prepared, tmp_path / "regressed.sqlite")
    with Store.open(f"sqlite:///{tmp_path / 'regressed.sqlite'}") as store:
        yield store
