"""Which files are found; what `read_rollouts` makes of them is in test_registry.py."""

import pytest

from likewise.core.errors import RolloutFormatError
from likewise.formats.walk import SUFFIXES, find_files, labels


@pytest.fixture
def folder(tmp_path):
    for name in ("b.JSON", "a/x.jsonl.gz", "a/y.eval", "notes.txt", "z.json.GZ", "data.gz", "c.ndjson"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    return tmp_path


def test_suffixes_are_matched_without_case_and_through_compression(folder):
    found, warnings = find_files([folder], SUFFIXES)
    assert [path.relative_to(folder).as_posix() for path in found] == [
        "a/x.jsonl.gz",
        "b.JSON",
        "c.ndjson",
        "z.json.GZ",
    ]
    assert warnings == [f"{folder}: 3 files skipped, none of .json, .jsonl, .ndjson: data.gz, notes.txt, a/y.eval"]
    assert set(found.values()) == {True}


def test_a_format_may_ask_for_more_suffixes(folder):
    found, _ = find_files([folder], SUFFIXES | {".eval"})
    assert folder / "a" / "y.eval" in found


def test_a_named_file_is_found_whatever_its_suffix_and_counts_as_named(folder):
    found, warnings = find_files([folder / "notes.txt", folder, folder / "b.JSON"], SUFFIXES)
    assert found[folder / "notes.txt"] is False
    assert found[folder / "b.JSON"] is False
    assert found[folder / "c.ndjson"] is True
    assert len(warnings) == 1


def test_a_folder_without_a_file_of_those_suffixes_says_what_was_looked_for(tmp_path):
    (tmp_path / "a.txt").touch()
    with pytest.raises(RolloutFormatError, match=r"no rollout file in this folder \(looked for \.json, \.jsonl"):
        find_files([tmp_path], SUFFIXES)


def test_the_label_of_a_compressed_file_is_that_of_what_is_in_it(tmp_path):
    paths = [tmp_path / name for name in ("one.jsonl.gz", "two.jsonl", "two.jsonl.gz", "d/one.json")]
    assert list(labels(paths).values()) == [f"{tmp_path.name}/one", "two.jsonl", "two.jsonl.gz", "d/one"]


def test_lines_named_ndjson_and_packed_files_are_found_and_named_without_their_suffixes(tmp_path):
    names = ("a.ndjson", "b.NDJSON", "c.ndjson.gz", "d.jsonl.zst", "e.json.ZST")
    for name in (*names, "f.zst", "g.ndjson.bz2"):
        (tmp_path / name).write_text("{}")
    found, warnings = find_files([tmp_path], SUFFIXES)
    assert [path.name for path in found] == list(names)
    assert warnings[0].endswith(": f.zst, g.ndjson.bz2")
    assert list(labels(list(found)).values()) == ["a", "b", "c", "d", "e"]
