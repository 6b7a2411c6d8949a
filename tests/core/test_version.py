from __future__ import annotations

import importlib
import importlib.metadata

from likewise.core import version


def test_the_version_is_that_of_the_installed_distribution():
    assert importlib.metadata.version("likewise") == version.VERSION


def test_a_source_tree_that_was_never_installed_says_so(monkeypatch):
    def absent(name):
        raise importlib.metadata.PackageNotFoundError(name)

    with monkeypatch.context() as patch:
        patch.setattr(importlib.metadata, "version", absent)
        assert importlib.reload(version).VERSION == "0+unknown"
    importlib.reload(version)
