from __future__ import annotations

import os
import resource

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.backends.seen import SeenKeys
from likewise.core.errors import BackendError


def test_a_key_is_new_once():
    with SeenKeys() as seen:
        assert seen.add([b"a", b"b", b"a"]) == [True, True, False]
        assert seen.add([b"b", b"c"]) == [False, True]
        assert seen.add([]) == []


@given(st.lists(st.lists(st.binary(max_size=3), max_size=8), max_size=8))
def test_it_tells_what_a_set_tells(batches):
    known = set()
    with SeenKeys() as seen:
        for batch in batches:
            expected = []
            for key in batch:
                expected.append(key not in known)
                known.add(key)
            assert seen.add(batch) == expected


def test_nothing_of_it_has_a_name_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("SQLITE_TMPDIR", str(tmp_path))
    with SeenKeys() as seen:
        seen._connection.execute("PRAGMA cache_size = 1")  # so that it must write to disk
        seen.add([os.urandom(16) for _ in range(5000)])
        assert list(tmp_path.iterdir()) == []


def test_two_sets_know_nothing_of_each_other():
    with SeenKeys() as one, SeenKeys() as other:
        one.add([b"a"])
        assert other.add([b"a"]) == [True]


def test_a_full_disk_is_a_plain_error(monkeypatch):
    with SeenKeys() as seen:
        seen._connection.execute("PRAGMA max_page_count = 4")  # what SQLite says of a full disk
        with pytest.raises(BackendError, match=r"free the disk.*SQLITE_TMPDIR"):
            seen.add([os.urandom(16) for _ in range(5000)])


@pytest.mark.slow
def test_memory_is_that_of_the_cache_however_many_keys_there_are(monkeypatch):
    monkeypatch.setattr("likewise.backends.seen.CACHE_KIB", 8_192)
    with SeenKeys() as seen:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for start in range(0, 1_000_000, 2_000):
            seen.add([os.urandom(16) for _ in range(start, start + 2_000)])
        assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < 24
