from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from likewise.backends.argument_modes import Mode, Tolerance
from likewise.backends.tool_names import ToolClass
from likewise.backends.tool_settings import RuleSettings, ToolSettings, read_settings
from likewise.core.config import Table
from likewise.core.errors import ConfigError
from likewise.core.labels import Relation

EQ, NE, CO = Relation


def read(text, tools_files=(), path="likewise.toml"):
    return read_settings(Table(str(path), "", tomllib.loads(text)), tools_files)


def test_an_empty_configuration_says_nothing():
    assert read("") == read("[tools]\n[rules]\n[arguments]\n[annotations]\n") == RuleSettings()


def test_rules_are_named_with_or_without_the_prefix_and_free_text_can_go_to_the_judge():
    found = read('[rules]\nlist-order = "equivalent"\n"tool:extra-argument" = "contradictory"\nfree-text = "judge"\n')
    assert found.overrides == {"list-order": EQ, "extra-argument": CO, "free-text": None}
    assert read('[rules]\nfree-text = "neutral"\n').overrides == {"free-text": NE}


def test_the_rules_that_cannot_be_changed_may_be_stated():
    assert read('[rules]\nidentical = "equivalent"\nsame-call = "equivalent"\n').overrides.keys() == {
        "identical",
        "same-call",
    }


def test_tools_are_pinned_in_one_line_or_in_a_table():
    found = read(
        '[tools]\nthink = "reads"\n"git.push" = "changes"\n[tools.x]\nclass = "reads"\nlist-order = "neutral"\n'
    )
    assert found.tool_classes == {"think": ToolClass.READS, "git.push": ToolClass.CHANGES, "x": ToolClass.READS}
    assert found.tools == {"x": ToolSettings(list_order=NE)}


MODES = """
[tools.book.arguments]
tags = "set"
flights = "unordered"
stamp = "ignore"
code = "exact"
note = "text"
price = { absolute = 0.5 }
share = { relative = 0.1, absolute = 1 }
passengers.dob = "ignore"
"items[].price" = { absolute = 1 }
position.absolute = "exact"
"""


def test_every_mode_and_paths_through_tables_and_lists():
    assert read(MODES).tools["book"].arguments == {
        "tags": Mode.SET,
        "flights": Mode.UNORDERED,
        "stamp": Mode.IGNORE,
        "code": Mode.EXACT,
        "note": Mode.TEXT,
        "price": Tolerance(absolute=0.5),
        "share": Tolerance(absolute=1, relative=0.1),
        "passengers.dob": Mode.IGNORE,
        "items.price": Tolerance(absolute=1),
        "position.absolute": Mode.EXACT,
    }


def test_arguments_of_all_tools_and_the_arguments_that_name_the_object():
    found = read('[arguments]\nstamp = "ignore"\n[tools.a]\nobject = ["room", "b.c"]\n[tools.b]\nobject = []\n')
    assert found.arguments == {"stamp": Mode.IGNORE}
    assert {name: each.objects for name, each in found.tools.items()} == {"a": {"room", "b.c"}, "b": frozenset()}


