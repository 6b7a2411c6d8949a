"""Which module of an agent makes the variance: its own chance, or chance that reaches it from elsewhere.

Modules (query, summary, update, ...) are switched one by one between their usual randomness and a fixed seed or
temperature 0. With V(S) the mean total variance when exactly the modules in S are random:

* intrinsic share of m: V({m}) / V(all): what m makes alone, everything else held fixed;
* propagated share of m: 1 - V({m}) / V(all) - V(all but m) / V(all) would count interactions twice, so what is told is
  V(all but m) / V(all): the variance that is left, made elsewhere, when m itself is fixed.

Shares need not sum to 1: modules interact. Where fixing does not take (a provider that heeds no seed), V(none) shows
it: it should be 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.core.estimate import Estimate
from likewise.metrics.resampling import bootstrap_mean
from likewise.reliability.layer import ReliabilityLayer

__all__ = ["Attribution", "ModuleShare", "attribute_variance"]

MakeAgent = Callable[[frozenset[str]], Callable[[Any], Any]]
"""Makes the agent in which exactly the modules named are random."""


@dataclass(frozen=True, slots=True)
class ModuleShare:
    """One module: mean total variance with it alone random, and with it alone fixed; and both over V(all)."""

    module: str
    alone: Estimate
    without: Estimate
    intrinsic: float | None
    propagated: float | None


@dataclass(frozen=True, slots=True)
class Attribution:
    """All modules; `total` is V(all), `floor` is V(none), which should be 0."""

    total: Estimate
    floor: Estimate
    modules: tuple[ModuleShare, ...]


def attribute_variance(
    make_agent: MakeAgent, modules: Sequence[str], queries: Sequence[Any], layer: ReliabilityLayer
) -> Attribution:
    """Measure V for all, none, each alone and each left out.

    Args:
        make_agent: Makes an agent of the modules that are random.
        modules: Their names, at least one, each once.
        queries: What is asked; the mean over them is taken.
        layer: How it is measured; give it a mode with a fixed number of runs.

    Raises:
        ValueError: No module, a module twice, or no query.
        AgentError: All runs of a query fail.
    """
    if not modules or len(set(modules)) != len(modules) or not queries:
        raise ValueError("an attribution takes modules, each once, and queries")
    everything = frozenset(modules)

    def variance(random: frozenset[str]) -> Estimate:
        wrapped = layer.wrap(make_agent(random))
        values = [1 - v for q in queries if (v := wrapped.query(q).reliability) is not None]
        return bootstrap_mean(np.array(values, dtype=np.float64))

    total, floor = variance(everything), variance(frozenset())
    shares = []
    for module in modules:
        alone = variance(frozenset({module}))
        without = variance(everything - {module})
        shares.append(ModuleShare(module, alone, without, _share(alone, total), _share(without, total)))
    return Attribution(total, floor, tuple(shares))


def _share(part: Estimate, total: Estimate) -> float | None:
    return part.value / total.value if part.value is not None and total.value else None
