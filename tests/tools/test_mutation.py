"""What mutation testing counts; the mutants themselves are made and tried by a library."""

from __future__ import annotations

import importlib.util
import json
import math
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def mutation():
    spec = importlib.util.spec_from_file_location("mutation", ROOT / "tools" / "mutation.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def module(mutants, tried, killed, *survivors):
    return {"mutants": mutants, "tried": tried, "killed": killed, "survivors": list(survivors)}


def test_a_part_of_the_mutants_is_as_large_as_asked_the_same_for_a_seed_and_in_order(mutation):
    names = [f"m{n}" for n in range(40)]
    part = mutation.sampled(names, 0.25, 7)
    assert len(part) == 10
    assert part == sorted(part, key=names.index)
    assert part == mutation.sampled(names, 0.25, 7) != mutation.sampled(names, 0.25, 8)
    assert mutation.sampled(names, 1.0, 7) == names
    assert len(mutation.sampled(names[:2], 0.1, 7)) == 1


def test_how_each_mutant_ended_is_read_from_what_mutmut_lists(mutation):
    text = "    a.x_f__mutmut_1: killed\n    a.x_f__mutmut_12: survived\nnothing else\n    a.x_g__mutmut_1: no tests\n"
    assert mutation.listed(text) == {
        "a.x_f__mutmut_1": "killed",
        "a.x_f__mutmut_12": "survived",
        "a.x_g__mutmut_1": "no tests",
    }


def test_a_change_is_what_stood_there_and_what_stands_there_instead(mutation):
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,3 @@\n def f():\n-    return 1\n+    return 2\n"
    assert mutation.change(diff) == {"was": "return 1", "now": "return 2"}


def test_the_share_counts_each_module_by_all_its_mutants(mutation):
    # 9 of 10 tried of 300, 5 of 10 tried of 100: 0.75 * 0.9 + 0.25 * 0.5 = 0.8.
    share, error = mutation.killed_share({"a": module(300, 10, 9), "b": module(100, 10, 5)})
    assert share == pytest.approx(0.8)
    first = 0.75**2 * (10 / 12) * (2 / 12) / 10 * (1 - 10 / 300)
    second = 0.25**2 * (6 / 12) * (6 / 12) / 10 * (1 - 10 / 100)
    assert error == pytest.approx(math.sqrt(first + second))


def test_what_was_tried_whole_is_certain(mutation):
    assert mutation.killed_share({"a": module(8, 8, 6)}) == (0.75, 0.0)


def test_a_survivor_gets_the_reason_that_somebody_wrote_down_for_this_very_change(mutation):
    change = {"was": "x > 0", "now": "x >= 0"}
    modules = {"a": module(2, 2, 1, dict(change)), "b": module(2, 2, 1, dict(change))}
    mutation.explained(modules, [{"module": "a", **change, "why": "the same"}])
    assert [modules[name]["survivors"][0]["why"] for name in "ab"] == ["the same", None]
    assert mutation.summary(modules)["survivors_unexplained"] == 1


def test_only_a_module_s_own_tests_and_the_paper_s_sentences_on_it_try_it(mutation):
    names = [path.name for path in mutation.tests_of("pass_k")]
    assert names[0] == "test_pass_k.py"
    assert "test_pass_k_papers.py" in names


def test_every_module_of_metrics_has_tests_that_can_be_tried(mutation):
    for path in mutation.METRICS.glob("[!_]*.py"):
        assert all(each.exists() for each in mutation.tests_of(path.stem)), path.stem


def test_the_committed_results_add_up_and_enough_is_killed(mutation):
    results = json.loads(mutation.OUT.read_text(encoding="utf-8"))
    assert results["all"] == mutation.summary(results["by_module"])
    assert results["all"]["killed_share"] >= mutation.ENOUGH
    there = {path.stem for path in mutation.METRICS.glob("[!_]*.py")}
    assert results["by_module"].keys() <= there
    assert results["not_tried"] == sorted(there - results["by_module"].keys())


def test_reasons_are_given_to_modules_that_there_are_and_say_something(mutation):
    for each in tomllib.loads(mutation.WHY.read_text(encoding="utf-8"))["survivor"]:
        assert (mutation.METRICS / f"{each['module']}.py").exists()
        assert each["was"] != each["now"]
        assert len(each["why"]) > 20
