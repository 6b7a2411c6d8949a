from __future__ import annotations

import gzip
import io
import json
import sys
import tracemalloc

import pytest

from likewise.core.errors import RolloutFormatError
from likewise.formats import text_pairs
from likewise.formats.text_pairs import FIELDS, KEPT_EXCLUSIONS, TextPairFile, pair_fields

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def opened(data):
    return lambda: io.BytesIO(data)


def a_file(*lines, **more):
    data = b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    return TextPairFile("p.jsonl", opened(data), **more)


@pytest.mark.parametrize("names", FIELDS)
def test_each_spelling_of_a_pair_is_read(names):
    row = {names[0]: "Yes.", names[1]: "No.", "label": "x"}
    assert list(a_file(row)) == [("Yes.", "No.", 1)]
    assert pair_fields("p", a_file(row).open) == names


def test_lines_are_counted_from_one_and_blank_ones_say_nothing():
    file = a_file(b"", {"a": "1", "b": "2"}, b"  \t", {"a": "3", "b": "4"}, b"")
    assert list(file) == [("1", "2", 2), ("3", "4", 4)]
    assert file.count_lines() == 2
    assert file.excluded_lines == 0


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd.compress])
def test_a_file_may_be_packed_and_start_with_a_byte_order_mark(pack):
    data = pack(b'\xef\xbb\xbf{"a": "\xc3\xa4", "b": "\xf0\x9f\x98\x80"}\r\n')
    assert list(TextPairFile("p", opened(data))) == [("ä", "😀", 1)]


def test_a_file_can_be_read_again_and_counts_anew():
    file = a_file(b"{", {"a": "1", "b": "2"})
    assert list(file) == list(file)
    assert file.excluded_lines == 1


BAD = {
    b"{": "not JSON",
    b"[1]": "not an object",
    b'"text"': "not an object",
    b"17": "not an object",
    b'{"a": "x"}': "without a pair",
    b'{"a": "x", "b": 3}': "b is not a string",
    b'{"a": null, "b": "x"}': "a is not a string",
    b'{"a": "\xff", "b": "x"}': "not UTF-8: byte 0xff",
    b"[" * 100_000: "JSON nested too deeply",
    b'{"a": ' + b"1" * 5000 + b', "b": "x"}': "an integer of 5,000 digits",
}


@pytest.mark.parametrize(("line", "reason"), BAD.items(), ids=BAD.values())
def test_a_line_without_a_pair_is_excluded_with_its_reason_or_refused(line, reason):
    file = a_file({"a": "1", "b": "2"}, line, {"a": "3", "b": "4"})
    assert [number for *_, number in file] == [1, 3]
    (excluded,) = file.excluded
    assert reason in excluded.reason
    assert (excluded.path, excluded.line) == ("p.jsonl", 2)
    file.strict = True
    with pytest.raises(RolloutFormatError, match=r"p\.jsonl, line 2: .*expected an object with action_a and action_b"):
        list(file)


def test_a_line_too_long_is_excluded_and_the_next_one_read(monkeypatch):
    monkeypatch.setattr(text_pairs, "MAX_LINE", 40)
    file = a_file({"a": "x" * 200, "b": "y"}, {"a": "1", "b": "2"}, {"a": "x" * 100, "b": "y"})
    assert list(file) == [("1", "2", 2)]
    assert [excluded.line for excluded in file.excluded] == [1, 3]
    assert "over 40 bytes" in file.excluded[0].reason


def test_many_bad_lines_are_counted_and_the_first_kept():
    file = a_file(*[b"?"] * (KEPT_EXCLUSIONS + 7), {"a": "1", "b": "2"})
    list(file)
    assert (len(file.excluded), file.excluded_lines) == (KEPT_EXCLUSIONS, KEPT_EXCLUSIONS + 7)


def test_a_file_without_any_pair_is_an_error_that_quotes_the_first_reason():
    with pytest.raises(RolloutFormatError, match=r"line 1: no pair of texts.*not JSON"):
        list(a_file(b"hello", b"world"))
    with pytest.raises(RolloutFormatError, match="the file is empty"):
        list(a_file(b"\n\n"))


def test_a_packed_file_that_ends_too_early_is_an_error_after_what_could_be_read():
    packed = gzip.compress(b"".join(b'{"a": "%d", "b": "x"}\n' % i for i in range(50_000)))
    read = iter(TextPairFile("p.gz", opened(packed[: len(packed) // 2])))
    assert next(read) == ("0", "x", 1)
    with pytest.raises(RolloutFormatError, match=r"line \d+: the compressed file ends too early; it was cut off"):
        list(read)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(RolloutFormatError, match="no such file"):
        list(TextPairFile("x", (tmp_path / "x").open))
    with pytest.raises(RolloutFormatError, match="Is a directory"):
        list(TextPairFile("x", lambda: tmp_path.open("rb")))


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b'{"schema": "likewise.rollout/1", "task_id": "t"}', None),
        (b'[{"task_id": 1}]', None),
        (b"hello", None),
        (b"", None),
        (b'?\n{"premise": "a", "hypothesis": "b"}', ("premise", "hypothesis")),
        (b'{"action_a": "x", "action_b": "y", "a": 1, "b": 2}', ("action_a", "action_b")),
        (b'{"a": 1}', None),
    ],
)
def test_a_file_of_pairs_is_told_from_others_by_its_first_object(head, expected):
    assert pair_fields("p", opened(head)) == expected


def test_a_packed_file_of_blanks_takes_no_memory():
    bomb = gzip.compress(b"\n" * 500_000)
    tracemalloc.start()
    try:
        assert TextPairFile("p", opened(bomb)).count_lines() == 0
        assert tracemalloc.get_traced_memory()[1] < 400_000
    finally:
        tracemalloc.stop()
