from __future__ import annotations

import pytest

from likewise.store.store import Store


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    """A file of this version's layout, to be copied."""
    path = tmp_path_factory.mktemp("template") / "template.sqlite"
    Store.open(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def store(template, tmp_path):
    """An open history without anybody in it."""
    path = tmp_path / "history.sqlite"
    path.write_bytes(template.read_bytes())
    with Store.open(f"sqlite:///{path}", upgrade=False) as opened:
        yield opened
