"""The tables of the paper for methods that ran the same tasks: performance and its variation, ablation, direct RSD.

Source: arXiv:2610.33012, Tables 1 to 3 and A.3.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from jaxtyping import Float64

from likewise.core.errors import GroupError
from likewise.core.estimate import Estimate
from likewise.core.rollout import Rollout
from likewise.evaluation.direct_rsd import DirectRsd, direct_rsd
from likewise.evaluation.progress import Trials, trials_of, with_own_curve
from likewise.metrics.progress_rate import coefficient_of_variation, common_support
from likewise.metrics.relative_change import relative_change
from likewise.metrics.resampling import bootstrap_mean

__all__ = ["COLUMNS", "Cell", "Column", "DirectRsd", "PaperTables", "Row", "Table", "direct_rsd", "paper_tables",
           "tables_of"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Column:
    """A figure of the tables: its key, its name for readers, which way is better, whether it reads as a percentage."""

    name: str
    title: str
    lower_is_better: bool
    share: bool = False


COLUMNS: Final[Mapping[str, Column]] = {
    column.name: column
    for column in (
        Column("auc", "AUC", False),
        Column("auc_cv", "CV of AUC", True, True),
        Column("progress", "progress", False),
        Column("progress_cv", "CV of progress", True, True),
        Column("per_turn", "progress per turn", False),
        Column("per_turn_cv", "CV of progress per turn", True, True),
        Column("rsd", "direct RSD", True),
    )
}
_PERFORMANCE: Final = ("auc", "auc_cv", "progress", "progress_cv", "per_turn", "per_turn_cv")


@dataclass(frozen=True, slots=True)
class Cell:
    """A method's mean over tasks, and its change relative to the base; None for the base itself."""

    value: Estimate
    change: Estimate | None


@dataclass(frozen=True, slots=True)
class Row:
    """One method, a cell for each column of the table, and its lambda in an ablation."""

    method: str
    cells: Mapping[str, Cell]
    mixing: float | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of methods, the base first; `tasks` says how many tasks each column rests on."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    tasks: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PaperTables:
    """What methods achieve, how much that varies between trials, and how they diverge.

    Attributes:
        base: The method that changes are relative to.
        turn_limit: Turns to which progress curves are padded; None where trials were given ready-made.
        performance: Table 1.
        ablation: Table 2, methods by their lambda; None without any.
        divergence: Table 3; None where no RSD was measured.
        left_out: Task to the reason why it is in none of the CVs.
        notes: What a reader should know.
    """

    base: str
    turn_limit: int | None
    performance: Table
    ablation: Table | None
    divergence: Table | None
    left_out: Mapping[str, str]
    notes: tuple[str, ...]


