"""The version, read from the installed distribution: pyproject.toml is its only home."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

__all__ = ["VERSION"]

try:
    VERSION = version("likewise")
except PackageNotFoundError:  # run from a source tree that was never installed
    VERSION = "0+unknown"
