"""What looks at a release: licences, the contents of the wheel, coverage by floor."""

from __future__ import annotations

import importlib.util
import json
import shlex
import sys
import zipfile
from email.message import Message
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def tool(name):
    spec = importlib.util.spec_from_file_location(Path(name).stem, ROOT / "tools" / name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where a dataclass looks its annotations up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def licences():
    return tool("release/licences.py")


@pytest.fixture(scope="module")
def wheel_check():
    return tool("release/wheel_check.py")


class Package:
    """An installed package: its metadata, what it needs, the text of its licence."""

    def __init__(self, name="p", requires=(), folder=None, **fields):
        self.metadata = Message()
        for field, value in {"Name": name, **fields}.items():
            for each in value if isinstance(value, list) else [value]:
                self.metadata[field.replace("_", "-")] = each
        self.requires = list(requires)
        self.files = [Text(folder / "LICENSE")] if folder else []


class Text:
    """A file of a package."""

    def __init__(self, path):
        self.path, self.name, self.suffix = path, path.name, path.suffix

    def locate(self):
        return self.path


def test_a_licence_is_its_expression_before_its_field_before_its_classifier(licences):
    classifier = ["License :: OSI Approved :: MIT License"]
    whole = Package(License_Expression="MIT", License="BSD", Classifier=classifier)
    assert licences.licence_of(whole) == "MIT"
    assert licences.licence_of(Package(License="BSD", Classifier=classifier)) == "BSD"
    assert licences.licence_of(Package(License="UNKNOWN", Classifier=classifier)) == "MIT License"


def test_a_licence_that_is_only_a_text_is_told_by_the_text(licences, tmp_path):
    (tmp_path / "LICENSE").write_text("X\n\nPermission is hereby granted, free of charge, to any person\n")
    assert licences.licence_of(Package(folder=tmp_path)) == "MIT"
    (tmp_path / "LICENSE").write_text("All rights reserved.\n")
    assert licences.licence_of(Package(folder=tmp_path)) is None


def test_what_a_package_brings_follows_extras_and_markers(licences):
    packages = {
        "a": Package("a", ["b", "c ; extra == 'more'", "d ; python_version < '3'", "e"]),
        "b": Package("b", ["a"]),
        "c": Package("c"),
    }
    assert licences.closure(["a"], packages) == ({"a", "b"}, {"e"})
    assert licences.closure(["a[more]"], packages) == ({"a", "b", "c"}, {"e"})


def test_packages_of_further_environments_count_after_those_beside_the_repository(licences, tmp_path):
    for folder, name, version in (
        (".venv/lib/python3.11/site-packages", "here", "1"),
        ("far", "here", "2"),
        ("far", "there", "3"),
    ):
        info = tmp_path / folder / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    found = licences.installed(tmp_path, [tmp_path / "far"])
    assert {name: each.version for name, each in found.items()} == {"here": "1", "there": "3"}


def test_the_page_of_licences_names_all_that_the_base_needs(licences):
    text = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    base = text.partition("## Base")[2].partition("## Extra")[0]
    for name in ("numpy", "onnxruntime", "tokenizers", "typer", "tomlkit"):
        assert f"| {name} |" in base
    assert "**not stated**" not in text
    assert "all-MiniLM-L6-v2" in text.partition("## Base")[0]


def wheel_of(folder, names, size=1):
    path = folder / "likewise-0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "x" * size)
    return path


WHOLE = [
    "likewise/models/nli/read.onnx",
    "likewise/models/nli/CARD.md",
    "likewise/models/encoder/encoder.onnx",
    "likewise/py.typed",
    "likewise-0.dist-info/licenses/NOTICE",
]


def test_a_whole_wheel_passes_and_says_its_size(wheel_check, tmp_path, capsys):
    wheel_check.check_contents(wheel_of(tmp_path, WHOLE))
    assert "5 files" in capsys.readouterr().out


@pytest.mark.parametrize("name", WHOLE)
def test_a_wheel_that_lacks_weights_or_notices_does_not(wheel_check, tmp_path, name):
    with pytest.raises(SystemExit, match="lacks"):
        wheel_check.check_contents(wheel_of(tmp_path, [each for each in WHOLE if each != name]))


def test_nor_one_with_tests_in_it_nor_one_that_is_too_large(wheel_check, tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match="should not"):
        wheel_check.check_contents(wheel_of(tmp_path, [*WHOLE, "tests/test_x.py"]))
    monkeypatch.setattr(wheel_check, "LARGEST", 100)
    with pytest.raises(SystemExit, match="at most"):
        wheel_check.check_contents(wheel_of(tmp_path, WHOLE, size=50))


def test_every_extra_of_the_package_is_one_of_the_check(wheel_check):
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert wheel_check.USES.keys() == extras.keys()


def test_an_extra_that_does_not_work_is_named_and_the_others_are_tried(wheel_check, monkeypatch, tmp_path, capsys):
    tried = []

    def check(wheel, extra, folder):
        tried.append(extra)
        if extra == "llm":
            raise SystemExit("pip ended with 1")
        return {"packages": 3}

    found, kept = {}, []
    monkeypatch.setattr(wheel_check, "check_extra", check)
    keep = lambda: kept.append(len(found))  # noqa: E731 - what stands in for writing the file
    assert wheel_check.check_extras(tmp_path / "w.whl", ["llm", "serve"], tmp_path, found, keep) == ["llm"]
    assert tried == ["llm", "serve"]
    assert kept == [1, 2]  # after each of them
    assert found == {
        "llm": {"works": False, "problem": "pip ended with 1"},
        "serve": {"works": True, "packages": 3},
    }
    assert "llm: does not work: pip ended with 1" in capsys.readouterr().out


def test_what_worked_with_the_very_same_wheel_is_not_tried_again(wheel_check, monkeypatch, tmp_path):
    wheel, out, tried = wheel_of(tmp_path, WHOLE), tmp_path / "out.json", []
    monkeypatch.setattr(wheel_check, "check_base", lambda wheel, folder: tried.append("base") or {"packages": 2})
    monkeypatch.setattr(wheel_check, "check_extra", lambda wheel, extra, folder: tried.append(extra) or {"packages": 3})

    def check(*extras):
        tried.clear()
        monkeypatch.setattr(sys, "argv", ["wheel_check.py", str(wheel), "--out", str(out), "--extras", *extras])
        wheel_check.main()
        return list(tried)

    assert check("llm") == ["base", "llm"]
    assert check("llm", "serve") == ["serve"]
    found = json.loads(out.read_text())
    assert (found["wheel"]["files"], found["base"], sorted(found["extras_alone"])) == (
        5,
        {"packages": 2},
        ["llm", "serve"],
    )
    wheel_of(tmp_path, WHOLE, size=2)
    assert check("llm") == ["base", "llm"]


def test_the_source_archive_takes_along_what_tests_and_site_read():
    import tomllib

    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    taken = {each.strip("/") for each in build["sdist"]["include"]}
    assert {"src", "tests", "docs", "design", "tools", "examples", "benchmarks", "changelog.d", "mkdocs.yml"} <= taken
    assert [name for name in sorted(taken) if not (ROOT / name).exists()] == []


README = """# it

    make demo     # from the repository
    likewise report runs/*.json

```python
print(1)
print(2)
```

`likewise doctor` tries it; `likewise serve` is explained elsewhere.

| a | `likewise plan --detect 0.3`, or `likewise serve` | b |
| a | `likewise serve`, again | b |
"""


@pytest.fixture(scope="module")
def transcript():
    return tool("release/readme_transcript.py")


def test_the_steps_of_a_readme_are_its_blocks_and_the_commands_of_its_tables_once_each(transcript):
    steps = transcript.steps_of(README)
    assert [(each.typed, each.python) for each in steps] == [
        ("make demo", False),
        ("likewise report runs/*.json", False),
        ("print(1)\nprint(2)", True),
        ("likewise doctor", False),
        ("likewise plan --detect 0.3", False),
        ("likewise serve", False),
    ]


def test_what_a_readme_leaves_to_its_reader_is_filled_in(transcript, tmp_path):
    for name in ("b.json", "a.json"):
        (tmp_path / name).touch()
    wheel = tmp_path / "w.whl"
    filled = [
        transcript.fitted(words.split(), tmp_path, wheel)
        for words in ("likewise report *.json", "likewise report x/*.json", "pip install .")
    ]
    assert filled[0] == ["likewise", "report", "a.json", "b.json"]
    assert filled[1] == ["likewise", "report", "x/*.json"]  # as a shell leaves it
    assert filled[2][-1] == str(wheel)
    agents = [
        transcript.fitted(["likewise", command, "--agent", "module:function"], tmp_path, wheel)[-1]
        for command in ("run", "collect")
    ]
    assert agents == ["my_agent:answer", "my_agent:chat"]


@pytest.fixture
def newcomer(transcript, tmp_path):
    """A newcomer whose environment has two programs: `likewise`, which asks for an extra until `pip` was called."""
    (tmp_path / "work").mkdir()
    programs = tmp_path / "env" / "bin"
    programs.mkdir(parents=True)
    asks = "error: needs an extra; pip install 'likewise[llm]'"
    for name, text in {
        "likewise": f'[ -e installed ] || {{ echo "{asks}" >&2; exit 4; }}',
        "pip": "touch installed",
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    return lambda *extras: transcript.Newcomer(tmp_path / "w.whl", tmp_path, "http://127.0.0.1:1/v1", list(extras))


def test_an_extra_that_a_command_asks_for_is_installed_and_the_command_repeated(transcript, newcomer):
    done = newcomer("llm").do(transcript.Step("likewise report runs"))
    assert [(each.typed, each.code) for each in done] == [
        ("likewise report runs", 4),
        ("pip install 'likewise[llm]'", 0),
        ("likewise report runs", 0),
    ]


def test_one_that_was_not_asked_for_is_left_and_said_so(transcript, newcomer):
    done = newcomer().do(transcript.Step("likewise report runs"))
    assert [(each.typed, each.code) for each in done] == [
        ("likewise report runs", 4),
        ("pip install 'likewise[llm]'", None),
    ]


def test_what_needs_the_repository_is_not_run(transcript, newcomer):
    (done,) = newcomer().do(transcript.Step("make demo"))
    assert (done.code, done.said) == (None, "needs the repository; there is none near")


def test_the_page_of_a_transcript_shows_code_time_and_the_start_of_what_was_said(transcript, tmp_path):
    wheel = tmp_path / "w.whl"
    wheel.write_bytes(b"x" * 3_000_000)
    long = "\n".join(f"line {n}" for n in range(20))
    done = [transcript.Done("a | b", 3, 1.234, long), transcript.Done("make test", None, 0.0, "needs the repository")]
    page = transcript.page(done, wheel, "3.11.2")
    assert "w.whl, 3 MB; Python 3.11.2;" in page
    assert "| `a \\| b` | 3 | 1.2 |\n| `make test` | not run |  |" in page
    assert "$ a | b\nline 0\n" in page
    assert "line 13\n... 6 more lines\n```" in page


def test_coverage_is_summed_room_by_room():
    coverage = tool("coverage_by_floor.py")
    counted = {"core/a.py": (1, 2), "core/b.py": (3, 6), "x.py": (1, 1)}
    files = {
        f"src/likewise/{name}": {"summary": {"covered_lines": reached, "num_statements": there}}
        for name, (reached, there) in counted.items()
    }
    assert coverage.rooms({"files": files}) == {"core": (4, 8), "(top)": (1, 1)}
    assert coverage.by_floor({"core": (4, 8), "formats": (1, 2), "metrics": (2, 2)}) == {
        "floor 1": {"reached": 3, "statements": 4, "share": 0.75},
        "floor 0": {"reached": 4, "statements": 8, "share": 0.5},
        "all": {"reached": 7, "statements": 12, "share": 7 / 12},
    }
    text = coverage.table(coverage.rooms({"files": files}))
    assert "0  core          50.0 %  (4 of 8 statements)" in text
    assert "6  cli          nothing measured" in text
    assert "-  (top)        100.0 %  (1 of 1 statements)" in text


@pytest.fixture(scope="module")
def audit():
    return tool("release/audit_verdict.py")


CLEAN = {"name": "a", "version": "1", "vulns": []}
WEAK = {"name": "b", "version": "2", "vulns": [{"id": "X-1", "fix_versions": ["3"]}, {"id": "X-2", "fix_versions": []}]}
UNKNOWN = {"name": "c", "skip_reason": "not found"}
OURS = {"name": "likewise", "skip_reason": "not found"}


def test_an_audit_without_a_weakness_says_of_how_many_packages(audit):
    assert audit.verdict({"dependencies": [CLEAN, OURS]}) == (0, "no known weakness in 1 packages")


def test_weaknesses_are_named_with_the_version_that_mends_them(audit):
    code, text = audit.verdict({"dependencies": [CLEAN, WEAK, UNKNOWN]})
    assert (code, text.splitlines()) == (
        1,
        ["2 known weakness(es):", "b 2: X-1, mended in 3", "b 2: X-2, mended in no version"],
    )


@pytest.mark.parametrize("packages", [[CLEAN, UNKNOWN, OURS], [OURS], []])
def test_packages_that_the_service_does_not_know_are_not_passed(audit, packages):
    """pip-audit itself ends with 0 and `No known vulnerabilities found` on each of these."""
    code, text = audit.verdict({"dependencies": packages})
    assert code == 2
    assert text.startswith("the audit could not be made")


def test_the_page_of_the_first_ten_minutes_holds_every_step_of_the_readme_in_its_order(transcript, tmp_path):
    """Not its figures: those are of the day on which it was made."""
    from docs.folder import fill

    fill(tmp_path)
    wheel = Path("likewise.whl")
    page = (ROOT / "docs" / "first_ten_minutes.md").read_text(encoding="utf-8")
    typed = [line.split("` |")[0].removeprefix("| `") for line in page.splitlines() if line.startswith("| `")]
    wanted = []
    for step in transcript.steps_of((ROOT / "README.md").read_text(encoding="utf-8")):
        fitted = step.typed if step.python else shlex.join(transcript.fitted(shlex.split(step.typed), tmp_path, wheel))
        wanted.append(transcript._cell(transcript.Done(fitted, 0, 0.0, "")))
    asked_for = [each for each in typed if each.startswith("pip install")]
    done = list(dict.fromkeys(each for each in typed if each not in asked_for))
    assert done == [each for each in wanted if not each.startswith("pip install")]
    assert len(asked_for) >= 1  # the wheel, and what commands asked for


def test_every_step_on_that_page_ended_as_the_readme_says_or_says_why_not(transcript):
    page = (ROOT / "docs" / "first_ten_minutes.md").read_text(encoding="utf-8")
    rows = [line.split("` |")[1].split("|") for line in page.splitlines() if line.startswith("| `")]
    assert rows
    assert {ended.strip() for ended, *_ in rows} <= {"0", "1", "4", "130", "-15", "not run"}


def test_a_step_that_takes_too_long_is_interrupted_and_what_it_had_said_is_kept(transcript, newcomer, monkeypatch):
    monkeypatch.setattr(transcript, "LONGEST", 5.0)
    waits = "try:\n    print('began', flush=True)\n    time.sleep(100)\nexcept KeyboardInterrupt:\n    print('ended')"
    done = newcomer()._run("wait", [sys.executable, "-c", f"import time\n{waits}"])
    assert (done.code, done.said) == (0, "began\nended\n")
    assert 5 <= done.seconds < 90
