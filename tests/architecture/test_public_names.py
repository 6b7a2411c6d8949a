"""What others may build on, frozen: a change here is a change of the interface, and belongs in the changelog.

Names of Python with their parameters (`name=` has a default, after `*` by name only), commands, exit codes, and the
schemas of JSON.
"""

import inspect
import re
from pathlib import Path

import pytest
from typer.main import get_command

import likewise
from likewise.cli.errors import ExitCode
from likewise.cli.main import app

SRC = Path(__file__).parents[2] / "src" / "likewise"

PARAMETERS = {
    "Endpoint": "model url= * system= structured= parameters= key_variable= by_n=",
    "Estimate": "value low= high= stderr= n= reason=",
    "Monitor": "model policy=",
    "RSDModel": "checkpoint encoder=",
    "RSDReward": "model * encoder= normalised= last=",
    "ReliabilityLayer": (
        "runs= mode= * policy= escalate_threshold= error= budget_runs= critical_threshold= tv= handling= running= "
        "judge= encoder= tool_rules= rules="
    ),
    "Rollout": ("task_id run_id turns stop= reward= success= problem= path= notes= meta= last_observations="),
    "RolloutGroup": "task_id rollouts",
    "Verdict": (
        "query answer decision reasons label measurement records remediation_report metadata= consensus_answer= "
        "grounding="
    ),
    "compare": "base candidate * deciding= k= between= confidence= power= resamples= seed= warnings=",
    "evaluate": (
        "rollouts * judge= encoder= rules= store= options= resamples= seed= progress= pool= uncertain_below= excluded= "
        "warnings= files="
    ),
    "fit_rsd": "rollouts * options= soft= judge= encoder= rules= store= progress= pool= demo=",
    "group_rollouts": "rollouts",
    "label_pairs": "group * judge rules= store= progress=",
    "monte_carlo_rsd": "turn_distance pairs n_rollouts gamma confidence= largest=",
    "pass_at_k": "successes attempts k",
    "pass_hat_k": "successes attempts k",
    "read_rollouts": "paths * format= mapping= strict= progress=",
    "score_group": "group labels * alignments= found= encoder= options= rules=",
    "total_variance": "vectors",
    "write_rollouts": "path rollouts",
}
WITHOUT_PARAMETERS = {"LengthPolicy", "__version__"}

COMMANDS = {
    "report", "run", "check", "compare", "tables", "grade", "predict", "plan", "fit", "score", "calibrate", "inspect",
    "formats", "convert", "tools", "label", "doctor", "serve", "keys", "db", "train", "collect", "judge-eval",
}  # fmt: skip

EXIT_CODES = {
    "FINE": 0,
    "THRESHOLD": 1,
    "USAGE": 2,
    "INPUT": 3,
    "BACKEND": 4,
    "INTERNAL": 70,
    "INTERRUPTED": 130,
}

SCHEMAS = {
    "calibrate", "collected", "compare", "doctor", "fit", "formats", "inspect", "judge-eval", "label-summary", "plan",
    "predict", "recipe", "report", "rollout", "scores", "tables", "tools", "training", "verdict", "verdicts", "keys",
}  # fmt: skip


def parameters(name):
    """The parameters of a public name, in the words of PARAMETERS."""
    words, named = [], False
    for each in inspect.signature(getattr(likewise, name)).parameters.values():
        if each.kind is each.KEYWORD_ONLY and not named:
            words, named = [*words, "*"], True
        words.append(each.name + ("" if each.default is each.empty else "="))
    return " ".join(words)


def test_the_public_names_are_those_whose_parameters_are_frozen():
    assert set(likewise.__all__) == PARAMETERS.keys() | WITHOUT_PARAMETERS


@pytest.mark.parametrize("name", PARAMETERS)
def test_the_parameters_of_a_public_name_are_these(name):
    assert parameters(name) == PARAMETERS[name]


def test_the_length_policies_are_these():
    assert {each.name: each.value for each in likewise.LengthPolicy} == {"ABSORB": "absorb", "TRUNCATE": "truncate"}


def test_the_commands_are_these():
    assert set(get_command(app).commands) == COMMANDS


def test_the_exit_codes_are_these():
    assert {each.name: int(each) for each in ExitCode} == EXIT_CODES


def test_the_schemas_of_json_are_these_each_in_its_first_version():
    found = set()
    for path in SRC.rglob("*.py"):
        found |= set(re.findall(r'"likewise\.([a-z-]+)/(\d+)"', path.read_text(encoding="utf-8")))
    assert found == {(name, "1") for name in SCHEMAS}


@pytest.mark.parametrize("name", [name for name in PARAMETERS if inspect.isclass(getattr(likewise, name))])
def test_a_public_class_calls_itself_by_its_public_name(name):
    assert getattr(likewise, name).__name__ == name


def test_each_way_to_make_an_object_of_a_file_or_a_group_is_there():
    assert callable(likewise.RSDModel.load)
    assert callable(likewise.RSDReward.in_group)
    assert callable(likewise.ReliabilityLayer().wrap)
