"""The folder in which the code blocks are run: runs that travel with the repository, and what the pages call theirs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from learned.samples import facts
from likewise.backends.onnx_encoder import embedded_encoder
from likewise.learned.checkpoint import Checkpoint, write_checkpoint
from likewise.learned.network import start_weights
from likewise.learned.state_encoding import state_width

AIRLINE = Path(__file__).parents[2] / "examples" / "rollouts" / "airline.json"
TASKS, MESSAGES = 3, 19
"""Tasks taken, and the messages of a run after which it is too long: the judge takes a second for some of them."""

AGENT = '''
def answer(query):
    """An agent that always says the same."""
    return "It opens at nine."


async def chat(messages, tools):
    return "That is done."
'''


def shipped_runs():
    """Short runs of the shipped file: the first three of each task, and the last two."""
    records = json.loads(AIRLINE.read_text(encoding="utf-8"))
    short: dict[int, list] = {}
    for record in records:
        if len(record["traj"]) < MESSAGES:
            short.setdefault(record["task_id"], []).append(record)
    fullest = sorted(short.values(), key=len, reverse=True)[:TASKS]
    assert all(len(runs) >= 3 for runs in fullest)
    return [run for runs in fullest for run in runs[:3]], [run for runs in fullest for run in runs[-2:]]


def progressing(records, name):
    """The same runs as lines of our own, with a progress curve each."""
    lines = []
    for number, record in enumerate(records):
        turns = [{"observations": [{"source": "user", "text": "And?"}], "action": {"text": "It is done."}}] * 2
        curve = [0.0, 0.5, 1.0] if (number + len(name)) % 2 else [0.0, 0.25, 0.5]
        whole = {"schema": "likewise.rollout/1", "task_id": str(record["task_id"]), "run_id": f"{name}-{number}"}
        lines.append(json.dumps(whole | {"turns": turns, "success": True, "meta": {"progress": curve}}))
    return "\n".join(lines) + "\n"


def write_model(folder):
    """A learned metric with the weights that training starts with; PyTorch is not needed."""
    width = state_width(384)
    whole = facts(encoder=embedded_encoder().encoder_id, dimensions=384, width=width, demo="weights never trained")
    weights = start_weights(width, 1, 0)
    weights["third.weight"] *= 0.3
    write_checkpoint(Checkpoint(whole, weights, weights["first.weight"][:1]), folder)


def fill(folder):
    """Write everything that the pages name."""
    first, second = (json.dumps(each) for each in shipped_runs())
    for name in (
        "examples/rollouts/airline.json",
        "runs/a.json",
        "base/a.json",
        "a/a.json",
        "runs.json",
        "baseline.json",
    ):
        _write(folder / name, first)
    for name in ("candidate/b.json", "b/b.json", "more-runs/b.json", "new-runs/b.json", "other-tasks/b.json"):
        _write(folder / name, second)
    for name in ("base", "candidate", "runs", "baseline/runs", "before", "after"):
        _write(folder / f"{name}.jsonl", first if name in ("base", "runs", "baseline/runs", "before") else second)
    pair = {"action_a": "The flight can be changed.", "action_b": "The flight cannot be changed."}
    _write(folder / "pairs.jsonl", json.dumps(pair) + "\n")
    _write(folder / "labelled.jsonl", json.dumps(pair | {"label": "contradictory"}) + "\n")
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("think", "cancel_order")]
    _write(folder / "shop-tools.json", json.dumps({"tools": tools}))
    _write(folder / "likewise.toml", "[annotations]\nfiles = ['shop-tools.json']\n")
    for name in ("queries.jsonl", "questions.jsonl"):
        _write(folder / name, '"When does it open?"\n')
    _write(folder / "my_module.py", AGENT)
    _write(folder / "my_agent.py", AGENT)
    write_model(folder / "model")


def fill_methods(folder):
    """Runs of four methods, as the page on tables names them, in place of the runs."""
    shutil.rmtree(folder / "runs")
    first, second = shipped_runs()
    tasks = {str(record["task_id"]) for record in first}
    notes = "".join(f'"{task}" = ["It is found."]\n' for task in sorted(tasks))
    _write(folder / "notes.toml", f"[notes]\n{notes}")
    for name in ("base", "sft", "rsd", "RSD", "l0", "l50"):
        text = progressing([*first, *second], name)
        _write(folder / "runs" / f"{name}.jsonl", text)
        _write(folder / "runs" / name / "runs.jsonl", text)


def fill_mapped(folder, mapping):
    """The page's own mapping, and a log that it reads, in place of the runs."""
    answers = [{"question_id": "q", "model_reply": text, "graded": {"correct": True}} for text in ("Yes.", "It is.")]
    _write(folder / "mapping.toml", mapping)
    _write(folder / "runs" / "a.json", json.dumps(answers))


def _write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
