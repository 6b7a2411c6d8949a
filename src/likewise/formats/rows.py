"""Tables and lists of plain records into JSON objects: CSV, TSV, Parquet, JSON, JSON Lines."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from likewise.core.errors import MissingExtraError, RolloutFormatError
from likewise.core.rollout import Excluded, JsonValue
from likewise.formats.compressed import LIMITS
from likewise.formats.files import Lines, read_bytes, read_head, read_values
from likewise.formats.walk import unpacked_name

__all__ = ["PARQUET", "SUFFIXES", "delimiter_of", "read_records"]

SUFFIXES: Final = (".csv", ".tsv", ".parquet")
PARQUET: Final = "PAR1"
"""What a Parquet file starts with."""

_DELIMITERS: Final = ",;\t|"
_LONGEST_CELL: Final = 64 * 2**20
_ROWS_AT_ONCE: Final = 64


def read_records(path: Path) -> Lines:
    """The records of a file: rows of a table, or JSON values (a JSON list is one value).

    Raises:
        RolloutFormatError: The file cannot be read as what it seems to be.
        MissingExtraError: A Parquet file, and the package that reads it is not installed.
    """
    head = read_head(path)
    if head.startswith(PARQUET):
        return _read_parquet(path)
    suffix = Path(unpacked_name(path.name)).suffix.lower()
    if suffix == ".parquet":
        raise RolloutFormatError(
            str(path), "not a Parquet file (it does not begin with PAR1); name it after what it is"
        )
    if head.lstrip()[:1] in ("{", "["):
        return read_values(path)
    return _read_csv(path, "\t" if suffix == ".tsv" else delimiter_of(head))


def delimiter_of(head: str) -> str:
    """What parts the cells of a table: the mark that makes the most of its header."""
    line = head.lstrip().partition("\n")[0]
    return max(_DELIMITERS, key=lambda mark: (len(_header(line, mark)), mark == ","))


def _header(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


@contextmanager
def _long_cells() -> Iterator[None]:
    """Texts of agents are longer than what the csv module takes for a mistake; its limit is one of the process."""
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _read_csv(path: Path, delimiter: str) -> Lines:
    data = read_bytes(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"not UTF-8: byte 0x{data[error.start]:02x} (save the table as UTF-8)"
        raise RolloutFormatError(str(path), problem, line=line) from None
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    found = Lines([], [])
    with _long_cells():
        try:
            names = next(reader, [])
            _check_names(names, path)
            start = reader.line_num + 1
            for row in reader:
                if row and len(row) != len(names):
                    problem = f"a row of {len(row)} cells (expected {len(names)}, as in the header)"
                    found.excluded.append(Excluded(None, None, problem, str(path), start))
                elif row:
                    found.values.append((dict(zip(names, row, strict=True)), start, ""))
                start = reader.line_num + 1
        except csv.Error as error:
            raise RolloutFormatError(str(path), f"not a table: {error}", line=reader.line_num) from None
    if not found.values and not found.excluded:
        raise RolloutFormatError(str(path), "a table without rows")
    return found


def _check_names(names: list[str], path: Path) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise RolloutFormatError(str(path), f"two columns are called {repeated[0]!r}", line=1)


def _read_parquet(path: Path) -> Lines:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("reading a Parquet table", "parquet") from None
    found = Lines([], [])
    try:
        with parquet.ParquetFile(path) as file:
            groups = [file.metadata.row_group(index) for index in range(file.metadata.num_row_groups)]
            if sum(group.total_byte_size for group in groups) > LIMITS.member:
                raise RolloutFormatError(str(path), f"the table unpacks to more than {LIMITS.member // 2**20} MiB")
            row = size = 0
            for batch in file.iter_batches(_ROWS_AT_ONCE):
                size += batch.nbytes
                if size > LIMITS.member:
                    raise RolloutFormatError(str(path), f"the table unpacks to more than {LIMITS.member // 2**20} MiB")
                for record in batch.to_pylist():
                    found.values.append((_plain(record), None, f"/{row}"))
                    row += 1
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        if isinstance(error, RolloutFormatError):
            raise
        raise RolloutFormatError(str(path), f"a Parquet file that cannot be read: {error}") from None
    if not found.values:
        raise RolloutFormatError(str(path), "a table without rows")
    return found


def _plain(value: Any) -> JsonValue:  # noqa: ANN401 - whatever a column holds
    """A cell as JSON has it."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value.total_seconds()) if isinstance(value, timedelta) else str(value)
