from __future__ import annotations

import re
from contextlib import contextmanager

import httpx2
import pytest

from likewise.service.security.login import create_user
from service_history import PASSWORD, judge
from service_process import running


class Browser:
    """A person's browser without scripts: keeps cookies, follows links, sends forms with what their pages carry."""

    def __init__(self, url):
        self.url = url
        self.http = httpx2.Client(base_url=url, timeout=120, follow_redirects=True)

    def get(self, path, **query):
        return self.http.get(path, params=query or None)

    def csrf(self, path):
        found = re.search(r'name="csrf" value="([^"]+)"', self.get(path).text)
        assert found, f"{path} has no form"
        return found[1]

    def post(self, path, fields, *, page, headers=None):
        sent = {"csrf": self.csrf(page), **fields}
        return self.http.post(path, data=sent, headers={"Origin": self.url, **(headers or {})})

    def sign_in(self, name, password=PASSWORD, wanted="/"):
        return self.post("/login", {"name": name, "password": password, "next": wanted}, page="/login")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The service with pages and two people, for all tests of a module."""
    with running_pages(tmp_path_factory.mktemp("pages")) as found:
        yield found


@contextmanager
def running_pages(folder, **settings):
    with running(folder, judge=judge(), **settings) as found:
        create_user(found.service.store, "anna", PASSWORD, "admin", actor="tests")
        create_user(found.service.store, "victor", PASSWORD, "viewer", actor="tests")
        yield found


@pytest.fixture
def stranger(served):
    browser = Browser(served.url)
    with browser.http:
        yield browser


def _signed_in(served, name):
    browser = Browser(served.url)
    with browser.http:
        assert browser.sign_in(name).status_code == 200
        yield browser


@pytest.fixture(scope="module")
def anna(served):
    """An administrator."""
    yield from _signed_in(served, "anna")


@pytest.fixture(scope="module")
def victor(served):
    """A viewer."""
    yield from _signed_in(served, "victor")
