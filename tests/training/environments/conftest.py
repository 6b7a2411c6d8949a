"""An interpreter that only pretends."""

import stat
import sys

import pytest

FAKE = """#!{python}
import json, os, sys
settings = json.load(sys.stdin)
with open({told!r}, "w") as file:
    json.dump({{"settings": settings, "environment": dict(os.environ), "arguments": sys.argv[1:]}}, file)
{rest}
"""


@pytest.fixture
def fake_python(tmp_path):
    """Make an interpreter that notes what it was asked in a file, and then does what `rest` says."""

    def _make(rest):
        file, told = tmp_path / "python", tmp_path / "told.json"
        file.write_text(FAKE.format(python=sys.executable, told=str(told), rest=rest), encoding="utf-8")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        return file, told

    return _make
