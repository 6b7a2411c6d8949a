"""Every code block of the README and the documentation is run, or says why not; those are counted.

Pages are worked through as a reader would: the blocks of one page in one folder, in order. Commands run in this process
(the console script is started by tests/e2e), and all pages share one label store, so that a pair is judged once.
"""

from __future__ import annotations

import ast
import glob
import json
import os
import shutil
import subprocess
import sys
import tomllib
from functools import cache

import pytest
import yaml
from typer.testing import CliRunner

from docs.code_blocks import ROOT, Block, blocks_of, pages
from docs.folder import fill, fill_mapped, fill_methods
from likewise import evaluate, read_rollouts
from likewise.backends.judges import embedded_judge
from likewise.backends.onnx_encoder import embedded_encoder
from likewise.cli.main import app
from likewise.store.records import Origin, VerdictRecord
from likewise.store.store import Store
from llm_server import Reply, relation, said, serving
from verdicts_factory import verdict_of

judge, encoder = cache(embedded_judge), cache(embedded_encoder)
BLOCKS = {path.relative_to(ROOT).as_posix(): blocks_of(path) for path in pages()}
ALL = [block for blocks in BLOCKS.values() for block in blocks]
LOCAL = "http://localhost:8000/v1"
MAY_FAIL = {"compare", "report", "calibrate", "run", "check"}
"""Commands that may end with 1, a threshold failed: what the shipped runs are like is not the page's affair."""

NOT_RUN = 17
"""Blocks and lines that are not run. A larger number needs a reason; a smaller one is progress: write it here."""
OTHER_COMMANDS = 29
"""Commands of others in these blocks (pip, docker, ...), which are read and not run."""


def agent(query):
    """An agent of the pages."""
    return "It opens at nine."


def history_names():
    """A verdict, and a history that holds it under the agent of the page."""
    verdict = verdict_of()
    with Store.open(os.environ["LIKEWISE_DATABASE_URL"]) as store:
        store.write([VerdictRecord.of(verdict, Origin("support-bot", task="refund"))])
    return {"verdict": verdict}


