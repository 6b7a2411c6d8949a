"""What all faces of a prediction say alike: the answer in plain sentences, a number with its interval."""

from __future__ import annotations

from collections.abc import Iterator

from likewise.core.estimate import Estimate
from likewise.evaluation.predict import Prediction, Predictor
from likewise.report.compare_words import p_text
from likewise.report.text import named
from likewise.report.words import counted, percent

__all__ = ["answer", "how_made", "remarks", "share_text", "signed_text"]

_LEVEL = 0.05
CAUTION = (
    "This is across tasks: it says which tasks fail, not which run of a task does, nor that making runs alike makes "
    "them right."
)


def share_text(estimate: Estimate) -> str:
    """`70% [58% to 81%]`; a dash where it is undefined."""
    if estimate.value is None:
        return "–"
    ends = "" if estimate.low is None else f" [{percent(estimate.low)} to {percent(estimate.high)}]"
    return percent(estimate.value) + ends


def signed_text(estimate: Estimate | None, *, points: bool = False) -> str:
    """`+0.43 [+0.10 to +0.68]`, or in points of a percentage; a dash where it is undefined."""
    if estimate is None or estimate.value is None:
        return "–"
    shown = [_signed(end, points) for end in (estimate.value, estimate.low, estimate.high) if end is not None]
    return shown[0] + (f" [{shown[1]} to {shown[2]}]" if len(shown) == 3 else "")


def _signed(value: float, points: bool) -> str:
    size = f"{abs(value) * 100:.0f}" if points else f"{abs(value):.2f}"
    return ("−" if value < 0 else "+") + size


def answer(prediction: Prediction) -> Iterator[str]:
    """The answer in plain sentences: RSD, the rival, the best, and what is left beside the rival."""
    by_name = {each.name: each for each in prediction.predictors}
    rsd, length = by_name["rsd"], prediction.length
    yield (
        f"Of a failed and a successful run of two tasks, the failed one's task has the higher RSD in "
        f"{share_text(rsd.auroc)} of cases (chance is 50%; p = {p_text(rsd.auroc_p)}); for run length it is "
        f"{share_text(length.auroc)} (p = {p_text(length.auroc_p)})."
    )
    best = next((each for each in prediction.predictors if each is not length and each.auroc.value is not None), None)
    if best is not None:
        yield _against_length(best)
    tested = [(each, each.partial_p_adjusted) for each in prediction.predictors if each.partial_p_adjusted is not None]
    holds = [f"{each.title} ({signed_text(each.partial)}, p = {p_text(p)})" for each, p in tested if p < _LEVEL]
    if holds:
        yield f"Between tasks of equal run length these still go with failure: {', '.join(holds)}."
    elif tested:
        numbers = counted(len(tested), "number")
        yield f"Between tasks of equal run length none of {numbers} goes with failure beyond chance."


def _against_length(best: Predictor) -> str:
    beside = best.beside_length
    name = f"The best number of consistency, {best.title}: {share_text(best.auroc)}"
    if beside is None or beside.low is None or beside.high is None:
        return f"{name}; how it stands beside run length cannot be told."
    difference = f"{signed_text(beside, points=True)} points beside run length"
    if beside.low > 0:
        return f"{name}, {difference}: it predicts failure better than run length does."
    if beside.high < 0:
        return f"{name}, {difference}: run length predicts failure better."
    lead = "run length is ahead" if (beside.value or 0) < 0 else "it is ahead"
    return f"{name}, {difference}: {lead}, but that may be luck."


def how_made(prediction: Prediction) -> str:
    """How numbers come about, in one paragraph."""
    return (
        "AUROC: probability that the failed of two runs, of two tasks, is of the task with the larger number; ties "
        f"count half. Intervals ({prediction.confidence:.0%}): bootstrap over tasks. p: outcomes reassigned to tasks "
        "at random, two-sided; Holm: adjusted over the numbers of consistency. Given length: partial rank correlation."
    )


def remarks(prediction: Prediction) -> Iterator[str]:
    """What it rests on and leaves out."""
    yield (
        f"{counted(len(prediction.tasks), 'task')} with an outcome, {counted(prediction.failures, 'failed run')}, "
        f"{counted(prediction.successes, 'successful run')}."
    )
    yield CAUTION
    if prediction.without_outcome:
        yield f"Without any known outcome, left out: {_named(prediction.without_outcome)}"
    for each in prediction.predictors:
        if each.left_out:
            yield f"Without {each.title}: {_named(each.left_out)}"
    estimates = [(e.title, part) for e in prediction.predictors for part in (e.auroc, e.correlation, e.partial)]
    reasons = {part.reason: title for title, part in reversed(estimates) if part is not None and part.reason}
    yield from (f"{title}: {reason}" for reason, title in reasons.items())
    yield from prediction.notes


def _named(tasks: tuple[str, ...]) -> str:
    return f"{counted(len(tasks), 'task')} ({named(tasks)})"
