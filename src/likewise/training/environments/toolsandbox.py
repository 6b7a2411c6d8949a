"""Runs of ToolSandbox, collected at an endpoint: ToolSandbox in its own Python, driven by a file with our two roles.

Runs are resumed: those that a trial's summary has are not run again.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from likewise.core.errors import BackendError
from likewise.core.rollout import Rollout
from likewise.formats.registry import read_rollouts
from likewise.training.environments import toolsandbox_driver
from likewise.training.environments.driving import drive

__all__ = ["ToolSandboxSettings", "collect_toolsandbox"]


@dataclass(frozen=True, slots=True)
class ToolSandboxSettings:
    """What is run.

    Attributes:
        url: Base of an OpenAI-compatible endpoint, as in http://127.0.0.1:8000/v1.
        model: The agent's model there.
        scenarios: Names of scenarios.
        trials: Runs of each.
        temperature: Of the agent.
        user: A user of yours, a `BaseRole` as `module:class` in ToolSandbox's Python; its simulator where None.
        user_model: The simulated user's model; the agent's where None.
        user_url: Its endpoint; the agent's where None. Both get the same key.
        user_temperature: Of the simulated user.
        agent: An agent of yours in place of ours, likewise.
        timeout: Seconds for one answer.
        key_variable: Environment variable that holds the endpoint's key; it is passed on, and written nowhere.
    """

    url: str
    model: str
    scenarios: tuple[str, ...]
    trials: int = 8
    temperature: float = 1.0
    user: str | None = None
    user_model: str | None = None
    user_url: str | None = None
    user_temperature: float = 0.0
    agent: str | None = None
    timeout: float = 120.0
    key_variable: str = "OPENAI_API_KEY"

    def __post_init__(self) -> None:
        """Refuse numbers that cannot be, and no scenario at all."""
        if self.trials < 1 or self.timeout <= 0 or not self.scenarios:
            raise ValueError("trials and timeout are above 0, and there is at least one scenario")


def collect_toolsandbox(
    python: str | Path, settings: ToolSandboxSettings, out: str | Path, *, limit: float | None = None
) -> list[Rollout]:
    """Run ToolSandbox and read what it wrote.

    Args:
        python: The interpreter that ToolSandbox is installed in.
        settings: What is run.
        out: Folder for results, begun or to begin: one of ToolSandbox's own form for each trial.
        limit: Seconds for all of it; none where None. What was finished by then stays in `out`.

    Returns:
        All runs in `out`; those that failed around the agent are invalid.

    Raises:
        BackendError: The interpreter is not there, has no ToolSandbox, took too long, or wrote nothing that can be
            read; in its words.
    """
    out = Path(out).absolute()
    plan = asdict(settings)
    key_variable = str(plan.pop("key_variable"))
    plan |= {
        "out": str(out),
        "scenarios": list(settings.scenarios),
        "url": settings.url.rstrip("/"),
        "user_url": (settings.user_url or settings.url).rstrip("/"),
        "user_model": settings.user_model or settings.model,
    }
    command = [python, Path(toolsandbox_driver.__file__)]
    drive("ToolSandbox", command, plan, key_variable=key_variable, limit=limit)
    summaries = sorted(out.glob("trial-*/result_summary.json"))
    if not summaries:
        raise BackendError(f"ToolSandbox ended without a result in {out}")
    return list(read_rollouts(summaries).rollouts)
