"""Takes away the PostgreSQL that make test-service has started, and brings it back."""

from __future__ import annotations

import os
import subprocess


def control(*arguments):
    """Stop or start it, as pg_ctl understands it."""
    binaries, data = os.environ["LIKEWISE_TEST_POSTGRES_BIN"], os.environ["LIKEWISE_TEST_POSTGRES_DATA"]
    command = [f"{binaries}/pg_ctl", "-D", data, "-w", "-t", "60", *arguments]
    if os.getuid() == 0:
        command = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups", *command]
    subprocess.run(command, check=True, cwd="/", stdout=subprocess.DEVNULL, timeout=90)
