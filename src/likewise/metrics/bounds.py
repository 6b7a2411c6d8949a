"""What a value of RSD guarantees, and when it guarantees nothing.

The theorems are inequalities about the true U. Given an estimate, a bound is computed from its upper confidence limit
(so it holds with that confidence) and says so; from the bare estimate only on request. A bound that says nothing is
returned without a value and with the reason.

Source: arXiv:2610.33012, section 4 and appendix. Theorems are cited by name: the dominant-class theorem is 2 in the
body and 3 in the appendix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from jaxtyping import Float

from likewise.core.estimate import Estimate

__all__ = [
    "Basis",
    "Bound",
    "Direction",
    "average_case_band",
    "dominant_class",
    "dominant_class_sharp",
    "error_band",
    "immediate_contradiction",
    "immediate_divergence",
    "trajectory_agreement",
    "trajectory_agreement_at_root",
]


class Direction(StrEnum):
    """Which side of its quantity a bound limits."""

    AT_MOST = "at most"
    AT_LEAST = "at least"


class Basis(StrEnum):
    """What a bound was computed from."""

    GIVEN = "given value"
    ESTIMATE = "estimate"
    UPPER_LIMIT = "upper confidence limit of the estimate"


@dataclass(frozen=True, slots=True)
class Bound:
    """A guarantee, or the reason why there is none.

    Attributes:
        name: What is bounded.
        direction: Whether the quantity is at most or at least the value.
        value: The bound; None where it would say nothing.
        basis: What it was computed from.
        reason: Why there is no value; None where there is one.
    """

    name: str
    direction: Direction
    value: float | None
    basis: Basis
    reason: str | None = None

    @property
    def defined(self) -> bool:
        """Whether the bound says something."""
        return self.value is not None

    def as_json(self) -> dict[str, float | str | None]:
        """`{name, direction, value, basis}`, with `reason` where the value is null."""
        fields = {"name": self.name, "direction": self.direction, "value": self.value, "basis": self.basis}
        return fields if self.reason is None else fields | {"reason": self.reason}


def trajectory_agreement(u: float | Estimate, delta: float, conservative: bool = True) -> Bound:
    """Pr(D >= delta) <= U/delta: two rollouts seldom diverge by much if RSD is small (Markov).

    Args:
        u: RSD, at least 0, or its estimate.
        delta: Divergence that should not be reached, above 0.
        conservative: Whether an estimate enters with its upper confidence limit.

    Returns:
        A probability in [0, 1); empty from U >= delta on.

    Raises:
        ValueError: A negative U, or a delta that is not positive.
    """
    if not 0 < delta < math.inf:
        raise ValueError(f"a divergence to stay below is positive, got {delta}")
    name = f"probability that two rollouts diverge by {delta:g} or more"
    value, basis, reason = _resolve(u, conservative)
    if value is not None and value >= delta:
        value, reason = None, f"empty: U = {value:g} is not below delta = {delta:g}"
    return Bound(name, Direction.AT_MOST, None if value is None else value / delta, basis, reason)


def trajectory_agreement_at_root(u: float | Estimate, conservative: bool = True) -> Bound:
    """Pr(D >= sqrt(U)) <= sqrt(U): the same with delta = sqrt(U); for U = 0 it says Pr(D > 0) = 0.

    Args:
        u: RSD, at least 0, or its estimate.
        conservative: Whether an estimate enters with its upper confidence limit.

    Returns:
        A probability in [0, 1), which is the delta too; empty from U >= 1 on.

    Raises:
        ValueError: A negative U.
    """
    name = "probability that two rollouts diverge by the root of U or more"
    value, basis, reason = _resolve(u, conservative)
    if value is not None and value >= 1:
        value, reason = None, f"empty: U = {value:g} is not below 1"
    return Bound(name, Direction.AT_MOST, None if value is None else math.sqrt(value), basis, reason)


def immediate_contradiction(u: float | Estimate, conservative: bool = True) -> Bound:
    """Pr(the next actions contradict) <= U.

    Args:
        u: RSD, at least 0, or its estimate.
        conservative: Whether an estimate enters with its upper confidence limit.

    Returns:
        A probability in [0, 1); empty from U >= 1 on.

    Raises:
        ValueError: A negative U.
    """
    value, basis, reason = _resolve(u, conservative)
    if value is not None and value >= 1:
        value, reason = None, f"empty: U = {value:g} is not below 1"
    return Bound("probability that two next actions contradict", Direction.AT_MOST, value, basis, reason)


def dominant_class(u: float | Estimate, conservative: bool = True) -> Bound:
    """Some class of mutually entailing actions has probability >= 1 - 2U; a majority only for U < 1/4.

    It takes mutual entailment as transitive, which no real model is: see `EquivalenceClasses.transitivity_violations`.

    Args:
        u: RSD, at least 0, or its estimate.
        conservative: Whether an estimate enters with its upper confidence limit.

    Returns:
        A probability in (0, 1]; empty from U >= 1/2 on.

    Raises:
        ValueError: A negative U.
    """
    value, basis, reason = _resolve(u, conservative)
    if value is not None and value >= 0.5:
        value, reason = None, f"empty: 1 - 2U is not above 0 at U = {value:g}"
    bound = None if value is None else 1 - 2 * value
    return Bound("probability of the dominant class of actions", Direction.AT_LEAST, bound, basis, reason)


def dominant_class_sharp(u: float | Estimate, conservative: bool = True) -> Bound:
    """The dominant class has probability >= (1 + sqrt(1 - 4U))/2, for U < 1/4; never below 1 - 2U.

    From sum p^2 >= 1 - 2U and sum p^2 <= m^2 + (1 - m)^2, with m > 1/2 by `dominant_class` (this project's own
    derivation, offered beside the paper's).

    Args:
        u: RSD, at least 0, or its estimate.
        conservative: Whether an estimate enters with its upper confidence limit.

    Returns:
        A probability in (1/2, 1]; empty from U >= 1/4 on.

    Raises:
        ValueError: A negative U.
    """
    value, basis, reason = _resolve(u, conservative)
    if value is not None and value >= 0.25:
        value, reason = None, f"empty: a majority is guaranteed only for U < 1/4, got U = {value:g}"
    bound = None if value is None else (1 + math.sqrt(1 - 4 * value)) / 2
    return Bound("probability of the dominant class of actions, sharp", Direction.AT_LEAST, bound, basis, reason)


def immediate_divergence(p_neutral: float, p_contradiction: float) -> float:
    """D_0 = 0.5 p_neutral + p_contradiction, the expected distance of the two next actions; D_0 <= U.

    Args:
        p_neutral: Probability that two next actions are neutral.
        p_contradiction: Probability that they contradict.

    Returns:
        Expected distance in [0, 1].

    Raises:
        ValueError: Negative probabilities, or a sum above 1.
    """
    if min(p_neutral, p_contradiction) < 0 or p_neutral + p_contradiction > 1 + 1e-9:
        raise ValueError(f"probabilities are at least 0 and sum to at most 1, got {p_neutral} and {p_contradiction}")
    return 0.5 * p_neutral + p_contradiction


def error_band(eps_phi: float, eps_nli: float, gamma: float, fitting: float = 0.0) -> Bound:
    """|U_hat - U*| <= (eps_phi + eps_nli)/(1 - gamma), plus the fitting error that the theorem leaves out.

    With hard labels the suprema are 0.5 or 1, so the band is mostly empty in practice; `average_case_band` says more.

    Args:
        eps_phi: Supremum of |E[d | s, s'] - E[d | phi, phi']|, the error of the representation.
        eps_nli: Supremum of |d_hat - d*|, the error of the judge.
        gamma: Discount in [0, 1).
        fitting: Error of the trained network against the fixed point; outside the theorem, not amplified.

    Returns:
        Half width of the band; empty where it is not below 1/(1 - gamma), the whole range of U.

    Raises:
        ValueError: A negative error, or a discount outside [0, 1).
    """
    _check_discount(gamma)
    if not min(eps_phi, eps_nli, fitting) >= 0:
        raise ValueError(f"errors are at least 0, got {eps_phi}, {eps_nli}, {fitting}")
    name = "error of U by the theorem" if fitting == 0 else "error of U by the theorem plus the fitting error"
    band, whole = (eps_phi + eps_nli) / (1 - gamma) + fitting, 1 / (1 - gamma)
    if band >= whole:
        reason = f"empty: the band {band:g} is not below 1/(1 - gamma) = {whole:g}, the whole range of U"
        return Bound(name, Direction.AT_MOST, None, Basis.GIVEN, reason)
    return Bound(name, Direction.AT_MOST, band, Basis.GIVEN)


def average_case_band(errors: Float[np.ndarray, " turns"], gamma: float) -> Bound:
    """sum_t gamma^t e_t from the judge's measured mean error at each turn; an average, no theorem.

    Args:
        errors: Mean error e_t of the judge at each turn, in [0, 1].
        gamma: Discount in [0, 1).

    Returns:
        Half width in [0, 1/(1 - gamma)], of the turns given; without a value where no turn is given.

    Raises:
        ValueError: An error outside [0, 1] or missing, or a discount outside [0, 1).
    """
    _check_discount(gamma)
    if not ((errors >= 0) & (errors <= 1)).all():
        raise ValueError("mean errors of a judge lie in [0, 1] at every turn")
    name = "mean error of U from the judge's mean error, not a theorem"
    if len(errors) == 0:
        return Bound(name, Direction.AT_MOST, None, Basis.ESTIMATE, "the judge's error was measured at no turn")
    band = float(errors @ gamma ** np.arange(len(errors), dtype=np.float64))
    return Bound(name, Direction.AT_MOST, band, Basis.ESTIMATE)


def _resolve(u: float | Estimate, conservative: bool) -> tuple[float | None, Basis, str | None]:
    """The U to compute with, what it is, and why there is none."""
    value: float | None
    if not isinstance(u, Estimate):
        value, basis, reason = u, Basis.GIVEN, None
    elif u.value is None or not conservative:
        value, basis, reason = u.value, Basis.ESTIMATE, f"U is undefined: {u.reason}" if u.value is None else None
    else:
        value, basis, reason = u.high, Basis.UPPER_LIMIT, None if u.high is not None else f"no upper limit: {u.reason}"
    if value is not None and not 0 <= value < math.inf:
        raise ValueError(f"RSD is finite and at least 0, got {value}")
    return value, basis, reason


def _check_discount(gamma: float) -> None:
    if not 0 <= gamma < 1:
        raise ValueError(f"a discount lies in [0, 1), got {gamma}")
