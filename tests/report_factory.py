"""Small evaluations made by hand, for the tests of `likewise.report`."""

from __future__ import annotations

from itertools import combinations

from likewise.core.estimate import Estimate
from likewise.core.labels import Relation
from likewise.core.rollout import Action, Excluded, Observation, Rollout, StopReason, ToolCall, Turn
from likewise.core.signature import Signature
from likewise.evaluation.results import Evaluation, JudgeUse, Summary
from likewise.metrics.bounds import Basis, Bound, Direction
from likewise.scoring.results import (
    Clash,
    Contradictions,
    Fork,
    ForkCause,
    ForkKind,
    GroupScore,
    PairTurn,
    ToolUse,
    TurnScore,
)

SIGNATURE = Signature(version="0.1.0", judge="tiny-nli@1", rules="default@1", encoder="tiny-encoder@1", state_text=1)


def around(value: float, width: float = 0.1) -> Estimate:
    return Estimate(value, max(0.0, value - width), value + width, stderr=width / 2, n=4)


def bound(value, name="share of the largest class"):
    reason = "empty: U = 2 is 1/2 or more" if value is None else None
    return Bound(name, Direction.AT_LEAST, value, Basis.UPPER_LIMIT, reason)


def rollout(task_id, run_id, texts, *, success=True, stop=StopReason.FINISHED, problem=None, seen=None, calls=()):
    turns = tuple(
        Turn((Observation("user", seen or f"question {i}"),), Action(text, tuple(calls) if i == 0 else ()))
        for i, text in enumerate(texts)
    )
    return Rollout(task_id, run_id, turns, stop, 1.0 if success else 0.0, success, problem, path="runs.json")


def classes_of(runs: list[Rollout]) -> tuple[tuple[int, ...], ...]:
    """Equal text, equal class; runs that ended share END; cut runs are not measured."""
    rows = []
    for turn in range(max((len(run.turns) for run in runs), default=0)):
        seen: dict[object, int] = {}
        row = []
        for run in runs:
            if turn >= len(run.turns) and run.stop is StopReason.CUT:
                row.append(-1)
                continue
            key = run.turns[turn].action.text if turn < len(run.turns) else None
            row.append(seen.setdefault(key, len(seen)))
        rows.append(tuple(row))
    return tuple(rows)


def task(task_id="task 1", runs=None, *, rsd=1.0, success=0.5, contradictory_at=None, gamma=0.8, **changes):
    """A task whose runs are equivalent where their texts are equal; `contradictory_at`: (first, second, turn)."""
    if runs is None:
        runs = [
            rollout(task_id, "run 1", ["hello", "refund given"]),
            rollout(task_id, "run 2", ["hello", "no refund"], success=False),
        ]
    valid = [run for run in runs if run.valid]
    classes = classes_of(valid)
    pairs, turns = [], []
    for t, row in enumerate(classes):
        counts = {"equivalent": 0, "neutral": 0, "contradictory": 0, "ended": 0, "unmeasured": 0}
        for i, j in combinations(range(len(valid)), 2):
            if -1 in (row[i], row[j]):
                counts["unmeasured"] += 1
            elif t >= min(len(valid[i].turns), len(valid[j].turns)):
                counts["ended"] += row[i] != row[j]
                counts["equivalent"] += row[i] == row[j]
            else:
                relation = Relation.EQUIVALENT if row[i] == row[j] else Relation.NEUTRAL
                if contradictory_at == (i, j, t):
                    relation = Relation.CONTRADICTORY
                counts[relation.name.lower()] += 1
                pairs.append(PairTurn(i, j, t, relation, "nli", 0.9 if relation is Relation.CONTRADICTORY else 0.1))
        measured = sum(counts.values()) - counts["unmeasured"]
        distance = counts["neutral"] / 2 + counts["contradictory"] + counts["ended"]
        turns.append(TurnScore(t, distance / measured if measured else None, 0.5, **counts))
    critical = ()
    if contradictory_at is not None:
        i, j, t = contradictory_at
        a, b = valid[i], valid[j]
        critical = (Clash(a.run_id, b.run_id, t, a.turns[t].action.text, b.turns[t].action.text, 0.9, "nli"),)
    fork_turn = next((t for t, row in enumerate(classes) if len({c for c in row if c >= 0}) > 1), None)
    fork = None
    if fork_turn is not None:
        members: dict[int, list[str]] = {}
        for run, label in zip(valid, classes[fork_turn], strict=True):
            members.setdefault(label, []).append(run.run_id)
        fork = Fork(fork_turn, ForkKind.CLAIM, ForkCause.AGENT, tuple(map(tuple, members.values())), 0.9)
    values = {
        "task_id": task_id,
        "rollouts": tuple(runs),
        "success_rate": around(success) if success is not None else Estimate.undefined("no outcome known"),
        "rsd": around(rsd) if rsd is not None else Estimate.undefined("fewer than two valid rollouts"),
        "rsd_band": None,
        "rsd_normalised": around(rsd * (1 - gamma), 0.05) if rsd is not None else Estimate.undefined("one run"),
        "rsd_share": around(rsd * (1 - gamma), 0.05) if rsd is not None else Estimate.undefined("one run"),
        "rsd_largest": 1 / (1 - gamma),
        "aligned_rsd": around(rsd * 0.8) if rsd is not None else Estimate.undefined("one run"),
        "total_variance": around(0.4),
        "embedding_total_variance": around(0.3),
        "volume_total_variance": around(0.2),
        "semantic_entropy": around(0.6),
        "agreement": around(0.5),
        "answer_classes": tuple(range(len(valid))),
        "transitivity_violations": 0,
        "turns": tuple(turns),
        "classes": classes,
        "contradictions": Contradictions(
            len(pairs), len(critical), around(0.1) if pairs else Estimate.undefined("no pair"), 0.9, 0.2, critical
        ),
        "first_fork": fork,
        "tool_use": ToolUse(around(0.9), Estimate.undefined("no run calls a tool"), 1),
        "bounds": {"dominant_class": bound(None), "immediate_contradiction": bound(0.25)},
        "pairs": tuple(pairs),
    }
    return GroupScore(**(values | changes))