NAMES = {
    "README.md": lambda: {"my_agent": agent},
    "docs/history.md": history_names,
    "docs/judges.md": lambda: {"judge_id": judge().judge_id},
    "docs/reliability.md": lambda: {
        "my_agent": agent,
        "agent": agent,
        "agent_with_fix": agent,
        "queries": ["When?", "And when on Sundays?"],
        "is_right": lambda query, answer: True,
        "refund": lambda amount: amount,
        "ask_me": lambda call: True,
    },
    "docs/tool_rules.md": lambda: {"evaluate": evaluate, "rollouts": read_rollouts("runs.json")},
}
"""What a page takes for granted: names that are the reader's own."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """The filled folder, copied for each page, and the label store of all pages."""
    folder = tmp_path_factory.mktemp("pages")
    fill(folder / "filled")
    arguments = ["report", str(folder / "filled" / "runs.json"), "--json", str(folder / "filled" / "report.json")]
    made = CliRunner().invoke(app, arguments, env={"LIKEWISE_LABEL_STORE": str(folder / "labels.sqlite")})
    assert made.exit_code == 0, made.output
    return folder


@pytest.fixture
def page_folder(shared, tmp_path, monkeypatch):
    """A fresh copy of the folder, which is the current one; nothing of the user's is read or written."""
    shutil.copytree(shared / "filled", tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.syspath_prepend(str(tmp_path / "work"))
    monkeypatch.setenv("LIKEWISE_LABEL_STORE", str(shared / "labels.sqlite"))
    monkeypatch.setenv("LIKEWISE_DATABASE_URL", f"sqlite:///{tmp_path / 'history.sqlite'}")
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("likewise.backends.judges.embedded_judge", judge)
    monkeypatch.setattr("likewise.evaluation.evaluate.embedded_judge", judge)
    monkeypatch.setattr("likewise.evaluation.evaluate.embedded_encoder", encoder)
    yield tmp_path / "work"
    for name in ("my_agent", "my_module"):
        sys.modules.pop(name, None)


def answer_of(request):
    """What the endpoint of the tests says: its models, a relation of two quoted texts, an answer."""
    if request.path.endswith("/models"):
        models = {"object": "list", "data": [{"id": "tiny", "object": "model", "created": 1, "owned_by": "tests"}]}
        return Reply(200, json.dumps(models).encode(), {"Content-Type": "application/json"})
    return relation("neutral") if b" begins" in request.raw else said("It opens at nine.")


@pytest.fixture
def endpoint(monkeypatch):
    """A chat endpoint of this machine, in place of those that the pages name."""
    with serving(answer_of) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server.url


def run_command(words: list[str], block: Block, url: str) -> None:
    """Run one command of ours; what it says goes into the failure."""
    paths = [sorted(glob.glob(word)) if "*" in word and glob.glob(word) else [word] for word in words[1:]]
    arguments = [word.replace(LOCAL, url) for found in paths for word in found]
    ended = CliRunner().invoke(app, arguments, input="correct horse battery\n")
    allowed = (0, 1) if words[1:2] and words[1] in MAY_FAIL else (0,)
    assert ended.exit_code in allowed, f"{block.name}: {' '.join(words)}\n{ended.output}{ended.exception!r}"


def run_shell(block: Block, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the commands of ours, one after the other."""
    for words in block.commands():
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            if "..." not in value and "host" not in value:
                monkeypatch.setenv(name, value)
        elif words[0] == "likewise" and not _skipped(words, block):
            run_command(words, block, url)


def _skipped(words, block):
    return any(" ".join(words).startswith(prefix) for prefix in block.skipped)


def run_tests(block: Block, folder) -> None:
    """Run a block of tests in a pytest of its own, as the page's reader would; the agent is the reader's."""
    names = "import builtins\nbuiltins.my_agent = lambda query: 'You may cancel within 24 hours.'\n"
    (folder / "conftest.py").write_text(names)
    (folder / "test_block.py").write_text(block.text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_block.py"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)
    assert ended.returncode == 0, f"{block.name}\n{ended.stdout}{ended.stderr}"


def run_block(block: Block, names: dict, folder, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a block by its kind; files of settings are read as what they are."""
    if block.kind == "python" and "def test_" in block.text:
        run_tests(block, folder)
    elif block.kind == "python":
        exec(compile(block.text, block.name, "exec"), names)
    elif block.kind == "sh":
        run_shell(block, url, monkeypatch)
    elif block.kind == "toml":
        tomllib.loads(block.text)
    elif block.kind == "yaml":
        assert yaml.safe_load(block.text)


@pytest.mark.model
@pytest.mark.parametrize("page", [name for name, blocks in BLOCKS.items() if blocks])
def test_the_code_of_a_page_runs_as_it_stands(page, page_folder, endpoint, monkeypatch):
    if page == "docs/tables.md":
        fill_methods(page_folder)
    if page == "docs/mapping.md":
        fill_mapped(page_folder, next(block.text for block in BLOCKS[page] if block.kind == "toml"))
    names = {"pytest": pytest, **(NAMES[page]() if page in NAMES else {})}
    for block in BLOCKS[page]:
        if block.not_run is None:
            run_block(block, names, page_folder, endpoint, monkeypatch)


def test_what_is_not_run_is_counted_so_that_it_cannot_grow_in_silence():
    skipped = [f"{b.name}: {each}" for b in ALL for each in ([b.not_run] if b.not_run else b.skipped.values())]
    assert len(skipped) == NOT_RUN, "\n".join(skipped)


def test_commands_of_others_are_counted_too():
    typed = [(b.name, words) for b in ALL if b.kind == "sh" for words in b.commands()]
    others = [f"{name}: {' '.join(words)}" for name, words in typed if words[0] not in ("likewise", "export")]
    assert len(others) == OTHER_COMMANDS, "\n".join(others)


def test_every_kind_of_block_is_known():
    assert {block.kind for block in ALL} <= {"python", "sh", "toml", "yaml", "text", "json", "bash", "ini"}


def test_no_command_hides_in_a_block_that_is_not_run():
    texts = [
        b for b in ALL if b.kind == "text" and not b.text.startswith("$ ")
    ]  # with a prompt: what was typed, and its answer
    hidden = [b.name for b in texts for line in b.text.splitlines() if line.startswith("likewise ")]
    assert hidden == []


def test_a_comment_that_excuses_a_line_excuses_one_that_is_there():
    for block in ALL:
        typed = [" ".join(words) for words in block.commands()] if block.skipped else []
        for words in block.skipped:
            assert any(command.startswith(words) for command in typed), f"{block.name}: {words}"


def test_python_blocks_are_python():
    for block in ALL:
        if block.kind == "python":
            ast.parse(block.text)


def test_the_runner_notices_a_command_that_fails(tmp_path, page_folder, endpoint, monkeypatch):
    (tmp_path / "page.md").write_text("Text.\n\n    likewise report nowhere.json\n")
    monkeypatch.setattr("docs.code_blocks.ROOT", tmp_path)
    (block,) = blocks_of(tmp_path / "page.md")
    with pytest.raises(AssertionError, match="no such file"):
        run_shell(block, endpoint, monkeypatch)


def test_a_block_reads_as_its_commands(tmp_path, monkeypatch):
    typed = "    $ likewise report a  # why\n    fine\n    $ likewise serve\n"
    text = f"Text.\n\n<!-- not run, `likewise serve`: it stays -->\n\n{typed}"
    (tmp_path / "page.md").write_text(text)
    monkeypatch.setattr("docs.code_blocks.ROOT", tmp_path)
    (block,) = blocks_of(tmp_path / "page.md")
    assert block.commands() == [["likewise", "report", "a"], ["likewise", "serve"]]
    assert block.skipped == {"likewise serve": "it stays"}
    assert json.dumps(block.not_run) == "null"
