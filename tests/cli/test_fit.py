from __future__ import annotations

import importlib.util
import json

import pytest

RUNS = {task: {str(k): [f"{task} it is.", done] for k, done in enumerate(["Yes.", "No.", "Yes."])} for task in "abcd"}
HAS_TORCH = importlib.util.find_spec("torch") is not None


@pytest.mark.skipif(HAS_TORCH, reason="says what to type where PyTorch is not installed")
def test_without_pytorch_the_line_to_type_is_given_before_anything_is_judged(likewise, runs_file, tmp_path):
    answer = likewise("fit", runs_file(RUNS), "--out", "m")
    assert answer.returncode == 4
    assert "pip install 'likewise[learned]'" in answer.stderr
    assert not (tmp_path / "m").exists()


def test_refuses_options_and_folders_that_cannot_be(likewise, runs_file, tmp_path):
    runs = runs_file(RUNS)
    answer = likewise("fit", runs, "--out", "m", "--set", "speed=1")
    assert answer.returncode == 2
    assert "sets no option; there are gamma" in answer.stderr
    assert likewise("fit", runs, "--out", "m", "--set", "gamma=0.5").returncode == 2
    assert likewise("fit", runs, "--out", runs).returncode == 2
    answer = likewise("fit", runs, "--out", "m", "--demo", "two\nlines")
    assert answer.returncode == 2
    assert "printable characters" in answer.stderr
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("x")
    answer = likewise("fit", runs, "--out", "full")
    assert answer.returncode == 2
    assert "holds other files" in answer.stderr


@pytest.mark.torch
@pytest.mark.model
def test_runs_in_model_out_scores_from_it_and_no_claim_on_what_it_learned_from(likewise, runs_file, tmp_path):
    runs = runs_file(RUNS)
    answer = likewise("fit", runs, "--out", "m", "--steps", "20", "--set", "every=10", "--json")
    assert answer.returncode == 0, answer.stderr
    facts = json.loads(answer.stdout)
    assert facts["tasks"] == 4
    assert not (tmp_path / "m" / "training").exists()
    scored = likewise("score", "--model", "m", runs, "--json", "-")
    assert len(json.loads(scored.stdout)["runs"]) == 12
    refused = likewise("calibrate", "--model", "m", runs)
    assert refused.returncode == 3
    assert "4 of 4 task(s) were trained on" in refused.stderr
