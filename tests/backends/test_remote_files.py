"""Files at addresses, with fsspec's own file system in memory; nothing is patched but what must be missing."""

from __future__ import annotations

import io
import sys

import fsspec
import pytest

from likewise.backends.remote_files import check_address, copied_here, is_address, open_address, publish
from likewise.core.errors import BackendError, MissingExtraError


@pytest.fixture
def bucket():
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()


def test_a_scheme_makes_an_address():
    assert is_address("s3://bucket/key")
    assert is_address("simplecache::s3://bucket/key")
    assert not is_address("runs/s3.json")
    assert not is_address("C:\\runs")


def test_what_lies_at_an_address_is_read(bucket):
    bucket.pipe("/b/x.jsonl", b"one\ntwo\n")
    with open_address("memory://b/x.jsonl") as file:
        assert file.readlines() == [b"one\n", b"two\n"]


def test_nothing_at_an_address_is_a_missing_file(bucket):
    with pytest.raises(FileNotFoundError):
        open_address("memory://b/none")


def test_a_copy_keeps_its_name_and_goes_with_the_context(bucket):
    bucket.pipe({"/b/1/runs.json": b"1", "/b/2/runs.json": b"2"})
    addresses = ["memory://b/1/runs.json", "memory://b/2/runs.json"]
    with copied_here(addresses) as copies:
        assert list(copies.values()) == addresses
        assert [path.name for path in copies] == ["runs.json", "runs.json"]
        assert [path.read_text() for path in copies] == ["1", "2"]
    assert not any(path.exists() for path in copies)


def test_what_is_published_is_there_whole(bucket):
    spool = io.BytesIO(b"x" * 3_000_000)
    spool.seek(17)
    publish(spool, "memory://b/out.jsonl")
    assert bucket.cat("/b/out.jsonl") == spool.getvalue()


def test_a_failed_publication_leaves_what_was_there(bucket):
    bucket.pipe("/b/out.jsonl", b"before")

    class Broken(io.BytesIO):
        def read(self, size=-1):
            raise OSError("the disk is gone")

    with pytest.raises(BackendError, match=r"memory://b/out\.jsonl: cannot be read or written \(the disk is gone\)"):
        publish(Broken(b"new"), "memory://b/out.jsonl")
    assert bucket.cat("/b/out.jsonl") == b"before"


def test_a_failure_while_reading_is_a_plain_error_that_names_the_address(bucket, monkeypatch):
    bucket.pipe("/b/x", b"x" * 10)
    file = open_address("memory://b/x")
    monkeypatch.setattr(file.raw._file, "read", lambda size: (_ for _ in ()).throw(TimeoutError("no answer")))
    with pytest.raises(BackendError, match=r"memory://b/x: .*no answer"):
        file.read()


@pytest.mark.parametrize("use", [open_address, check_address])
@pytest.mark.parametrize(("address", "word"), [("nowhere://x", "nowhere"), ("oci://bucket/key", "ocifs")])
def test_a_scheme_nobody_knows_or_whose_package_is_missing_is_refused(use, address, word):
    with pytest.raises(BackendError, match=rf"{address}: .*{word}"):
        use(address)


def test_an_address_that_can_be_written_passes_the_check_and_nothing_is_written(bucket):
    check_address("memory://b/new")
    assert not bucket.exists("/b/new")


def test_without_fsspec_the_pip_line_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'likewise\[remote\]'"):
        open_address("memory://b/x")
