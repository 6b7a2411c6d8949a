import pytest

from likewise.core.paths import no_such_file


def test_a_slip_of_the_finger_is_answered_with_the_name_that_is_there(tmp_path):
    (tmp_path / "airline.json").touch()
    assert no_such_file(tmp_path / "arline.json") == f"no such file (did you mean '{tmp_path}/airline.json'?)"


@pytest.mark.parametrize("name", ["retail.json", "x.json", "summary.json"])
def test_a_name_that_shares_little_but_its_suffix_is_not_suggested(tmp_path, name):
    (tmp_path / "airline.json").touch()
    assert no_such_file(tmp_path / name) == "no such file"


@pytest.mark.parametrize("pattern", ["*.json", "run?.json", "run[12].json"])
def test_a_pattern_that_reached_us_was_quoted_or_fits_nothing(tmp_path, pattern):
    said = no_such_file(tmp_path / pattern)
    assert said.startswith("no such file: nothing fits this pattern, or it stands in quotes")


def test_a_missing_folder_is_named(tmp_path):
    assert no_such_file(tmp_path / "no" / "a.json") == f"no such file: there is no folder {tmp_path}/no"


def test_a_link_that_leads_nowhere_is_told_from_a_wrong_name(tmp_path):
    (tmp_path / "b.json").symlink_to("gone.json")
    assert no_such_file(tmp_path / "b.json") == "no such file: a link that leads to gone.json, which is not there"


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b"])
def test_a_name_that_no_file_can_have_is_no_fault(name):
    assert no_such_file(name) == "no such file"


def test_a_folder_of_many_files_is_not_read_to_its_end(tmp_path, monkeypatch):
    for name in ("aaaa.json", "bbbb.json"):
        (tmp_path / name).touch()
    monkeypatch.setattr("likewise.core.paths.LOOKED_AT", 0)
    assert no_such_file(tmp_path / "aaab.json") == "no such file"
