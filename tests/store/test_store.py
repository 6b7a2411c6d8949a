from __future__ import annotations

import subprocess
import sys

import pytest

from likewise.core.errors import StoreUnavailableError
from likewise.store.store import Store
from verdicts_factory import record_of


def test_a_history_is_made_opened_again_and_closed_twice(empty_url):
    with Store.open(empty_url) as store:
        store.ping()
        store.write([record_of(id="a")])
    with Store.open(empty_url, upgrade=False) as store:
        assert store.verdicts.get("a") is not None
    store.close()


def test_a_history_of_another_layout_is_refused_where_nothing_may_be_changed(empty_url):
    with pytest.raises(StoreUnavailableError):
        Store.open(empty_url, upgrade=False)


def test_the_environment_names_the_history(url, monkeypatch):
    monkeypatch.setenv("LIKEWISE_DATABASE_URL", url)
    with Store.open(upgrade=False) as store:
        store.ping()
        assert store.where.startswith(("sqlite:///", "postgresql+psycopg://"))


def test_the_callers_hook_and_known_secrets_leave_nothing_behind(url):
    with Store.open(url, redact=lambda text: text.replace("Joe", "J."), secrets=["hunter2-upstream"]) as store:
        store.write([record_of("Joe said hunter2-upstream", "Joe said so", query="What did Joe say?", id="a")])
        found = store.verdicts.get("a")
    assert "Joe" not in repr(found)
    assert "hunter2" not in repr(found)
    assert found.body["audit_trail"][0]["text"] == "J. said [redacted]"


def test_without_its_extra_the_history_says_what_to_install():
    code = (
        "import sys; sys.modules['sqlalchemy'] = None\n"
        "try:\n    import likewise.store\n"
        "except ImportError as problem:\n    print(type(problem).__name__, problem)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    expected = "MissingExtraError the history of verdicts needs an extra: pip install 'likewise[serve]'"
    assert answer.stdout.strip() == expected
