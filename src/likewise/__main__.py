"""`python -m likewise`, for where the command is not on the path."""

from __future__ import annotations

from likewise.cli.start import run

if __name__ == "__main__":
    run()
