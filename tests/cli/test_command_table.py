import re
import subprocess
import sys
from importlib import import_module
from typing import ClassVar

import pytest
import typer
from typer.main import get_command

from likewise.cli.command_table import Entry, TableGroup
from likewise.cli.main import app

LOADED = """
import sys
from likewise.cli.main import app
try:
    app({words!r})
except SystemExit:
    pass
print(*sorted(name for name in sys.modules if name.startswith("likewise.")))
"""
ALWAYS = {"likewise.cli", "likewise.cli.main", "likewise.cli.command_table", "likewise.cli.usage"}


def loaded_by(*words):
    """Our modules that a command line loads, in a fresh interpreter."""
    code = LOADED.format(words=list(words))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return set(done.stdout.splitlines()[-1].split())


@pytest.fixture(scope="module")
def group():
    return get_command(app)


def test_help_of_the_program_loads_no_command():
    assert loaded_by("--help") == ALWAYS


def test_help_of_one_command_loads_that_command_and_no_other(group):
    modules = {entry.place.partition(":")[0] for entry in group.table.values()}
    assert len(modules) > 20
    assert loaded_by("formats", "--help") & modules == {"likewise.cli.formats"}


def test_a_mistyped_command_loads_none():
    assert loaded_by("reprot") == ALWAYS


def test_every_entry_leads_to_a_command_of_its_name(group):
    for name, entry in group.table.items():
        module, _, attribute = entry.place.partition(":")
        assert hasattr(import_module(module), attribute), name
        command = group.commands[name]
        assert (command.name, command.short_help) == (name, entry.says)
        assert group.commands[name] is command  # made once


def test_the_line_of_each_command_is_a_short_sentence(group):
    unlike = [name for name, entry in group.table.items() if not re.fullmatch(r"[A-Z].{10,60}\.", entry.says)]
    assert unlike == []


def test_a_group_of_commands_keeps_its_own(group):
    assert list(group.commands["keys"].commands) == ["create", "list", "revoke"]


def test_a_word_that_is_none_is_no_command(group):
    assert group.commands.get("nothing") is None
    with pytest.raises(KeyError):
        group.commands["nothing"]


def test_a_command_may_be_added_and_taken_away():
    class Own(TableGroup):
        table: ClassVar = {"formats": Entry("likewise.cli.formats:formats", "List.")}

    own = Own(name="own")
    made = get_command(typer_of(lambda: None))
    own.add_command(made, "formats")
    assert own.commands["formats"] is made
    del own.commands["formats"]
    assert own.commands["formats"] is not made
    assert (list(own.commands), len(own.commands)) == (["formats"], 1)


def typer_of(function):
    single = typer.Typer()
    single.command("other")(function)
    return single
