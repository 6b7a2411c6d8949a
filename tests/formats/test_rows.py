import csv
import datetime
import decimal
import gzip
import sys

import pytest

from likewise.core.errors import MissingExtraError, RolloutFormatError
from likewise.formats.rows import delimiter_of, read_records


def values(path):
    return [value for value, _, _ in read_records(path).values]


def test_a_csv_file_is_read_row_by_row_with_quotes_line_breaks_and_a_byte_order_mark(write):
    text = '\ufeffq,a\r\n1,"two\nlines, and a ""quote"""\r\n\r\n2,x\r\n'
    found = read_records(write("t.csv", text))
    assert found.values == [({"q": "1", "a": 'two\nlines, and a "quote"'}, 2, ""), ({"q": "2", "a": "x"}, 5, "")]
    assert found.excluded == []


@pytest.mark.parametrize(
    ("header", "mark"), [("a,b", ","), ("a;b", ";"), ("a\tb", "\t"), ("a|b", "|"), ('"a;b",c', ",")]
)
def test_the_mark_between_cells_is_read_off_the_header(header, mark):
    assert delimiter_of(header + "\n1,2;3") == mark


def test_a_tsv_file_is_parted_by_tabs_whatever_its_header(write):
    assert values(write("t.tsv", "a,b\tc\n1\t2\n")) == [{"a,b": "1", "c": "2"}]


def test_a_row_of_another_length_is_excluded_with_its_line(write):
    found = read_records(write("t.csv", "a,b\n1\n1,2,3\n4,5\n"))
    assert [value for value, _, _ in found.values] == [{"a": "4", "b": "5"}]
    assert [(item.line, item.reason) for item in found.excluded] == [
        (2, "a row of 1 cells (expected 2, as in the header)"),
        (3, "a row of 3 cells (expected 2, as in the header)"),
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a,b\n", "a table without rows"),
        ("a,a\n1,2\n", "two columns are called 'a'"),
        ('a,b\n1,"open\n', "not a table"),
        ('a,b\n1,"x"y\n', "not a table"),
        (b"a,b\n1,\xe9\n", "not UTF-8: byte 0xe9 .save the table as UTF-8"),
    ],
)
def test_what_is_no_table_is_an_error(write, text, problem):
    with pytest.raises(RolloutFormatError, match=problem):
        read_records(write("t.csv", text))


def test_a_cell_longer_than_the_csv_module_likes_is_read_and_its_limit_left_as_it_was(write):
    before = csv.field_size_limit()
    (row,) = values(write("t.csv", f"a,b\n{'x' * 500_000},y\n"))
    assert len(row["a"]) == 500_000
    assert csv.field_size_limit() == before


def test_a_compressed_table_is_unpacked(write):
    assert values(write("t.csv.gz", gzip.compress(b"a,b\n1,2\n"))) == [{"a": "1", "b": "2"}]


def test_json_and_json_lines_are_values(write):
    assert values(write("t.json", '[{"a": 1}]')) == [[{"a": 1}]]
    assert values(write("t.jsonl", '{"a": 1}\n{"a": 2}\n')) == [{"a": 1}, {"a": 2}]


def parquet(path, columns):
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.table(columns), path)
    return path


def test_a_parquet_file_is_read_with_its_types_as_json_has_them(tmp_path):
    day = datetime.datetime(2026, 1, 2, 3, 4, 5)
    columns = {"q": ["a"], "n": [1], "f": [0.5], "none": [None], "list": [["x", "y"]], "map": [{"k": 1}]}
    columns |= {"day": [day], "money": [decimal.Decimal("1.50")], "raw": [b"\xc3\xa9"]}
    assert values(parquet(tmp_path / "t.parquet", columns)) == [
        {
            **{"q": "a", "n": 1, "f": 0.5, "none": None, "list": ["x", "y"], "map": {"k": 1}},
            **{"day": "2026-01-02T03:04:05", "money": 1.5, "raw": "é"},
        }
    ]


def test_parquet_is_known_by_its_bytes_and_its_rows_are_numbered(tmp_path):
    path = parquet(tmp_path / "t.parquet", {"q": ["a"] * 200}).rename(tmp_path / "t.bin")
    found = read_records(path)
    assert [pointer for _, _, pointer in found.values] == [f"/{n}" for n in range(200)]


def test_a_parquet_file_that_is_none_is_said_to_be_none(write):
    with pytest.raises(RolloutFormatError, match="not a Parquet file"):
        read_records(write("t.parquet", b"\x9f\x00 random bytes"))


@pytest.mark.parametrize("content", [b"PAR1", b"PAR1" + b"\x00" * 5000, b"PAR1" + b"x" * 50 + b"PAR1"])
def test_a_broken_parquet_file_is_an_error(write, content):
    with pytest.raises(RolloutFormatError, match="a Parquet file that cannot be read"):
        read_records(write("t.parquet", content))


def test_a_parquet_table_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    from likewise.formats import rows
    from likewise.formats.compressed import Limits

    path = parquet(tmp_path / "t.parquet", {"q": ["a" * 1_000] * 500})
    monkeypatch.setattr(rows, "LIMITS", Limits(member=10_000))
    with pytest.raises(RolloutFormatError, match="unpacks to more than"):
        read_records(path)


def test_without_pyarrow_the_pip_line_is_named(tmp_path, monkeypatch):
    path = parquet(tmp_path / "t.parquet", {"q": ["a"]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        MissingExtraError, match=r"reading a Parquet table needs an extra: pip install 'likewise\[parquet\]'"
    ):
        read_records(path)
