"""What looks at a release: licences, the contents of the wheel, coverage by floor."""

from __future__ import annotations

import importlib.util
import zipfile
from email.message import Message
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def tool(name):
    spec = importlib.util.spec_from_file_location(Path(name).stem, ROOT / "tools" / name)
    module = importlib.util.module_from_spec(spec)
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


def test_every_extra_of_the_check_is_one_of_the_package(wheel_check):
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert wheel_check.USES.keys() <= extras.keys()


def test_coverage_is_summed_room_by_room():
    coverage = tool("coverage_by_floor.py")
    counted = {"core/a.py": (1, 2), "core/b.py": (3, 6), "x.py": (1, 1)}
    files = {
        f"src/likewise/{name}": {"summary": {"covered_lines": reached, "num_statements": there}}
        for name, (reached, there) in counted.items()
    }
    assert coverage.rooms({"files": files}) == {"core": (4, 8), "(top)": (1, 1)}
    text = coverage.table(coverage.rooms({"files": files}))
    assert "0  core          50.0 %  (4 of 8 statements)" in text
    assert "6  cli          nothing measured" in text
    assert "-  (top)        100.0 %  (1 of 1 statements)" in text
