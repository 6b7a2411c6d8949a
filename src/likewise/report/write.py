"""A report is either wholly written or not at all."""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import shutil
import stat
from pathlib import Path
from typing import IO

__all__ = ["copy_atomically", "write_atomically"]


def write_atomically(path: str | Path, text: str) -> None:
    """Write a text as UTF-8 so that no reader ever sees half of it: temporary file beside it, fsync, rename.

    A symbolic link keeps pointing where it did. A device or pipe (`/dev/null`) is written to, not replaced.

    Args:
        path: File to make or replace; `-` is the caller's business.
        text: Its new content.

    Raises:
        FileNotFoundError: The folder does not exist.
        IsADirectoryError: The path is a folder.
        UnicodeEncodeError: The text holds lone surrogates; nothing was written.
    """
    copy_atomically(io.BytesIO(text.encode("utf-8")), path)


def copy_atomically(content: IO[bytes], path: str | Path) -> None:
    """Write what a file holds, from its start, in the way of `write_atomically`."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: the folder {target.parent} does not exist")
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder")
    content.seek(0)
    mode = target.stat().st_mode if target.exists() else None
    if mode is not None and not stat.S_ISREG(mode):
        with target.open("wb") as device:
            shutil.copyfileobj(content, device)
        return
    temporary = target.with_name(f".likewise-{secrets.token_hex(8)}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with os.fdopen(descriptor, "wb") as file:
            shutil.copyfileobj(content, file)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            with contextlib.suppress(PermissionError):
                temporary.chmod(stat.S_IMODE(mode))
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the rename last through a power cut, where the system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
