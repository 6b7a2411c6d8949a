"""Compressed files and archives from strangers: read in memory within limits, never unpacked to a disk.

A file can be made of a few bytes that unpack to all memory there is, so sizes are counted while unpacking; what the
archive says about its sizes is only the first of two checks.
"""

from __future__ import annotations

import copy
import gzip
import io
import stat
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Final, cast

from likewise.core.errors import RolloutFormatError
from likewise.core.paths import no_such_file

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = [
    "LIMITS",
    "UNPACKING",
    "ZIP",
    "Archive",
    "Limits",
    "open_archive",
    "packing",
    "shortened",
    "unpack",
    "unpacking",
    "unpacking_problem",
]

GZIP: Final = b"\x1f\x8b"
ZSTD: Final = b"\x28\xb5\x2f\xfd"
ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
"""What a file starts with: a zip with members, a zip without any."""

_PACKED: Final = (
    (ZIP, "a zip archive; unpack it and name the files in it"),
    (GZIP, "still packed with gzip once it was unpacked; unpack it first"),
    (ZSTD, "still packed with zstd once it was unpacked; unpack it first"),
    (b"BZh", "packed with bzip2, which is not read; unpack it, or pack it with gzip or zstd"),
    (b"\xfd7zXZ\x00", "packed with xz, which is not read; unpack it, or pack it with gzip or zstd"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive; unpack it and name the files in it"),
    (b"Rar!\x1a\x07", "a RAR archive; unpack it and name the files in it"),
)
"""What a file starts with that holds logs and is none itself, and what to do."""
_TAR: Final = (257, b"ustar")

_MIB: Final = 2**20
_BLOCK: Final = _MIB
_ZSTANDARD: Final = 93
_ENCRYPTED: Final = 0x1
_BROKEN: Final = (zipfile.BadZipFile, zlib.error, zstd.ZstdError, EOFError, OSError, ValueError, NotImplementedError)
UNPACKING: Final = (gzip.BadGzipFile, zlib.error, zstd.ZstdError, EOFError)
"""What a packed file raises while it is read that does not unpack."""
_LIBRARY: Final = (IndexError, KeyError, OverflowError, RuntimeError, UnicodeError)
"""What the zip library itself lets through on hostile bytes."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a compressed file may hold; beyond that it is refused.

    Attributes:
        entries: Members of an archive.
        member: Bytes that one member, or one compressed file, unpacks to.
        total: Bytes that all members together say they unpack to.
        ratio: Unpacked bytes for each packed one.
        free: Unpacked bytes up to which the ratio is not looked at: short files of blanks are no attack.
    """

    entries: int = 100_000
    member: int = 512 * _MIB
    total: int = 32 * 1024 * _MIB
    ratio: int = 250
    free: int = 64 * _MIB

    def problem(self, unpacked: int, packed: int) -> str | None:
        """Why so many bytes out of so few are refused; None where they are not."""
        if unpacked > self.member:
            return f"unpacks to more than {self.member // _MIB} MiB"
        if unpacked > self.free and unpacked > self.ratio * packed:
            return f"unpacks to more than {self.ratio} times its size"
        return None


LIMITS: Final = Limits()


def packing(head: bytes) -> str | None:
    """What a file is whose first bytes are those of an archive or of a packing that is not unpacked; else None."""
    if head[_TAR[0] :].startswith(_TAR[1]):
        return "a tar archive; unpack it and name the folder"
    return next((problem for start, problem in _PACKED if head.startswith(start)), None)


def unpacking(file: IO[bytes], head: bytes) -> IO[bytes] | zstd.ZstdFile | None:
    """A stream of what a file holds that was packed with gzip or zstd; None where its first bytes say that it was not.

    Args:
        file: The open file, at its start; it stays open when the stream is closed.
        head: Its first bytes, at least four where it has them.
    """
    if head.startswith(GZIP):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file))
    return zstd.ZstdFile(file) if head.startswith(ZSTD) else None


def unpack(file: IO[bytes] | zstd.ZstdFile, path: Path, size: int, limit: int = -1, limits: Limits = LIMITS) -> bytes:
    """Unpack a whole file, or its first `limit` bytes.

    Args:
        file: What `unpacking` gave; closed at the end.
        path: Its path, for errors.
        size: Its size in bytes.
        limit: Bytes to unpack; all where negative.
        limits: What is allowed.

    Raises:
        RolloutFormatError: Damaged or cut off, or more than the limits allow.
    """
    blocks: list[bytes] = []
    unpacked = 0
    try:
        with file as stream:
            while limit < 0 or unpacked < limit:
                block = stream.read(_BLOCK if limit < 0 else min(_BLOCK, limit - unpacked))
                if not block:
                    break
                blocks.append(block)
                unpacked += len(block)
                if problem := limits.problem(unpacked, size):
                    raise RolloutFormatError(str(path), f"the compressed file {problem}")
    except _BROKEN as error:
        if isinstance(error, RolloutFormatError):
            raise
        raise RolloutFormatError(str(path), unpacking_problem(error, unpacked)) from None
    return b"".join(blocks)


