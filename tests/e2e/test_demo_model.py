"""The shipped demonstration model: reads without PyTorch, says what it is, and knows what it does not know."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from likewise.learned.checkpoint import read_checkpoint

pytestmark = pytest.mark.model

EXAMPLES = Path(__file__).parents[2] / "examples"
DEMO = EXAMPLES / "models" / "airline-demo"
ELSEWHERE = {
    "tests fail": ["I run the test suite first.", "The import in parser.py is circular; I move it into the function."],
    "disk is full": ["df -h shows /var at 100 %.", "I rotate the logs of the web server and restart it."],
}


def scores(likewise, runs, tmp_path):
    answer = likewise("score", "--model", DEMO, runs, "--json", "scores.json", "-q")
    assert answer.returncode == 0, answer.stderr
    return json.loads((tmp_path / "scores.json").read_text())


def test_it_is_labelled_a_demonstration_and_learned_from_the_shipped_runs_alone():
    facts = read_checkpoint(DEMO).facts
    assert "demonstration" in facts["demo"]
    shipped = json.loads((EXAMPLES / "rollouts" / "airline.json").read_text())
    assert facts["rollouts"] == len(shipped)
    assert facts["tasks"] == len({run["task_id"] for run in shipped})
    assert facts["calibration"] is None


def test_the_folder_is_small_enough_to_ship():
    assert sum(path.stat().st_size for path in DEMO.iterdir()) < 6_000_000


def test_every_state_of_another_domain_is_called_unfamiliar(likewise, runs_file, tmp_path):
    found = scores(likewise, runs_file({task: {"0": texts} for task, texts in ELSEWHERE.items()}), tmp_path)
    assert found["states"] == 4
    assert found["unfamiliar"] == 4


def test_states_that_it_learned_from_are_familiar_but_for_those_not_kept(likewise, tmp_path):
    """512 states are kept to compare with; a state that was kept lies at distance 0, the others of its task near."""
    found = scores(likewise, EXAMPLES / "rollouts" / "airline.json", tmp_path)
    assert found["unfamiliar"] <= 0.05 * found["states"]
