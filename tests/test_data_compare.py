"""Compare on real runs: one agent against itself is never called, and against other agents it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from data_folder import data_folder
from judges import LetterEncoder, TableJudge
from likewise import read_rollouts
from likewise.core.rollout import Rollout
from likewise.evaluation.change import Change
from likewise.evaluation.compare import compare
from likewise.evaluation.versions import Measuring

pytestmark = [pytest.mark.data, pytest.mark.timeout(900)]

MEASURING = Measuring(judge=TableJudge(), encoder=LetterEncoder())  # what no rule settles is neutral: no model is asked


@pytest.fixture(scope="module")
def airline() -> dict[int, list[Rollout]]:
    """The 30 tau-bench tasks, by trial."""
    trials: dict[int, list[Rollout]] = {}
    seen: dict[str, int] = {}
    for rollout in read_rollouts(data_folder() / "rollouts/tau-bench/gpt-4o-airline-tasks-0-29.json"):
        trial = seen[rollout.task_id] = seen.get(rollout.task_id, -1) + 1
        trials.setdefault(trial, []).append(rollout)
    assert {trial: len(runs) for trial, runs in trials.items()} == dict.fromkeys(range(4), 30)
    return trials


@pytest.mark.parametrize("half", [(0, 1), (0, 2), (0, 3)])
def test_two_halves_of_one_agents_trials_are_undecided(
    airline: dict[int, list[Rollout]], half: tuple[int, int]
) -> None:
    base = [run for trial in half for run in airline[trial]]
    candidate = [run for trial in range(4) if trial not in half for run in airline[trial]]
    first, second, between = MEASURING.both(base, candidate)
    comparison = compare(first, second, between=between, deciding=["rsd", "success_rate"])
    assert comparison.verdict is Change.UNDECIDED
    assert len(comparison.tasks) == 30
    assert not any(task.acts_otherwise for task in comparison.tasks)
    rsd = comparison.differences[0]
    assert rsd.detectable is not None
    assert 0.1 < rsd.detectable < 1  # of 5: two trials of 30 tasks find a difference of that size


def test_an_agent_that_does_the_same_every_time_is_called_better(airline: dict[int, list[Rollout]]) -> None:
    base = [run for trial in range(4) for run in airline[trial]]
    candidate = [replace(run, run_id=str(i)) for i in range(4) for run in airline[0]]
    first, second, between = MEASURING.both(base, candidate)
    comparison = compare(first, second, between=between)
    assert comparison.verdict is Change.BETTER
    assert comparison.differences[0].p_value is not None
    assert comparison.differences[0].p_value < 0.001
