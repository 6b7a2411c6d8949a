"""Which requests of the proxy are verified, and how: settings turned into layers, each made once."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from likewise.reliability.handling import Handling, OnFail
from likewise.reliability.policy import Policy
from likewise.reliability.runner import RunSettings
from likewise.service.settings import PolicySettings, ProxyMode, ServiceSettings, Verb

__all__ = ["DEFAULT_ROUTE", "Chosen", "PolicyTable", "handling_of", "policy_of", "running_of"]

DEFAULT_ROUTE = "default"
"""The route of requests without one in their path."""
_VERBS = {Verb.REFUSE: OnFail.REFUSE, Verb.FLAG: OnFail.FLAG, Verb.PASS: OnFail.NOOP}


@dataclass(frozen=True, slots=True)
class Chosen:
    """What holds for a request.

    Attributes:
        policy: The policy.
        number: Its place in the settings; -1 for the one that holds where none fits.
        upstream: Name of the upstream; None where there is none for this model.
    """

    policy: PolicySettings
    number: int
    upstream: str | None

    @property
    def verifies(self) -> bool:
        """Whether the request is verified; passed through otherwise."""
        return self.policy.mode is not ProxyMode.OFF


class PolicyTable:
    """Finds the policy of a route and a model: the first that fits, else the defaults, which verify."""

    def __init__(self, settings: ServiceSettings) -> None:
        """Read the settings' policies and upstreams."""
        self._policies, self._upstreams = settings.policies, settings.upstreams
        self.find = lru_cache(maxsize=1_024)(self._find)  # callers make up models: bounded

    def _find(self, route: str, model: str) -> Chosen:
        """What holds for a request."""
        number, policy = next(
            (
                (i, each)
                for i, each in enumerate(self._policies)
                if fnmatchcase(route, each.route) and fnmatchcase(model, each.model)
            ),
            (-1, PolicySettings()),
        )
        return Chosen(policy, number, policy.upstream or self._upstream(model))

    def _upstream(self, model: str) -> str | None:
        for name, upstream in self._upstreams.items():
            if any(fnmatchcase(model, pattern) for pattern in upstream.models):
                return name
        return None


def policy_of(settings: PolicySettings) -> Policy:
    """How runs are spent.

    Raises:
        ValueError: Numbers that cannot be together, as an error that the budget cannot reach.
    """
    most: dict[str, Any] = {} if settings.runs is None else {"runs": settings.runs, "escalate_runs": settings.runs}
    budget = settings.budget_runs
    if settings.mode is ProxyMode.SEQUENTIAL and settings.runs and "budget_runs" not in settings.model_fields_set:
        budget = settings.runs
    return Policy(
        settings.mode.value,  # type: ignore[arg-type] # a word is what it takes, and checks
        escalate_threshold=settings.escalate_threshold,
        error=settings.error,
        budget=budget,
        **most,
    )


def handling_of(settings: PolicySettings) -> Handling:
    """What is done with an answer that does not hold."""
    return Handling(
        critical=_VERBS[settings.critical],
        low=_VERBS[settings.low],
        unmeasured=_VERBS[settings.unmeasured],
        no_majority=_VERBS[settings.no_majority],
        min_reliability=settings.min_reliability,
    )


def running_of(settings: PolicySettings) -> RunSettings:
    """How long and how often."""
    return RunSettings(deadline=settings.deadline, attempts=settings.attempts, concurrency=32)
