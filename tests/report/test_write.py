import os
import stat

import pytest

from likewise.report.write import write_atomically


def test_writes_and_replaces(tmp_path):
    path = tmp_path / "report.html"
    write_atomically(path, "één\n")
    write_atomically(str(path), "two")
    assert path.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["report.html"]


@pytest.mark.parametrize("failure", [OSError("disk full"), KeyboardInterrupt()])
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, call, failure):
    path = tmp_path / "report.json"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(type(failure)):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.json"]


def test_a_text_that_cannot_be_encoded_leaves_the_old_file(tmp_path):
    path = tmp_path / "report.json"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "lone \ud800")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.json"]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"the folder .*missing does not exist"):
        write_atomically(tmp_path / "missing" / "report.html", "x")


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        write_atomically(tmp_path, "x")


def test_a_link_keeps_pointing_where_it_did(tmp_path):
    (tmp_path / "real.html").write_text("old")
    (tmp_path / "link.html").symlink_to(tmp_path / "real.html")
    write_atomically(tmp_path / "link.html", "new")
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "real.html").read_text() == "new"


def test_mode_follows_the_old_file_or_the_umask(tmp_path):
    path = tmp_path / "report.html"
    mask = os.umask(0o027)
    try:
        write_atomically(path, "x")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        write_atomically(path, "y")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


def test_a_device_is_written_to_and_not_replaced(tmp_path):
    write_atomically("/dev/null", "x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
