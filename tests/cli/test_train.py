from __future__ import annotations

import importlib.util
import json
import warnings

import pytest
import yaml

from likewise.cli.train import _speaking
from likewise.formats.native import read, write_rollouts
from likewise.training.environments.bookings import Bookings
from likewise.training.guards import TrainingWarning
from likewise.training.recipe import RECIPE
from likewise.training.tiny_experts import MIXED, demonstrations

HAS_TRL = importlib.util.find_spec("trl") is not None
SMALL = {"hidden": 16, "demonstrations": 2, "warm_steps": 2, "warm_batch": 4, "runs": 2, "fit_steps": 2, "expert": 1,
         "expert_steps": 1, "steps": 1, "group": 2, "prompts": 2, "trials": 2, "blocks": 1}  # fmt: skip


@pytest.fixture
def recipe(tmp_path):
    def _recipe(**sections):
        path = tmp_path / "recipe.yaml"
        path.write_text(yaml.safe_dump({"schema": RECIPE, **sections}))
        return path

    return _recipe


def told(answer):
    return " ".join(answer.stderr.replace("│", " ").split())


@pytest.mark.parametrize("stage", ["sft", "rsd", "grpo"])
def test_a_recipe_for_something_else_is_refused(invoke, stage):
    answer = invoke("train", stage, "--recipe", "tiny")
    assert answer.exit_code == 2
    assert "this recipe is for `likewise train tiny`" in told(answer)


def test_a_recipe_that_is_not_there_is_told(invoke, tmp_path):
    answer = invoke("train", "tiny", "--recipe", "huge", "--out", tmp_path / "out")
    assert answer.exit_code == 2
    assert "no such file or recipe" in told(answer)
    assert not (tmp_path / "out").exists()


def test_an_arm_that_there_is_not_is_refused(invoke, tmp_path):
    answer = invoke("train", "tiny", "--out", tmp_path / "out", "--arm", "best")
    assert answer.exit_code == 2
    assert "no arm 'best'" in told(answer)


def test_a_folder_of_another_seed_is_refused(invoke, tmp_path, recipe):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "settings.json").write_text("{}")
    answer = invoke("train", "tiny", "--out", tmp_path / "out", "--recipe", recipe(tiny=SMALL))
    assert answer.exit_code == 2
    assert "another seed or other settings" in told(answer)


def test_a_recipe_without_runs_is_told(invoke, recipe):
    answer = invoke("train", "rsd", "--recipe", recipe(train={"model": "m", "out": "o"}))
    assert answer.exit_code == 2
    assert "the recipe names no files of runs" in told(answer)
    bad = recipe(train={"model": "m", "out": "o", "runs": ["r"], "rsd": {"speed": 1}})
    assert "sets no option" in told(invoke("train", "rsd", "--recipe", bad))


def test_a_folder_of_a_model_that_is_not_there_is_told_at_the_first_stage(invoke, recipe):
    path = recipe(train={"model": "./models/none", "out": "o", "runs": ["r"]})
    answer = invoke("train", "rsd", "--recipe", path)
    assert answer.exit_code == 2
    assert f"{path.name}, at train.model: there is no folder ./models/none" in told(answer).replace(" /", "/")


@pytest.mark.torch
@pytest.mark.parametrize("stage", ["sft", "rsd", "grpo"])
def test_a_field_that_a_trainer_has_not_is_told_by_recipe_and_name_at_every_stage(invoke, recipe, stage):
    table = {"model": "org/m", "out": "o", "runs": ["r"], "experts": ["e"], "grpo": {"num_generation": 8}}
    answer = invoke("train", stage, "--recipe", recipe(train=table))
    assert answer.exit_code == 2
    assert "at train.grpo.num_generation: GRPOConfig has no such field (expected num_generations" in told(answer)


def test_what_the_guards_find_is_said_and_other_warnings_are_as_they_were(capsys):
    with warnings.catch_warnings(record=True) as others:
        warnings.simplefilter("always")
        with _speaking("r.yaml"):
            warnings.warn("step 3: RSD fell", TrainingWarning, stacklevel=1)
            warnings.warn("of others", UserWarning, stacklevel=1)
    assert [str(each.message) for each in others] == ["of others"]
    assert capsys.readouterr().err.strip() == "likewise: step 3: RSD fell"


@pytest.mark.skipif(HAS_TRL, reason="says what to type where TRL is not installed")
@pytest.mark.parametrize("stage", ["sft", "grpo"])
def test_without_trl_the_line_to_type_is_given(invoke, recipe, stage):
    answer = invoke("train", stage, "--recipe", recipe(train={"model": "m", "out": "o"}))
    assert answer.exit_code == 4
    assert "pip install 'likewise[train]'" in told(answer)


@pytest.mark.torch
@pytest.mark.model
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_the_pipeline_in_small_runs_from_nothing_to_rollouts(invoke, tmp_path, recipe):
    arms = ("--arm", "base", "--arm", "rsd")
    answer = invoke("train", "tiny", "--recipe", recipe(tiny=SMALL), "--out", tmp_path / "out", *arms)
    assert answer.exit_code == 0, answer.stderr
    shown = json.loads(answer.stdout)
    assert {name: each["runs"] for name, each in shown.items()} == {"base": 16, "rsd": 16}
    runs = read(tmp_path / "out" / "arms" / "rsd" / "temperature-1.jsonl", "").rollouts
    assert {run.task_id for run in runs} == set(Bookings.tasks)


@pytest.mark.torch
@pytest.mark.model
def test_rsd_is_fitted_by_a_recipe(invoke, tmp_path, recipe):
    write_rollouts(tmp_path / "runs.jsonl", demonstrations(Bookings.tasks[:2], 2, MIXED, 0))
    table = {"model": "m", "out": str(tmp_path / "out"), "runs": [str(tmp_path / "runs.jsonl")], "rsd": {"steps": 10}}
    answer = invoke("train", "rsd", "--recipe", recipe(train=table))
    assert answer.exit_code == 0, answer.stderr
    assert "learned from 4 runs" in answer.stdout
    assert json.loads((tmp_path / "out" / "rsd" / "model.json").read_text())["options"]["steps"] == 10
