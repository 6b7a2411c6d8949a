"""Where the `likewise` command starts: Ctrl-C is looked after before anything that takes time is imported."""

from __future__ import annotations

import sys

from likewise.cli.interrupts import CODE, listen

__all__ = ["run"]


def run() -> None:
    """Entry point of the `likewise` command."""
    try:
        listen()
        from likewise.cli.main import run as command

        command()
    except KeyboardInterrupt:  # between two phases; the command itself says more
        sys.exit(CODE)
