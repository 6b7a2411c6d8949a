"""Tells whether an LLM agent behaves alike when it is run again, and shows where and why it does not.

>>> from likewise import evaluate, read_rollouts
>>> evaluation = evaluate(read_rollouts("runs.json"))  # doctest: +SKIP
>>> evaluation.summary.rsd  # doctest: +SKIP

Names load on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from likewise.core.estimate import Estimate as Estimate
    from likewise.core.group import LengthPolicy as LengthPolicy
    from likewise.core.group import RolloutGroup as RolloutGroup
    from likewise.core.group import group_rollouts as group_rollouts
    from likewise.core.rollout import Rollout as Rollout
    from likewise.core.version import VERSION as __version__
    from likewise.evaluation.compare import compare as compare
    from likewise.evaluation.evaluate import evaluate as evaluate
    from likewise.evaluation.fit import fit_rsd as fit_rsd
    from likewise.formats.native import write_rollouts as write_rollouts
    from likewise.formats.registry import read_rollouts as read_rollouts
    from likewise.learned.model import RSDModel as RSDModel
    from likewise.learned.monitor import Monitor as Monitor
    from likewise.metrics.divergence import monte_carlo_rsd as monte_carlo_rsd
    from likewise.metrics.pass_k import pass_at_k as pass_at_k
    from likewise.metrics.pass_k import pass_hat_k as pass_hat_k
    from likewise.metrics.total_variance import total_variance as total_variance
    from likewise.reliability.endpoint import Endpoint as Endpoint
    from likewise.reliability.layer import ReliabilityLayer as ReliabilityLayer
    from likewise.reliability.verdict import Verdict as Verdict
    from likewise.scoring.label import label_pairs as label_pairs
    from likewise.scoring.score import score_group as score_group
    from likewise.training.rewards import RSDReward as RSDReward

_HOMES = {
    "Endpoint": "likewise.reliability.endpoint",
    "Estimate": "likewise.core.estimate",
    "LengthPolicy": "likewise.core.group",
    "ReliabilityLayer": "likewise.reliability.layer",
    "Rollout": "likewise.core.rollout",
    "Monitor": "likewise.learned.monitor",
    "RSDModel": "likewise.learned.model",
    "RSDReward": "likewise.training.rewards",
    "RolloutGroup": "likewise.core.group",
    "Verdict": "likewise.reliability.verdict",
    "compare": "likewise.evaluation.compare",
    "evaluate": "likewise.evaluation.evaluate",
    "fit_rsd": "likewise.evaluation.fit",
    "group_rollouts": "likewise.core.group",
    "label_pairs": "likewise.scoring.label",
    "monte_carlo_rsd": "likewise.metrics.divergence",
    "pass_at_k": "likewise.metrics.pass_k",
    "pass_hat_k": "likewise.metrics.pass_k",
    "read_rollouts": "likewise.formats.registry",
    "score_group": "likewise.scoring.score",
    "total_variance": "likewise.metrics.total_variance",
    "write_rollouts": "likewise.formats.native",
}

__all__ = [
    "Endpoint",
    "Estimate",
    "LengthPolicy",
    "Monitor",
    "RSDModel",
    "RSDReward",
    "ReliabilityLayer",
    "Rollout",
    "RolloutGroup",
    "Verdict",
    "__version__",
    "compare",
    "evaluate",
    "fit_rsd",
    "group_rollouts",
    "label_pairs",
    "monte_carlo_rsd",
    "pass_at_k",
    "pass_hat_k",
    "read_rollouts",
    "score_group",
    "total_variance",
    "write_rollouts",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module attribute can be anything
    """Load a public name from its home."""
    if name == "__version__":
        return import_module("likewise.core.version").VERSION
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """The public names."""
    return __all__
