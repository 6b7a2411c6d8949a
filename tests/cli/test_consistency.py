"""One spelling, one meaning: what all commands share is looked up in the commands themselves."""

from collections import defaultdict

import pytest
from typer.main import get_command

from likewise.cli.main import app


def commands(group=None, before=()):
    """(words, command) of every command, those of groups included."""
    for name, command in (group or get_command(app)).commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*before, name))
        else:
            yield " ".join((*before, name)), command


ALL = dict(commands())
OPTIONS = {
    name: {spelling: option for option in command.params for spelling in option.opts if spelling.startswith("-")}
    for name, command in ALL.items()
}
READS_RUNS = {name for name, command in ALL.items() if any(option.metavar == "RUNS" for option in command.params)}
PAIRLESS = {"doctor", "grade"}  # they keep what was answered too, but judge no pairs: what settles pairs is not theirs
JUDGES = {name for name, options in OPTIONS.items() if "--store" in options} - PAIRLESS

MEANINGS = {
    "--debug": {"flag"},
    "--quiet": {"flag"},
    "--strict": {"flag"},
    "--pool": {"flag"},
    "--no-store": {"flag"},
    "--soft": {"flag"},
    "--swap": {"flag"},
    "--force": {"flag"},
    "--json": {"flag", "FILE"},  # a flag where a command has one thing to print; a file among --html, --markdown, ...
    "--html": {"FILE"},
    "--markdown": {"FILE"},
    "--junit": {"FILE"},
    "--out": {"FILE", "FOLDER"},
    "--store": {"FILE"},
    "--map": {"FILE"},
    "--tools": {"FILE"},
    "--config": {"FILE"},
    "--database": {"URL"},
    "--judge": {"NAME"},
    "--judge-url": {"URL"},
    "--encoder": {"NAME"},
    "--encoder-url": {"URL"},
    "--format": {"NAME"},
    "--gamma": {"NUMBER"},
    "--seed": {"NUMBER"},
    "--parallel": {"NUMBER"},
    "--timeout": {"NUMBER"},
    "--max-cost": {"NUMBER"},
}
DEFAULTS = {"--gamma": 0.8, "--seed": 0, "--judge": "embedded", "--encoder": "embedded"}
HELP_DIFFERS = {
    "--config": {"serve"},  # the service has settings of its own, of another form
    "--gamma": {"judge-eval"},  # of the error bands
    "--judge": {"grade"},  # a chat model only
    "--parallel": {"run"},  # questions, where others have requests
}
BESIDE_FILES = ("--html", "--markdown", "--latex", "--csv", "--junit")


def form(option):
    return "flag" if option.is_flag else option.metavar


@pytest.mark.parametrize("name", ALL)
def test_every_command_has_debug_and_a_first_line_that_is_a_sentence(name):
    assert "--debug" in OPTIONS[name]
    assert ALL[name].help.splitlines()[0].endswith((".", ":", "?"))


@pytest.mark.parametrize("name", ALL)
def test_every_option_has_a_help_line_that_is_a_sentence(name):
    unlike = [spelling for spelling, option in OPTIONS[name].items() if not (option.help or "").endswith(".")]
    assert [spelling for spelling in unlike if spelling not in ("--help", "-h")] == []


@pytest.mark.parametrize("spelling", MEANINGS)
def test_an_option_has_one_form_wherever_it_occurs(spelling):
    found = defaultdict(list)
    for name, options in OPTIONS.items():
        if spelling in options:
            found[form(options[spelling])].append(name)
    assert found, "no command has it"
    assert found.keys() <= MEANINGS[spelling], dict(found)


@pytest.mark.parametrize("spelling", DEFAULTS)
def test_an_option_has_one_default(spelling):
    found = {options[spelling].default for name, options in OPTIONS.items() if spelling in options and name != "grade"}
    assert found == {DEFAULTS[spelling]}


def test_json_is_a_file_just_where_other_faces_are():
    for name, options in OPTIONS.items():
        if "--json" in options:
            has_faces = any(spelling in options for spelling in BESIDE_FILES)
            assert form(options["--json"]) == ("FILE" if has_faces else "flag"), name


@pytest.mark.parametrize("name", sorted(READS_RUNS))
def test_every_command_that_reads_runs_takes_format_map_and_strict(name):
    assert {"--format", "--map", "--strict"} <= OPTIONS[name].keys()


@pytest.mark.parametrize("name", sorted(JUDGES))
def test_every_command_that_judges_has_all_options_of_judges(name):
    wanted = {"--judge", "--judge-url", "--parallel", "--timeout", "--answer-tokens", "--swap", "--max-cost"}
    wanted |= {"--input-price", "--output-price", "--sure-from", "--store", "--no-store", "--config", "--tools"}
    assert wanted <= OPTIONS[name].keys()


def test_grading_takes_all_options_of_a_chat_model_that_costs_money():
    wanted = {"--judge", "--judge-url", "--parallel", "--timeout", "--answer-tokens", "--max-cost", "--input-price"}
    assert wanted | {"--output-price", "--store", "--no-store"} <= OPTIONS["grade"].keys()


def test_short_spellings_mean_the_same_everywhere():
    for short, long in (("-q", "--quiet"), ("-o", "--out"), ("-k", "--runs")):
        for name, options in OPTIONS.items():
            if short in options:
                assert long in options[short].opts, name
    for name, options in OPTIONS.items():
        assert ("--out" in options) == ("-o" in options), name
        assert ("--quiet" in options) == ("-q" in options), name
