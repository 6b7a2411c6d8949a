"""Which tools runs call, in which order, and with which arguments.

Calls are compared as multisets: two equal calls are two calls (deepeval#3141). A run without calls says nothing about
tools; it is left out, not perfect (deepeval#2242).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from likewise.core.estimate import Estimate
from likewise.metrics.resampling import jackknife_estimate, pair_mean

__all__ = ["argument_consistency", "mean_sequence_similarity", "sequence_similarity", "unique_paths"]

ArgumentsByTool = Mapping[str, Counter[str] | Sequence[str]]


def sequence_similarity(a: Sequence[str], b: Sequence[str]) -> float | None:
    """Similarity of two tool sequences: 1 - edit distance / length of the longer.

    Source: Levenshtein 1966 (insert, delete, substitute, each 1). A B C A against A D C A is 0.75 (adk-python#1591).

    Args:
        a: Tool names in order of call.
        b: The same of the other run.

    Returns:
        Similarity in [0, 1]; 0 if one is empty, None if both are.
    """
    if not a and not b:
        return None
    previous = list(range(len(b) + 1))
    for i, tool in enumerate(a, start=1):
        current = [i]
        for j, other in enumerate(b, start=1):
            current.append(min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (tool != other)))
        previous = current
    return 1.0 - previous[-1] / max(len(a), len(b))


def mean_sequence_similarity(sequences: Sequence[Sequence[str]], confidence: float = 0.95) -> Estimate:
    """Mean similarity of the tool sequences over pairs of runs, with an interval over runs.

    Args:
        sequences: Tool names of each run in order of call.
        confidence: Share of intervals that should hold the true mean, in (0, 1).

    Returns:
        Mean in [0, 1]; pairs of runs without calls are left out. Undefined where no pair has calls.
    """
    pairs = list(combinations(range(len(sequences)), 2))
    similarities = [sequence_similarity(sequences[i], sequences[j]) for i, j in pairs]
    if all(similarity is None for similarity in similarities):
        return Estimate.undefined("no two runs of which one calls a tool", n=len(sequences))
    values = np.array([np.nan if similarity is None else similarity for similarity in similarities])
    return pair_mean(values, np.array(pairs).reshape(-1, 2), 1.0, confidence)


def argument_consistency(calls: Sequence[ArgumentsByTool], confidence: float = 0.95) -> Estimate:
    """How often runs that call the same tool call it with the same arguments.

    For each tool that two or more runs call: the share of pairs of these runs whose multisets of canonical arguments
    are equal. Then the mean over tools, each tool counting once however often it is called.

    Args:
        calls: For each run, the canonical argument strings of its calls, by tool; order within a tool is ignored.
        confidence: Share of intervals that should hold the true value, in (0, 1).

    Returns:
        Share in [0, 1], n = runs that share a tool with another; two such runs, or a value that no single run
        changes, give a value with a reason; undefined where no two runs call the same tool.
    """
    runs = [{tool: Counter(arguments) for tool, arguments in run.items() if arguments} for run in calls]
    callers = Counter(tool for run in runs for tool in run)
    runs = [run for run in runs if any(callers[tool] > 1 for tool in run)]
    value = _mean_over_tools(runs)
    if value is None:
        return Estimate.undefined("no tool is called by two runs", n=0)
    without_each = [_mean_over_tools(runs[:run] + runs[run + 1 :]) for run in range(len(runs))]
    defined = [share for share in without_each if share is not None]
    if len(defined) < len(without_each):
        reason = "without one of the runs no tool is shared: an interval needs at least three runs that share one"
        return Estimate(value, n=len(runs), reason=reason)
    return jackknife_estimate(value, np.array(defined), (0.0, 1.0), confidence)


def _mean_over_tools(runs: Sequence[Mapping[str, Counter[str]]]) -> float | None:
    shares = []
    for tool in sorted({tool for run in runs for tool in run}):
        arguments = [run[tool] for run in runs if tool in run]
        equal = [a == b for a, b in combinations(arguments, 2)]
        if equal:
            shares.append(sum(equal) / len(equal))
    return sum(shares) / len(shares) if shares else None


def unique_paths(paths: Sequence[tuple[str, ...]]) -> int:
    """How many different tool sequences the runs take.

    Args:
        paths: Tool names of each run in order of call; a run without calls takes the empty path.

    Returns:
        A count from 0 (no run) to the number of runs.
    """
    return len(set(paths))
