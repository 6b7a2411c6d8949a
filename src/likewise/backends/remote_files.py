"""Files at addresses (s3://, gs://, memory://) through fsspec: read as a stream, written whole or not at all."""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, cast

from likewise.core.errors import BackendError, MissingExtraError

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

__all__ = ["check_address", "copied_here", "is_address", "open_address", "publish"]

_BLOCK = 2**20


def is_address(path: str) -> bool:
    """Whether a path names something that fsspec has to find: it has a scheme, as in `s3://bucket/key`."""
    return "://" in path


def _file_system(address: str) -> tuple[AbstractFileSystem, str]:
    """The file system of an address, and the address within it.

    Raises:
        MissingExtraError: fsspec is not installed.
        BackendError: fsspec does not know the scheme, lacks the package for it, or cannot use its settings.
    """
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise MissingExtraError(f"{address}: reading or writing at an address", "remote") from None
    try:
        return cast("tuple[AbstractFileSystem, str]", url_to_fs(address))
    except ImportError as error:  # names the package that is missing, s3fs for s3://
        raise BackendError(f"{address}: {error}") from None
    except Exception as error:  # each file system raises what its own library raises
        raise BackendError(f"{address}: cannot be used ({_said(error)})") from error


@contextmanager
def _plain_errors(address: str) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, BackendError, MissingExtraError, KeyboardInterrupt):
        raise
    except Exception as error:  # credentials, network, a full bucket: each in the words of its library
        raise BackendError(f"{address}: cannot be read or written ({_said(error)})") from error


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__


def check_address(address: str) -> None:
    """Look at an address before the work of which the result goes there.

    Raises:
        MissingExtraError: fsspec is not installed.
        BackendError: The scheme cannot be used, or the server refuses or does not answer.
    """
    system, path = _file_system(address)
    with _plain_errors(address):
        system.exists(path)


def open_address(address: str) -> IO[bytes]:
    """Open for reading.

    Raises:
        FileNotFoundError: There is nothing.
        MissingExtraError: fsspec is not installed.
        BackendError: It cannot be read.
    """
    system, path = _file_system(address)
    with _plain_errors(address):
        return cast("IO[bytes]", io.BufferedReader(_Readable(address, system.open(path, "rb")), _BLOCK))


class _Readable(io.RawIOBase):
    """A file of fsspec's whose failures while it is read are plain errors too."""

    def __init__(self, address: str, file: Any) -> None:  # noqa: ANN401 - fsspec has no type for what it opens
        self._address, self._file = address, file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - any writable buffer, as io.RawIOBase has it
        with _plain_errors(self._address):
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


@contextmanager
def copied_here(addresses: Sequence[str]) -> Iterator[dict[Path, str]]:
    """Copies of files at addresses in a folder that goes with the context: for readers that want paths.

    Yields:
        Path of the copy -> its address. A copy keeps its name, in a folder of its own.

    Raises:
        FileNotFoundError: There is nothing.
        MissingExtraError: fsspec is not installed.
        BackendError: It cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="likewise-") as folder:
        copies: dict[Path, str] = {}
        for number, address in enumerate(addresses):
            place = Path(folder, str(number))
            place.mkdir()
            copy = place / (PurePosixPath(address.split("://", 1)[1]).name or "file")
            with open_address(address) as source, copy.open("wb") as target:
                shutil.copyfileobj(source, target, _BLOCK)
            copies[copy] = address
        yield copies


def publish(spool: IO[bytes], address: str) -> None:
    """Write what a local file holds to an address; what was there before stays until all of it is.

    Args:
        spool: Read from its start.
        address: Where to.

    Raises:
        MissingExtraError: fsspec is not installed.
        BackendError: It cannot be written.
    """
    system, path = _file_system(address)
    spool.seek(0)
    with _plain_errors(address), system.transaction, system.open(path, "wb") as target:
        shutil.copyfileobj(spool, target, _BLOCK)