def evaluation(tasks=None, **changes):
    tasks = (task(),) if tasks is None else tuple(tasks)
    rollouts = [run for one in tasks for run in one.rollouts]
    kinds = [one.first_fork for one in tasks if one.first_fork]
    summary = Summary(
        tasks=len(tasks),
        rollouts=len(rollouts),
        valid=sum(run.valid for run in rollouts),
        success_rate=around(0.5),
        rsd=around(1.2, 0.4),
        rsd_normalised=around(0.24, 0.08),
        rsd_share=around(0.24, 0.08),
        aligned_rsd=around(1.0),
        total_variance=around(0.4),
        contradiction_share=around(0.05, 0.02),
        pass_at_k={1: around(0.5), 2: around(0.7)},
        pass_hat_k={1: around(0.5), 2: around(0.3)},
        forks_by_cause={"agent": len(kinds), "environment": 0},
        forks_by_kind={"claim": len(kinds)},
    )
    values = {
        "signature": SIGNATURE,
        "summary": summary,
        "tasks": tasks,
        "excluded": (Excluded("task 9", None, "no turns", "runs.json", 3, "/3/traj"),),
        "warnings": ("two runs carry the same text throughout",),
        "judge_use": JudgeUse(12, {"identical": 6, "nli": 6}, 2, 4),
        "files": (("runs.json", "tau_bench"),),
    }
    return Evaluation(**(values | changes))


HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><a href='javascript:alert(1)'>x</a>",
    "</style></title></details></svg>",
    "{{ 7 * 7 }}{% raw %}",
    "[bold red]x[/bold red][link=https://evil.example]y[/link]",
    "[mobile_data_issue]x[PERSONA:None]",
    "\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b[2J",
    "nul\x00 bell\x07 back\x08\x08",
    "lone \ud800 surrogate \udfff",
    "rtl \u202egnp.exe",
    "<!-- --><![CDATA[ ]]>",
    "https://evil.example/x.png",
)


def hostile_evaluation() -> Evaluation:
    """Every text that an agent or a log controls carries every hostile string."""
    tasks = []
    for n, text in enumerate(HOSTILE):
        call = ToolCall(text, {text: [text, {"nested": text}]})
        runs = [
            rollout(text, f"{text} a", [text, text + " yes"], seen=text, calls=(call,)),
            rollout(
                text, f"{text} b", [text, text + " no"], seen=text + "2", success=False, calls=(ToolCall("x", text),)
            ),
            rollout(text, f"{text} c", [text], stop=StopReason.CUT, success=None),
            rollout(text, f"{text} d", [], stop=StopReason.INVALID, problem=text, success=None),
        ]
        tasks.append(
            task(
                text,
                runs,
                rsd=n / 3,
                contradictory_at=(0, 1, 1),
                rsd_band=(n / 3, 2.0),
                bounds={text: bound(0.2, text)},
            )
        )
    return evaluation(
        tasks,
        excluded=tuple(Excluded(text, text, text, text, 1, text) for text in HOSTILE),
        warnings=HOSTILE,
        judge_use=JudgeUse(1, dict.fromkeys(HOSTILE, 1), 0, 1),
        files=tuple((text, text) for text in HOSTILE),
        signature=Signature("0.1", HOSTILE[0], HOSTILE[1], HOSTILE[2], 1),
    )
