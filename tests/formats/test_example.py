"""The example that travels with the repository shows every kind of task; counts come from the raw JSON."""

from pathlib import Path

from likewise.core.group import group_rollouts
from likewise.core.rollout import StopReason
from likewise.formats import read_rollouts

FOLDER = Path(__file__).resolve().parents[2] / "examples/rollouts"


def test_the_example_has_ten_tasks_of_four_runs_from_always_right_to_always_wrong():
    found = read_rollouts(FOLDER / "airline.json", strict=True)
    solved = {group.task_id: sum(bool(r.success) for r in group.rollouts) for group in group_rollouts(found)}
    assert solved == {"1": 1, "2": 1, "5": 1, "8": 0, "9": 0, "12": 4, "15": 2, "16": 1, "18": 4, "21": 3}
    assert all(len(group.valid) == 4 for group in group_rollouts(found))
    assert found.warnings == ()


def test_three_runs_of_the_example_were_cut_by_the_step_limit():
    found = read_rollouts(FOLDER / "airline.json")
    cut = [rollout.run_id for rollout in found if rollout.stop is StopReason.CUT]
    assert cut == ["airline#2#1", "airline#9#2", "airline#9#3"]


def test_the_example_is_small_and_names_its_source_and_licence():
    assert (FOLDER / "airline.json").stat().st_size <= 900_000
    notice = (FOLDER / "NOTICE").read_text()
    for fact in ("sierra-research/tau-bench", "59a200c6d575d595120f1cb70fea53cef0632f6b", "MIT", "(c) 2024 Sierra"):
        assert fact in notice
