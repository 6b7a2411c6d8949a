"""The site: its menu names pages that there are, made pages hold what they are made of, links lead somewhere."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def made():
    """The module that makes pages."""
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / "tools" / "docs" / "pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def addresses(nav):
    if isinstance(nav, str):
        return [nav]
    return [each for item in (nav.values() if isinstance(nav, dict) else nav) for each in addresses(item)]


def test_the_menu_names_no_page_that_there_is_not(made):
    named = addresses(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    there = {path.name for path in (ROOT / "docs").glob("*.md")} | set(made.copied_pages())
    assert [name for name in named if name not in there and not name.startswith("reference/")] == []
    assert len(named) == len(set(named))


def test_the_theme_fetches_nothing():
    theme = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["theme"]
    assert theme["font"] is False
    assert "mermaid" not in (ROOT / "mkdocs.yml").read_text()  # the theme would fetch its script


@pytest.mark.parametrize(
    ("text", "source", "page", "expected"),
    [
        ("[a](docs/ci.md)", "README.md", "index.md", "[a](ci.md)"),
        ("[a](design/0002-alignment.md)", "README.md", "index.md", "[a](design/0002-alignment.md)"),
        ("[a](../deploy/compose.yaml)", "docs/deploy.md", "deploy.md", "[a](deploy_files.md)"),
        ("[a](../benchmarks/results/x.json)", "docs/a.md", "a.md", "[a](benchmarks/x.md)"),
        ("[a](../docs/ci.md#gitlab)", "design/1.md", "design/1.md", "[a](../ci.md#gitlab)"),
        ("[a](https://example.org/x.md)", "README.md", "index.md", "[a](https://example.org/x.md)"),
        ("[a](#here)", "README.md", "index.md", "[a](#here)"),
        ("![a](docs/img/report.png)", "README.md", "index.md", "![a](img/report.png)"),
    ],
)
def test_links_to_files_become_links_to_pages(made, text, source, page, expected):
    assert made.relinked(text, source, page) == expected


def test_links_of_the_repository_lead_to_files_that_are_there():
    broken = []
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text(encoding="utf-8")):
            if not re.match(r"[a-z]+:", target) and not (path.parent / target).exists():
                broken.append(f"{path.name}: {target}")
    assert broken == []


def test_a_page_of_results_has_every_number_of_a_table_worked_by_hand(made, tmp_path):
    results = {"seconds": 1.5, "tasks": {"a": {"n": 1, "rsd": 0.123456}, "b": {"n": 2, "rsd": None}}, "list": [1, 2]}
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "x.py").write_text('"""What it measures."""\n')
    page = made.results_page("x", results, tmp_path)
    assert "# X\n\nWhat it measures.\n" in page
    assert "| seconds | 1.5 |\n| list | 1, 2 |" in page
    assert "## tasks\n\n|  | n | rsd |\n| --- | --- | --- |\n| a | 1 | 0.1235 |\n| b | 2 | not measured |" in page


def test_text_of_results_cannot_break_out_of_its_cell(made):
    page = made.results_page("x", {"a|b\nc": "<script>"})
    assert "| a\\|b c | &lt;script> |" in page


def test_rows_that_are_left_out_are_counted(made):
    page = made.results_page("x", [{"n": n} for n in range(45)])
    assert page.count("\n| ") == 1 + 1 + 40 - 0
    assert "5 more rows are in the file." in page


def test_each_file_of_results_has_a_page(made):
    pages = made.results_pages()
    files = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
    assert {f"benchmarks/{path.stem}.md" for path in files} == pages.keys() - {"benchmarks/index.md"}
    for path in files:
        assert json.loads(path.read_text()), path
        assert f"({path.stem}.md)" in pages["benchmarks/index.md"]


def test_each_file_of_results_has_a_row_that_says_what_was_asked_how_and_how_far_it_goes(made):
    rows = [line for line in made.results_pages()["benchmarks/index.md"].splitlines() if line.startswith("| [")]
    files = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
    assert [re.match(r"\| \[.*?\]\((\w+)\.md\)", row)[1] for row in rows] == [path.stem for path in files]
    for row in rows:
        _, question, figure, limit, command = re.split(r"(?<!\\)\|", row.strip("| "))
        assert all(len(cell.strip()) > 8 for cell in (question, figure, limit, command)), row
        assert re.search(r"\d", figure), row


def test_no_figure_of_the_list_of_benchmarks_is_typed():
    for name, headline in tomllib.loads((ROOT / "benchmarks" / "headlines.toml").read_text()).items():
        assert re.search(r"\{[^}]+\}", headline["figure"]), name
        written = re.sub(r"\{[^}]+\}", "", headline["figure"])
        assert not re.search(r"\d\.\d|\d %", written.replace("10 %", "").replace("50 %", "").replace("95 %", "")), name


def test_the_list_of_benchmarks_names_scripts_and_targets_that_are_there():
    makefile = (ROOT / "Makefile").read_text()
    for name, headline in tomllib.loads((ROOT / "benchmarks" / "headlines.toml").read_text()).items():
        program, what = headline["command"].split()[:2]
        if program == "python":
            assert (ROOT / what).exists(), name
        elif program == "make":
            assert re.search(rf"^{what}:", makefile, re.M), name
        else:
            assert program == "likewise", name


def test_a_figure_is_found_by_its_keys_and_has_the_form_that_was_asked_for(made):
    results = {"a b": {"x.y": 0.1234}, "list": [{"name": "rsd", "value": 2}, {"name": "other", "value": 3}]}
    assert made.figure_at(results, "a b > x.y", ".1%") == "12.3%"
    assert made.figure_at(results, "list > 1 > value") == "3"
    assert made.figure_at(results, "list > name=other > value") == "3"
    row = made.results_row(
        "n", results, {"figure": "{a b > x.y | .2f} and {list > 0 > name}", "limit": "", "command": ""}
    )
    assert row[2] == "0.12 and rsd"


@pytest.mark.parametrize("path", ["absent", "list > name=absent > value", "list > 7", "empty"])
def test_a_figure_that_is_not_there_or_not_measured_is_an_error(made, path):
    with pytest.raises(LookupError):
        made.figure_at({"list": [{"name": "rsd"}], "empty": None}, path)


def test_every_command_is_on_the_page_of_commands_with_its_own_help(made):
    page = made.commands_page()
    for words in ("report", "db export", "keys create", "train tiny", "doctor"):
        assert f"## `likewise {words}`" in page
    assert "Usage: likewise report" in page


def test_every_public_name_is_on_the_page_of_python(made):
    import likewise

    page = made.python_page()
    for name in set(likewise.__all__) - {"__version__"}:
        assert re.search(rf"^::: likewise\.[\w.]+\.{name}$", page, re.M), name
