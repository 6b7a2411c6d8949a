from __future__ import annotations

import pytest

from likewise.core.errors import ConfigError
from likewise.training.large import LargeSettings
from likewise.training.recipe import LARGEST, read_recipe, recipe_names, settings_from
from likewise.training.tiny_settings import TinySettings


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_of_the_package_is_read_whole(name):
    found = read_recipe(name)
    kinds = {"tiny": TinySettings, "train": LargeSettings}
    sections = found.keys() - {"schema"}
    assert len(sections) == 1
    for section in sections:
        settings_from(kinds[section], found[section], name, section)


def test_the_package_has_the_recipes_that_the_guide_speaks_of():
    scale = {f"qwen2.5-{size}-{where}" for size in ("3b", "7b") for where in ("tau2", "toolsandbox")}
    assert set(recipe_names()) == {"tiny"} | scale


def test_a_recipe_of_ones_own_is_read_by_its_path(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("schema: likewise.recipe/1\ntiny: {steps: 3}\n")
    assert settings_from(TinySettings, read_recipe(path)["tiny"], str(path), "tiny").steps == 3


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: [", "not YAML"),
        ("steps: 3", "at schema: no recipe of this version"),
        ("- 1", "no recipe of this version"),
        ("schema: likewise.recipe/9", "no recipe of this version"),
        ("!!python/object/apply:os.system ['true']", "not YAML"),
        ("[" * 5000, "not YAML|nested too deeply"),
        ("x" * (LARGEST + 1), "larger than"),
    ],
)
def test_what_is_no_recipe_is_refused(tmp_path, text, told):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=told):
        read_recipe(path)


def test_a_recipe_that_is_not_there_is_told_with_those_there_are():
    with pytest.raises(ConfigError, match=r"no such file or recipe.*tiny"):
        read_recipe("huge")


def test_a_recipe_of_other_bytes_is_refused(tmp_path):
    (tmp_path / "mine.yaml").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_recipe(tmp_path / "mine.yaml")


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"speed": 3}, "at tiny.speed: no such field"),
        ({"steps": "many"}, "at tiny.steps: cannot be 'many'"),
        ({"steps": 1.5}, "at tiny.steps: cannot be 1.5"),
        ({"steps": None}, "at tiny.steps: cannot be None"),
        ({"steps": True}, "at tiny.steps: cannot be True"),
        ({"steps": 0}, "at tiny: steps is at least 1, got 0"),
        ([1], "at tiny: not a table"),
        (None, "at tiny: not a table"),
    ],
)
def test_a_field_that_cannot_be_is_named(table, told):
    with pytest.raises(ConfigError, match=told):
        settings_from(TinySettings, table, "r", "tiny")
