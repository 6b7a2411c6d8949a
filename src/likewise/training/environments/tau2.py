"""Runs of tau2, collected at an endpoint: tau2 in its own Python, driven by a file that registers our agent.

tau2 needs Python 3.12 and pins much, so it lives in an environment of its own; likewise sends it settings and reads its
results. Install its repository there: the package called tau2 on PyPI is another project.

Runs are resumed: those that the results file has are not run again.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from likewise.core.errors import BackendError
from likewise.core.rollout import Rollout
from likewise.formats.registry import read_rollouts
from likewise.training.environments import tau2_driver
from likewise.training.environments.driving import drive

__all__ = ["Tau2Settings", "collect_tau2"]


@dataclass(frozen=True, slots=True)
class Tau2Settings:
    """What is run.

    Attributes:
        url: Base of an OpenAI-compatible endpoint, as in http://127.0.0.1:8000/v1.
        model: The agent's model there.
        domain: Domain of tau2: mock, airline, retail, telecom.
        tasks: Ids of tasks; all of the split where None.
        trials: Runs of each task.
        temperature: Of the agent.
        user: A user of yours, as `module:class` in tau2's Python; tau2's simulator where None.
        user_model: The simulated user's model; the agent's where None.
        user_url: Its endpoint; the agent's where None. Both get the same key.
        user_temperature: Of the simulated user.
        agent: An agent factory of yours in tau2's Python in place of ours, as `module:factory`.
        task_set: Task set of tau2; the domain's where None.
        split: Split of the tasks; all where None.
        max_steps: Messages after which a run is cut.
        parallel: Runs under way at once.
        seed: Of the trials; tau2 draws each trial's seed from it.
        timeout: Seconds for one answer of the agent's endpoint.
        key_variable: Environment variable that holds the endpoint's key; it is passed on, and written nowhere.
    """

    url: str
    model: str
    domain: str = "airline"
    tasks: tuple[str, ...] | None = None
    trials: int = 8
    temperature: float = 1.0
    user: str | None = None
    user_model: str | None = None
    user_url: str | None = None
    user_temperature: float = 0.0
    agent: str | None = None
    task_set: str | None = None
    split: str | None = None
    max_steps: int = 100
    parallel: int = 1
    seed: int = 300
    timeout: float = 120.0
    key_variable: str = "OPENAI_API_KEY"

    def __post_init__(self) -> None:
        """Refuse numbers that cannot be."""
        if min(self.trials, self.max_steps, self.parallel) < 1 or self.timeout <= 0:
            raise ValueError("trials, max_steps, parallel and timeout are above 0")


def collect_tau2(
    python: str | Path, settings: Tau2Settings, out: str | Path, *, limit: float | None = None
) -> list[Rollout]:
    """Run tau2 and read what it wrote.

    Args:
        python: The interpreter that tau2 is installed in, Python 3.12 or newer.
        settings: What is run.
        out: File for tau2's results (tau2's own format), begun or to begin.
        limit: Seconds for all of it; none where None. What was finished by then stays in `out`.

    Returns:
        All runs in `out`, failed ones included; those that only the harness failed are invalid.

    Raises:
        BackendError: The interpreter is not there, has no tau2, took too long, or tau2 failed; in its words.
        RolloutFormatError: What tau2 wrote cannot be read.
    """
    out = Path(out).absolute()
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.name != "results.json":
        raise BackendError(f"{out}: tau2 writes a file called results.json; name one in a folder of its own")
    plan = asdict(settings)
    key_variable = str(plan.pop("key_variable"))
    plan |= {
        "out": str(out),
        "tasks": settings.tasks and list(settings.tasks),
        "url": settings.url.rstrip("/"),
        "user_model": settings.user_model or settings.model,
        "user_url": (settings.user_url or settings.url).rstrip("/"),
    }
    command = [python, "-P", Path(tau2_driver.__file__)]  # without -P this very file would be taken for tau2
    # Else litellm asks the net for a list of prices before it asks the endpoint.
    extra = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    drive("tau2", command, plan, key_variable=key_variable, limit=limit, extra=extra)
    if not out.is_file():
        raise BackendError(f"tau2 ended without a result in {out}")
    return list(read_rollouts(out).rollouts)