def test_tools_files_lie_beside_the_configuration_and_are_merged_with_those_of_the_options(tmp_path):
    def tool(hint):
        return [{"name": "x", "annotations": {"readOnlyHint": hint}}]

    (tmp_path / "here.json").write_text(json.dumps(tool(True)))
    (tmp_path / "there.json").write_text(json.dumps(tool(False)))
    text = '[annotations]\nfiles = ["here.json"]\n'
    assert read(text, path=tmp_path / "likewise.toml").hints == {"x": {"readOnlyHint": True}}
    both = read(text, [tmp_path / "there.json"], path=tmp_path / "likewise.toml")
    assert both.hints == {"x": {"readOnlyHint": False}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rules = 3", ["at rules: a number", "expected a table"]),
        ('[rules]\nlist-oder = "neutral"', ["at rules.list-oder: unknown rule (did you mean 'list-order'?)"]),
        ('[rules]\nlist-order = "same"', ["at rules.list-order: unknown value 'same'", '"equivalent" or "neutral"']),
        ('[rules]\nlist-order = "judge"', ["at rules.list-order: unknown value 'judge'"]),
        ('[rules]\nsame-call = "neutral"', ["at rules.same-call", "equivalent by definition"]),
        ('[rules]\n"tool:identical" = "contradictory"', ['at rules."tool:identical"', "equivalent by definition"]),
        ('[tools]\nx = "read"', ["at tools.x: unknown value 'read' (did you mean 'reads'?)"]),
        ("[tools]\nx = 1", ["at tools.x: a number", '"reads" or "changes"']),
        ('[tools.x]\nclas = "reads"', ["at tools.x: unknown key 'clas' (did you mean 'class'?)"]),
        ("[tools.x]\nzzz = 1", ["at tools.x: unknown key 'zzz'", "class, arguments, list-order, object"]),
        ('[tools]\ngithub.push = "reads"', ["at tools.github.push", 'in quotes, "github.push"']),
        ("[tools.github.push]\nclass = 1", ["at tools.github.push", 'in quotes, "github.push"']),
        ('[tools.x]\nlist-order = "any"', ["at tools.x.list-order: unknown value 'any'"]),
        ('[tools.x]\nobject = "room"', ["at tools.x.object: a string", "a list of strings"]),
        ('[tools.x.arguments]\na = "sett"', ["at tools.x.arguments.a", "(did you mean 'set'?)", "absolute = ..."]),
        ("[tools.x.arguments]\na = 0.1", ["at tools.x.arguments.a: no mode", "absolute = ..."]),
        ("[tools.x.arguments]\na = {}", ["at tools.x.arguments.a", "no mode"]),
        ("[tools.x.arguments]\na = { absolut = 1 }", ["at tools.x.arguments.a: unknown key 'absolut'", "'absolute'?"]),
        ("[tools.x.arguments]\na = { absolute = -1 }", ["at tools.x.arguments.a.absolute: out of range", "at least 0"]),
        ("[tools.x.arguments]\na = { absolute = nan }", ["out of range"]),
        ("[tools.x.arguments]\na = { relative = 1.5 }", ["a.relative: out of range", "from 0 to 1"]),
        ("[tools.x.arguments]\na = { absolute = true }", ["a.absolute: a boolean"]),
        ('[tools.x.arguments]\na = { absolute = 1, b = "set" }', ["at tools.x.arguments.a: unknown key 'b'"]),
        ("[arguments]\na = [1]", ["at arguments.a: no mode"]),
        ('[annotations]\nfile = ["x"]', ["at annotations: unknown key 'file' (did you mean 'files'?)"]),
        ('[annotations]\nfiles = "x"', ["at annotations.files: a string", "a list of strings"]),
        ('[annotations]\nfiles = ["gone.json"]', ["gone.json: no such file"]),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_dotted_name(text, words):
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_the_example_in_the_users_guide_is_one_that_runs(tmp_path):
    guide = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")
    (example,) = (part.split("```")[0] for part in guide.split("```toml\n")[1:])
    (tmp_path / "shop-tools.json").write_text('[{"name": "x", "annotations": {"readOnlyHint": true}}]')
    found = read(example, path=tmp_path / "likewise.toml")
    assert found.overrides == {"list-order": EQ, "free-text": None}
    assert found.tool_classes == {
        "think": ToolClass.READS,
        "github.search_issues": ToolClass.READS,
        "book_flight": ToolClass.CHANGES,
    }
    (book,) = found.tools.values()
    assert (book.list_order, book.objects) == (NE, {"reservation_id"})
    assert book.arguments == {
        "request_id": Mode.IGNORE,
        "note": Mode.TEXT,
        "cabin": Mode.EXACT,
        "tags": Mode.SET,
        "price": Tolerance(absolute=0.01),
        "distance": Tolerance(relative=0.05),
        "passengers.dob": Mode.IGNORE,
    }
    assert found.hints == {"x": {"readOnlyHint": True}}
    assert all(f'`"{mode}"`' in guide for mode in Mode)
