import sys

import pytest

from likewise.core.file_lock import hold

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such lock")


def test_a_second_holder_is_told_why_until_the_first_has_closed_the_file(tmp_path):
    path = tmp_path / "log.jsonl"
    with path.open("a") as second:
        with path.open("a") as first:
            hold(first, path, "another is at it")
            with pytest.raises(BlockingIOError, match="another is at it") as caught:
                hold(second, path, "another is at it")
            assert caught.value.filename == str(path)
        hold(second, path, "another is at it")


def test_files_of_other_names_do_not_stand_in_each_others_way(tmp_path):
    with (tmp_path / "a").open("a") as a, (tmp_path / "b").open("a") as b:
        hold(a, tmp_path / "a", "held")
        hold(b, tmp_path / "b", "held")
