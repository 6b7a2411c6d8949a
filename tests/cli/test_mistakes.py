"""Each of the likeliest mistakes is made; the page that shows them is the table that is tested."""

import shlex
from pathlib import Path

import pytest

from mistakes import HOME, MISTAKES, rendered

PAGE = Path(__file__).parents[2] / "docs" / "troubleshooting.md"
USAGE = ("Usage: ", "Try '")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Make files and settings as a mistake wants them, and go there."""
    folder = tmp_path / "me"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def _make(mistake):
        for name, content in mistake.files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        for name, value in mistake.environment.items():
            if value is None:
                monkeypatch.delenv(name, raising=False)
            else:
                monkeypatch.setenv(name, value)
        return folder

    return _make


def answer(result):
    """What is said beside the two lines on usage."""
    return [line for line in result.stderr.splitlines() if line.strip() and not line.startswith(USAGE)]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.typed)
def test_a_mistake_is_answered_with_what_to_do(invoke, home, mistake):
    folder = home(mistake)
    result = invoke(*shlex.split(mistake.typed))
    assert "Traceback" not in result.output
    assert "internal error" not in result.output
    said = "\n".join(answer(result)).replace(str(folder), HOME)
    if mistake.shows:
        assert mistake.shows in " ".join(result.stdout.split())
    else:
        assert said.removeprefix("likewise: settings of likewise.toml\n") == mistake.says
    assert result.exit_code == mistake.code


def test_there_are_fifty_and_no_two_are_the_same():
    assert len(MISTAKES) >= 50
    assert len({(each.typed, each.says) for each in MISTAKES}) == len(MISTAKES)


def test_the_page_is_the_table():
    assert PAGE.read_text(encoding="utf-8") == rendered(), "run: python tests/mistakes.py > docs/troubleshooting.md"
