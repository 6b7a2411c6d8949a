"""What scoring one group of rollouts gives. Plain data: reports read it, nothing here computes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from likewise.core.estimate import Estimate
from likewise.core.labels import Relation
from likewise.core.rollout import Rollout
from likewise.metrics.bounds import Bound

__all__ = [
    "Clash",
    "Contradictions",
    "Fork",
    "ForkCause",
    "ForkKind",
    "GroupScore",
    "PairTurn",
    "ToolUse",
    "TurnScore",
]


class ForkKind(StrEnum):
    """How the actions differ where runs first part."""

    TOOL = "tool"
    """Other tools, or a tool against words."""
    ARGUMENT = "argument"
    """The same tools with other arguments."""
    CLAIM = "claim"
    """Words that do not mean the same."""
    ORDER = "order"
    """The same actions in another order."""
    STOPPED = "stopped"
    """One run had ended."""


class ForkCause(StrEnum):
    """Who made the runs part."""

    AGENT = "agent"
    """At least two runs that parted had seen the same, in substance, until then."""
    ENVIRONMENT = "environment"
    """All runs that parted had already seen something different."""


@dataclass(frozen=True, slots=True)
class Fork:
    """The first turn at which the runs of a group stop being one equivalence class.

    `classes` holds run ids, largest class first. `share_behind` is the share of all divergence from this turn on
    that lies in pairs of runs which parted here; None where there is no divergence.
    """

    turn: int
    kind: ForkKind
    cause: ForkCause
    classes: tuple[tuple[str, ...], ...]
    share_behind: float | None


@dataclass(frozen=True, slots=True)
class PairTurn:
    """One judged pair of actions: valid-rollout indices `first` < `second`, the turn, and what was said of it."""

    first: int
    second: int
    turn: int
    relation: Relation
    rule: str
    contradiction: float
    """The larger probability of contradiction of the two directions, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class TurnScore:
    """All pairs at one turn; `mean_distance` is None where no pair was measured."""

    turn: int
    mean_distance: float | None
    rsd_from_here: float
    equivalent: int
    neutral: int
    contradictory: int
    ended: int
    """Pairs of which one run had ended (each counts 1 under the absorb policy)."""
    unmeasured: int
    """Pairs of which one run was cut from outside, or whose judgement failed."""


@dataclass(frozen=True, slots=True)
class Clash:
    """Two actions at one turn that contradict each other, with both texts."""

    run_i: str
    run_j: str
    turn: int
    text_i: str
    text_j: str
    score: float
    rule: str


@dataclass(frozen=True, slots=True)
class Contradictions:
    """Contradictions over all judged pairs and turns of a group."""

    judged: int
    contradictory: int
    share: Estimate
    max: float | None
    mean: float | None
    critical: tuple[Clash, ...]
    """Clashes whose score is above 0.7, highest first."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """How alike the runs use tools; every number is undefined, with a reason, where no run calls one."""

    sequence_similarity: Estimate
    argument_consistency: Estimate
    unique_paths: int


@dataclass(frozen=True, slots=True)
class GroupScore:
    """Everything measured on the rollouts of one task.

    Attributes:
        task_id: The task.
        rollouts: All rollouts of the task, invalid ones included, in order.
        success_rate: Share of valid rollouts with a known outcome that succeeded.
        rsd: Monte Carlo RSD (time-aligned), in [0, rsd_largest].
        rsd_band: Lowest and highest RSD that turns after a cut and failed judgements allow; None without any.
        rsd_normalised: (1-gamma) RSD, in [0, 1]; T turns reach 1-gamma^T at most.
        rsd_share: RSD as a share of `rsd_largest`, in [0, 1]: what tasks of few turns and of many are judged alike by.
        rsd_largest: The largest RSD that the turns of the runs allow, (1-gamma^T)/(1-gamma) for T turns of the longest;
            1/(1-gamma) where a run was cut.
        aligned_rsd: The same sum over turns aligned by edit distance.
        total_variance: Canonical total variance of the final answers: probability that two runs disagree.
        embedding_total_variance: Total variance of the embedded final answers.
        volume_total_variance: Total variance of the number of tool calls.
        semantic_entropy: Entropy (nats) of the final answers' class shares.
        agreement: Share of runs in the largest class of final answers.
        answer_classes: Class of each valid rollout's final answer, numbered by first member; -1 without an answer.
        transitivity_violations: Triples of final answers with a = b, b = c, but a != c by the judge.
        turns: Per-turn scores, from turn 0.
        classes: Equivalence class of each valid rollout at each turn (outer index: turn); -1 where not measured.
        contradictions: Contradiction summary over judged pairs of actions.
        first_fork: Where the runs first part; None where they never do.
        tool_use: Likeness of tool use.
        bounds: Theorems of RSD evaluated at the upper confidence limit, by name.
        pairs: All judged pairs of actions (time-aligned), for display.
    """

    task_id: str
    rollouts: tuple[Rollout, ...]
    success_rate: Estimate
    rsd: Estimate
    rsd_band: tuple[float, float] | None
    rsd_normalised: Estimate
    rsd_share: Estimate
    rsd_largest: float
    aligned_rsd: Estimate
    total_variance: Estimate
    embedding_total_variance: Estimate
    volume_total_variance: Estimate
    semantic_entropy: Estimate
    agreement: Estimate
    answer_classes: tuple[int, ...]
    transitivity_violations: int
    turns: tuple[TurnScore, ...]
    classes: tuple[tuple[int, ...], ...]
    contradictions: Contradictions
    first_fork: Fork | None
    tool_use: ToolUse
    bounds: dict[str, Bound]
    pairs: tuple[PairTurn, ...]

    @property
    def valid(self) -> tuple[Rollout, ...]:
        """The rollouts that were scored."""
        return tuple(rollout for rollout in self.rollouts if rollout.valid)
