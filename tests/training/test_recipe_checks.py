from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

import pytest

from likewise.core.errors import ConfigError
from likewise.training.recipe_checks import check_fields, check_model, check_vllm, loaded, made


@dataclass
class Pace:
    """As libraries have their settings."""

    steps: int = 1
    learning_rate: float = 0.1

    def __post_init__(self):
        if self.steps < 1:
            raise ValueError("steps must be\n  at least 1")


def test_a_field_that_a_library_has_not_is_named_with_those_like_it():
    check_fields(Pace, {"steps": 3, "learning_rate": 1.0}, "grpo")
    with pytest.raises(ConfigError, match=r"at grpo.learning_rte: Pace has no such field \(expected learning_rate\)"):
        check_fields(Pace, {"learning_rte": 3}, "grpo")
    with pytest.raises(ConfigError, match=r"at sft.zzz: Pace has no such field$"):
        check_fields(Pace, {"zzz": 3}, "sft")


def test_settings_are_made_of_the_recipe_and_of_what_the_command_sets():
    assert made(Pace, {"steps": 3}, "grpo", learning_rate=0.5) == Pace(3, 0.5)


@pytest.mark.parametrize(
    ("table", "told"),
    [({"steps": 0}, "Pace refuses it: steps must be at least 1"), ({"steps": "x"}, "refuses it: '<'")],
)
def test_a_value_that_a_library_refuses_is_told_in_its_words(table, told):
    with pytest.raises(ConfigError, match=f"at grpo: .*{told}"):
        made(Pace, table, "grpo")


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is here")
def test_vllm_that_is_not_there_is_told_before_a_model_is_loaded():
    check_vllm({"use_vllm": False}, "grpo")
    with pytest.raises(ConfigError, match=r"at grpo.use_vllm: vLLM is not installed .*use_vllm: false"):
        check_vllm({"use_vllm": True}, "grpo")


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere/model", "a/b/c", "~/model", ""])
def test_a_folder_that_is_not_there_is_told(name):
    with pytest.raises(ConfigError, match=f"at model: there is no folder {name}"):
        check_model(name, "model")


def test_a_folder_without_a_model_and_a_file_are_told_and_what_may_be_an_id_is_not(tmp_path):
    with pytest.raises(ConfigError, match=r"at start: the folder .* holds no model"):
        check_model(str(tmp_path), "start")
    (tmp_path / "config.json").write_text("{}")
    check_model(str(tmp_path), "model")
    with pytest.raises(ConfigError, match="there is no folder"):
        check_model(str(tmp_path / "config.json"), "model")
    check_model("Qwen/Qwen2.5-3B-Instruct", "model")


def test_what_neither_folder_nor_hub_gives_is_told_in_the_loaders_first_words():
    def load(name):
        raise OSError(f"{name} is not a local folder\nand " + "so on " * 100)

    with pytest.raises(ConfigError, match=r"a/b is no folder here, and cannot be had from the hub: a/b is not"):
        loaded(load, "a/b", "model")
    assert loaded(str.upper, "a/b", "model") == "A/B"