def unpacking_problem(error: Exception, unpacked: int) -> str:
    """What is wrong with a packed file, after how many bytes of what is in it."""
    where = f" after {unpacked:,} unpacked bytes" if unpacked else ""
    if isinstance(error, EOFError):
        return f"the compressed file ends too early{where}; it was cut off: copy or download it again"
    return f"starts like a compressed file but does not unpack{where} ({error}); it is damaged, or no compressed file"


@dataclass(frozen=True, slots=True)
class Archive:
    """An open zip file, all of whose members passed the checks of `open_archive`.

    Attributes:
        path: The file.
        names: Its members, folders left out, each once, in the order of the archive.
        repeated: Names that occur more than once; the last member of a name is the one that counts.
    """

    path: Path
    names: tuple[str, ...]
    repeated: tuple[str, ...]
    _zip: zipfile.ZipFile
    _limits: Limits

    def read(self, name: str) -> bytes:
        """Unpack one member.

        Raises:
            RolloutFormatError: The member is broken, or holds more than the limits allow or than it says.
        """
        try:
            info = self._zip.getinfo(name)
            data = self._unpack(info)
        except RolloutFormatError:
            raise
        except (*_BROKEN, *_LIBRARY) as error:
            raise self._error(name, f"does not unpack: {error}") from None
        if len(data) != info.file_size:
            raise self._error(name, "is not as long as the archive says")
        return data

    def _unpack(self, info: zipfile.ZipInfo) -> bytes:
        """Everything the member holds, checked against its checksum."""
        if info.compress_type != _ZSTANDARD:
            with self._zip.open(info) as stream:
                return self._drain(stream, info)
        stored = copy.copy(info)  # the packed bytes as they lie there: a member may be several zstd frames in a row
        stored.compress_type, stored.file_size = zipfile.ZIP_STORED, info.compress_size
        del stored.CRC  # that of the unpacked bytes
        with self._zip.open(stored) as packed, zstd.ZstdFile(io.BytesIO(packed.read())) as stream:
            data = self._drain(stream, info)
        if zlib.crc32(data) != info.CRC:
            raise self._error(info.filename, "does not unpack: wrong checksum")
        return data

    def _drain(self, stream: IO[bytes] | zstd.ZstdFile, info: zipfile.ZipInfo) -> bytes:
        blocks: list[bytes] = []
        unpacked = 0
        while block := stream.read(_BLOCK):
            blocks.append(block)
            unpacked += len(block)
            if unpacked > info.file_size:
                raise self._error(info.filename, "is not as long as the archive says")
            if problem := self._limits.problem(unpacked, info.compress_size):
                raise self._error(info.filename, problem)
        return b"".join(blocks)

    def _error(self, name: str, problem: str) -> RolloutFormatError:
        return RolloutFormatError(str(self.path), f"the member {shortened(name)!r} {problem}")


def shortened(name: str) -> str:
    """A member's name short enough for a message."""
    return name if len(name) <= 80 else f"{name[:77]}..."


@contextmanager
def open_archive(path: Path, limits: Limits = LIMITS) -> Iterator[Archive]:
    """Open a zip file after looking at every member.

    Nothing of it ever becomes a file; a member that would leave its folder, a link or an encrypted one is refused all
    the same, because an archive of logs has none.

    Raises:
        RolloutFormatError: Not a zip file, or one with a member that is refused; it says which and why.
    """
    try:
        archive = zipfile.ZipFile(path)
    except FileNotFoundError:
        raise RolloutFormatError(str(path), no_such_file(path)) from None
    except zipfile.BadZipFile as error:
        what = f"no whole zip file: cut off, damaged, or something else ({error}); copy or download it again"
        raise RolloutFormatError(str(path), what) from None
    except (*_BROKEN, *_LIBRARY) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise RolloutFormatError(str(path), f"cannot be read: {reason or error}") from None
    with archive:
        members = archive.infolist()
        if len(members) > limits.entries:
            raise RolloutFormatError(str(path), f"an archive of more than {limits.entries:,} members")
        for info in members:
            if problem := _unsafe(info) or limits.problem(info.file_size, info.compress_size):
                raise RolloutFormatError(str(path), f"the member {shortened(info.filename)!r} {problem}")
        if sum(info.compress_size for info in members) > path.stat().st_size:
            raise RolloutFormatError(str(path), "an archive whose members lie over each other")
        if sum(info.file_size for info in members) > limits.total:
            raise RolloutFormatError(str(path), f"the archive unpacks to more than {limits.total // _MIB} MiB")
        names = [info.filename for info in members if not info.is_dir()]
        counts: dict[str, int] = {}
        for name in names:
            counts[name] = counts.get(name, 0) + 1
        repeated = tuple(name for name, count in counts.items() if count > 1)
        yield Archive(path, tuple(counts), repeated, archive, limits)


def _unsafe(info: zipfile.ZipInfo) -> str | None:
    """What is wrong with a member before its bytes are looked at."""
    name = PurePosixPath(info.filename.replace("\\", "/"))
    if name.is_absolute() or ".." in name.parts or (name.parts and name.parts[0][1:2] == ":"):
        return "would leave the archive's folder"
    if stat.S_ISLNK(info.external_attr >> 16):
        return "is a symbolic link"
    if info.flag_bits & _ENCRYPTED:
        return "is encrypted"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTANDARD):
        return f"is packed by method {info.compress_type}, which is not read"
    return None
