"""The examples run as they are, and with a real endpoint after changing the one line they name; the notebook, too."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from llm_server import said, serving

EXAMPLES = Path(__file__).parents[2] / "examples"
OFFLINE = 'Endpoint("table", url)  # a real one: Endpoint("gpt-4o-mini"), with OPENAI_API_KEY set'
SCRIPTS = ("reliability", "refund_once", "grounded")

pytestmark = pytest.mark.model


def run(path, environment):
    ended = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_a_contradiction_is_not_served(command_environment):
    said = run(EXAMPLES / "reliability.py", command_environment)
    assert "serve, HIGH, 2/2 agree: Paris is the capital of France." in said
    assert "refuse, CRITICAL, 3/5 agree: None" in said


def test_five_runs_send_one_refund(command_environment):
    said = run(EXAMPLES / "refund_once.py", command_environment)
    assert said.count("may I call send_refund") == 1
    assert "refunds sent: 1; 5/5 runs agree; serve" in said


def test_a_sentence_that_the_source_contradicts_is_shown_with_the_passage(command_environment):
    said = run(EXAMPLES / "grounded.py", command_environment)
    assert "contradicted: The refund is $20. | source: The refund is $25." in said


@pytest.mark.parametrize("name", SCRIPTS)
def test_one_line_puts_a_real_endpoint_in_place(name, command_environment, tmp_path):
    text = (EXAMPLES / f"{name}.py").read_text()
    assert text.count(OFFLINE) == 1
    shutil.copy(EXAMPLES / "local_endpoint.py", tmp_path)
    with serving(lambda request: said("It is so.")) as server:
        (tmp_path / "changed.py").write_text(text.replace(OFFLINE, f'Endpoint("tiny", "{server.url}")'))
        printed = run(tmp_path / "changed.py", command_environment)
        assert server.requests
    assert "agree" in printed


NOTEBOOK = """
import json, sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=200, resources={"metadata": {"path": sys.argv[2]}}).execute()
outputs = [out for cell in notebook.cells if cell.cell_type == "code" for out in cell.outputs]
print(json.dumps([out.get("text") or out.get("data", {}).get("text/plain") for out in outputs]))
"""


def test_the_notebook_runs_from_top_to_bottom_in_a_kernel(command_environment, tmp_path):
    """A kernel has an event loop under way; cells await a query, and call one that waits."""
    environment = command_environment | {"JUPYTER_RUNTIME_DIR": str(tmp_path), "IPYTHONDIR": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, "-c", NOTEBOOK, str(EXAMPLES / "reliability.ipynb"), str(EXAMPLES)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    outputs = json.loads(ended.stdout)
    assert "'HIGH', '2/2', 3" in outputs[0]
    assert outputs[1] == "('refuse', 'CRITICAL', None)"
    assert "contradict each other" in outputs[2]


def test_the_notebook_is_kept_without_outputs_and_names_the_line_to_change():
    notebook = json.loads((EXAMPLES / "reliability.ipynb").read_text())
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
    assert sum(OFFLINE in "".join(cell["source"]) for cell in cells) == 1