def paper_tables(
    methods: Mapping[str, Iterable[Rollout]],
    *,
    base: str,
    lambdas: Mapping[str, float] | None = None,
    turn_limit: int | None = None,
    rsd: Mapping[str, Mapping[str, float]] | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> PaperTables:
    """The tables of methods that ran the same tasks, from their recorded runs.

    Args:
        methods: Name to runs, in the order of the rows.
        base: Which of them the others are compared with.
        lambdas: Lambda of the methods of the ablation; they stand in Table 2, beside the base, and in no other.
        turn_limit: Turns that a run may take; the longest run of all methods where None.
        rsd: Direct RSD by method and task, from `direct_rsd`; no Table 3 without.
        confidence: Share of intervals that should hold the true value, in (0, 1).
        resamples: Bootstrap resamples over tasks.
        seed: Seed of the bootstrap.

    Raises:
        GroupError: A method has no runs or a run's progress is none, a run is longer than the turn limit, no task was
            run by all methods, or the base is no method.
    """
    runs = {name: list(rollouts) for name, rollouts in methods.items()}
    for name, own in runs.items():
        if not own:
            raise GroupError(f"there are no runs of {name!r}")
    everything = [rollout for own in runs.values() for rollout in own]
    limit = turn_limit or max((len(rollout.turns) for rollout in everything if rollout.valid), default=0) or 1
    own_curve = with_own_curve(everything)
    measured = {name: trials_of(own, limit, own_curve, (rsd or {}).get(name)) for name, own in runs.items()}
    return tables_of(
        measured, base=base, lambdas=lambdas, confidence=confidence, resamples=resamples, seed=seed, turn_limit=limit
    )


def tables_of(
    methods: Mapping[str, Trials],
    *,
    base: str,
    lambdas: Mapping[str, float] | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    turn_limit: int | None = None,
) -> PaperTables:
    """The tables from what trials achieved; see `paper_tables`.

    Raises:
        GroupError: No task was run by all methods, or the base is no method.
    """
    if base not in methods:
        raise GroupError(f"the base {base!r} is none of the methods: {', '.join(methods)}")
    if unknown := set(lambdas or {}) - set(methods):
        raise GroupError(f"a lambda is given for what is no method: {', '.join(sorted(unknown))}")
    order = [base, *(name for name in methods if name != base)]
    making = _Making({name: methods[name] for name in order}, base, confidence, resamples, seed)
    shared = making.shared()
    if not shared:
        raise GroupError("no task was run by all methods; tables compare methods on the same tasks")
    support, left_out = making.support(shared)
    numbers = {"auc": "auc", "progress": "progress", "per_turn": "per_turn"}
    columns: dict[str, dict[str, Float64[np.ndarray, " tasks"]]] = {}
    for name, kind in numbers.items():
        columns[name] = making.means(kind, shared)
        columns[f"{name}_cv"] = making.variations(kind, support)
    notes = making.notes(shared, columns)
    columns["rsd"] = making.divergences()
    names = (*_PERFORMANCE, "rsd") if making.judged else _PERFORMANCE
    mixed = dict(sorted((lambdas or {}).items(), key=lambda item: item[1]))
    apart: dict[str, float | None] = {name: None for name in order if name not in mixed or name == base}
    return PaperTables(
        base,
        turn_limit,
        making.table("Performance and consistency by method", _PERFORMANCE, columns, apart),
        making.table("Ablation over lambda", names, columns, {base: None, **mixed}) if mixed else None,
        making.table("Direct RSD by method", ("rsd",), columns, apart) if making.judged else None,
        left_out,
        notes,
    )


@dataclass(frozen=True, slots=True)
class _Making:
    """The methods, base first, and how intervals are made."""

    methods: Mapping[str, Trials]
    base: str
    confidence: float
    resamples: int
    seed: int

    def shared(self) -> list[str]:
        """The tasks of which every method has a trial with progress, in the base's order."""
        return [
            task for task in self.methods[self.base].auc if all(each.auc.get(task) for each in self.methods.values())
        ]

    def support(self, shared: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """The tasks that CVs are made of: two trials and a mean AUC above 0 for every method; why others are not."""
        most = max(len(each.auc[task]) for each in self.methods.values() for task in shared)
        auc = np.full((len(self.methods), len(shared), most), np.nan)
        for i, each in enumerate(self.methods.values()):
            for j, task in enumerate(shared):
                auc[i, j, : len(each.auc[task])] = each.auc[task]
        above = common_support(auc).mask
        enough = ((~np.isnan(auc)).sum(axis=2) >= 2).all(axis=0)
        left_out = {}
        for task in dict.fromkeys(task for each in self.methods.values() for task in each.auc):
            if task not in shared:
                left_out[task] = "not every method has a valid trial with progress"
        for j, task in enumerate(shared):
            if not enough[j]:
                left_out[task] = "a method has fewer than two valid trials"
            elif not above[j]:
                left_out[task] = "a method never made progress, so that its CV is undefined"
        return [task for task in shared if task not in left_out], left_out

    def means(self, kind: str, tasks: Sequence[str]) -> dict[str, Float64[np.ndarray, " tasks"]]:
        """Mean over trials of each task that every method has numbers for."""
        numbers = {name: getattr(each, kind) for name, each in self.methods.items()}
        usable = [task for task in tasks if all(own.get(task) for own in numbers.values())]
        return {name: np.array([np.mean(own[task]) for task in usable]) for name, own in numbers.items()}

    def variations(self, kind: str, tasks: Sequence[str]) -> dict[str, Float64[np.ndarray, " tasks"]]:
        """CV over trials of each task where it is defined for every method."""
        numbers = {name: getattr(each, kind) for name, each in self.methods.items()}
        cvs = {
            name: [coefficient_of_variation(np.array(own.get(task, ()), dtype=np.float64)).value for task in tasks]
            for name, own in numbers.items()
        }
        usable = [j for j in range(len(tasks)) if all(own[j] is not None for own in cvs.values())]
        return {name: np.array([own[j] for j in usable], dtype=np.float64) for name, own in cvs.items()}

    def cell(self, method: str, column: Mapping[str, Float64[np.ndarray, " tasks"]]) -> Cell:
        """A method's mean over tasks and its change."""
        own = column[method]
        if len(own) == 0:
            nothing = Estimate.undefined("no task has it for every method", n=0)
            return Cell(nothing, None if method == self.base else nothing)
        value = bootstrap_mean(own, self.confidence, self.resamples, self.seed)
        if method == self.base:
            return Cell(value, None)
        return Cell(value, relative_change(own, column[self.base], self.confidence, self.resamples, self.seed))

    def table(
        self,
        title: str,
        names: Sequence[str],
        columns: Mapping[str, Mapping[str, Float64[np.ndarray, " tasks"]]],
        methods: Mapping[str, float | None],
    ) -> Table:
        """The rows of some methods."""
        rows = [Row(each, {name: self.cell(each, columns[name]) for name in names}, methods[each]) for each in methods]
        return Table(
            title,
            tuple(COLUMNS[name] for name in names),
            tuple(rows),
            {name: len(columns[name][self.base]) for name in names},
        )

    @property
    def judged(self) -> bool:
        """Whether any method's RSD was measured."""
        return any(each.rsd for each in self.methods.values())

    def divergences(self) -> dict[str, Float64[np.ndarray, " tasks"]]:
        """Direct RSD of each task of which every method has one."""
        tasks = [
            task for task in self.methods[self.base].rsd if all(task in each.rsd for each in self.methods.values())
        ]
        return {name: np.array([each.rsd[task] for task in tasks]) for name, each in self.methods.items()}

    def notes(
        self, shared: Sequence[str], columns: Mapping[str, Mapping[str, Float64[np.ndarray, " tasks"]]]
    ) -> tuple[str, ...]:
        """What the numbers leave out or rest on."""
        notes = []
        for name, each in self.methods.items():
            if each.invalid:
                notes.append(f"{name}: {each.invalid} trial(s) failed in the harness and are left out")
            if each.unknown:
                notes.append(f"{name}: {each.unknown} valid trial(s) have no progress and are left out")
        by_reward = set().union(*(each.by_reward for each in self.methods.values())) & set(shared)
        if by_reward:
            notes.append(
                f"{len(by_reward)} of {len(shared)} task(s) have no sub-goals in any log: "
                "their progress is the reward, at the last turn"
            )
        trials = {len(each.auc[task]) for each in self.methods.values() for task in shared}
        if len(trials) > 1:
            notes.append(f"tasks have {min(trials)} to {max(trials)} valid trials with progress")
        full = len(columns["auc_cv"][self.base])
        for name in ("progress_cv", "per_turn_cv"):
            if (own := len(columns[name][self.base])) < full:
                notes.append(f"{COLUMNS[name].title}: on {own} of the {full} tasks of the common support")
        return tuple(notes)
