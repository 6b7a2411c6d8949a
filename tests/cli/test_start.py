import subprocess
import sys

CODE = """
import sys
from likewise.cli import start
print(*(name for name in ("typer", "likewise.cli.main", "numpy") if name in sys.modules), "loaded before listening")
sys.argv = ["likewise", "--version"]
start.run()
"""


def test_interrupts_are_listened_to_before_anything_that_takes_time_is_imported():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True, timeout=60)
    loaded, version = done.stdout.splitlines()
    assert loaded == "loaded before listening"
    assert version.startswith("likewise ")


def test_an_interrupt_while_commands_are_imported_shows_no_traceback():
    """A module that takes long to import, in place of one of ours."""
    code = """
import signal, sys


class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            signal.raise_signal(signal.SIGINT)


sys.meta_path.insert(0, Finder())
from likewise.cli.start import run
run()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "likewise: interrupted\n")


def test_the_package_itself_is_a_command_where_the_script_is_not_on_the_path():
    module = [sys.executable, "-m", "likewise", "--version"]
    done = subprocess.run(module, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith("likewise ")


def test_help_lists_every_command_although_it_loads_none(likewise):
    from typer.main import get_command

    from likewise.cli.main import app

    listed = likewise("--help").stdout
    names = list(get_command(app).commands)
    assert len(names) > 20
    assert [name for name in names if f"\n  {name} " not in listed] == []
