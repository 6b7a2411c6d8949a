"""The likeliest mistakes, each with what it is answered with; docs/troubleshooting.md is this table, rendered.

`python tests/mistakes.py` prints the page. The messages are those that the command prints, word for word; files
stand in a folder `/home/me`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["HOME", "MISTAKES", "Mistake", "rendered"]

HOME = "/home/me"
"""What the page shows for the folder in which a mistake is made."""


def run(task: str, name: str, text: str = "Your booking is cancelled.") -> str:
    """A line of our own format."""
    turns = [{"action": {"text": text}}]
    return json.dumps({"schema": "likewise.rollout/1", "task_id": task, "run_id": name, "turns": turns}) + "\n"


RUNS = {"runs/a.jsonl": run("t", "1") + run("t", "2")}
ONCE = {"runs/a.jsonl": run("t", "1")}
CHAT = {
    "runs/a.jsonl": run("t", "1", "The parcel left Lisbon on Monday.") + run("t", "2", "Nothing is known of a parcel.")
}


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake.

    Attributes:
        about: Section of the page.
        typed: The command, without the program's name; "" for the program alone.
        says: What it answers, on standard error, without the two lines on usage; "" where `shows` is looked at.
        code: Exit code.
        files: What the folder holds, path -> content; a path that ends in a slash is a folder.
        environment: Variables that are set; a value of None takes one away.
        shows: A sentence that standard output must hold, where the command has done what it could.
        so: What more there is to know, for the page.
    """

    about: str
    typed: str
    says: str
    code: int = 2
    files: Mapping[str, str | bytes] = field(default_factory=lambda: RUNS)
    environment: Mapping[str, str | None] = field(default_factory=dict)
    shows: str = ""
    so: str = ""


FORMATS = (
    "native, tau-bench, tau2, inspect, langfuse, otel, claude-code, atif, swe-agent, langchain-steps, promptfoo, "
    "toolsandbox, uqlm, openai-responses, anthropic-messages, openai-chat, table"
)
FIGURES = "rsd, aligned_rsd, total_variance, contradiction_share, success_rate, pass_hat_k, cv"
GATES = (
    "rsd, rsd_normalised, rsd_share, aligned_rsd, total_variance, agreement, contradiction_share, contradiction_max, "
    "success_rate"
)
SUFFIXES = ".csv, .eval, .json, .jsonl, .ndjson, .parquet, .traj, .tsv"
KEYLESS: Mapping[str, str | None] = {"OPENAI_API_KEY": None, "OPENAI_BASE_URL": None}
KEY: Mapping[str, str | None] = {"OPENAI_API_KEY": "sk-none", "OPENAI_BASE_URL": None}

MISTAKES = [
    # The command
    Mistake("The command", "repotr runs", "Error: No such command 'repotr'. Did you mean 'report'?"),
    Mistake(
        "The command",
        "runs/a.jsonl",
        "Error: No such command 'runs/a.jsonl'; to measure recorded runs, type: likewise report runs/a.jsonl",
    ),
    Mistake("The command", "help", "Error: No such command 'help'; type: likewise --help"),
    Mistake(
        "The command",
        "report",
        "Error: Invalid value for 'RUNS': name files or folders of recorded runs, as in: likewise report runs/*.json",
    ),
    Mistake(
        "The command",
        "report runs --jsno out.json",
        "Error: No such option: --jsno (Possible options: --json, --soft, --store)",
    ),
    Mistake(
        "The command",
        "report runs --json",
        "Error: Option '--json' needs FILE. Write JSON to this file; - for standard output.",
    ),
    Mistake(
        "The command",
        "convert runs",
        "Error: Missing option '--out' / '-o'. JSON Lines to write; .gz compresses, - is standard output.",
    ),
    Mistake(
        "The command", "compare runs", "Error: Missing argument 'CANDIDATE'. Runs or JSON report of the candidate."
    ),
    Mistake(
        "The command",
        "report -",
        "Error: Invalid value for 'RUNS': standard input is not read; name a file (with `< FILE`, /dev/stdin is one)",
    ),
    Mistake(
        "The command",
        "inspect runs --json out.json",
        "likewise: error: out.json: no such file\n"
        "likewise: --json takes no file here: it prints; for a file, type > FILE behind the command",
        3,
        so="`report`, `compare`, `tables`, `predict` and `score` write several files, so their `--json` names one.",
    ),
    # Numbers and words
    Mistake(
        "Numbers and words",
        "report runs --gamma 0,8",
        "Error: Invalid value for '--gamma': '0,8' is no number; a point, not a comma, stands before the fraction",
    ),
    Mistake(
        "Numbers and words",
        "report runs --gamma 1",
        "Error: Invalid value for '--gamma': 1 is out of range: at most 0.9999",
        so="With a discount of 1 the sum over turns need not end.",
    ),
    Mistake(
        "Numbers and words", "report runs --seed one", "Error: Invalid value for '--seed': 'one' is no whole number"
    ),
    Mistake(
        "Numbers and words",
        "report runs --length-policy truncated",
        "Error: Invalid value for '--length-policy': 'truncated' is none of absorb, truncate (did you mean 'truncate'?)",
    ),
    Mistake(
        "Numbers and words",
        "report runs --format tau_bench",
        f"Error: Invalid value for '--format': no format 'tau_bench' (did you mean 'tau-bench'?); there are {FORMATS}",
    ),
    Mistake(
        "Numbers and words",
        "compare runs runs --figure accuracy",
        f"Error: Invalid value for '--figure' / '--metric': no figure 'accuracy'; there are {FIGURES}",
    ),
    Mistake(
        "Numbers and words",
        "report runs --store labels.sqlite --no-store",
        "Error: Invalid value for '--no-store': --store and --no-store exclude each other",
    ),
    # Files to read
    Mistake(
        "Files to read",
        "report run/a.jsonl",
        "likewise: error: run/a.jsonl: no such file: there is no folder run",
        3,
    ),
    Mistake(
        "Files to read",
        "report runs/b.jsonl",
        "likewise: error: runs/b.jsonl: no such file (did you mean 'runs/a.jsonl'?)",
        3,
    ),
    Mistake(
        "Files to read",
        "report 'runs/*.json'",
        "likewise: error: runs/*.json: no such file: nothing fits this pattern, or it stands in quotes, where a shell "
        "leaves it as it is",
        3,
    ),
    Mistake(
        "Files to read",
        "report runs",
        f"likewise: error: runs: no rollout file in this folder (looked for {SUFFIXES})",
        3,
        {"runs/notes.txt": "hello\n"},
    ),
    Mistake(
        "Files to read", "report runs/a.json", "likewise: error: runs/a.json: the file is empty", 3, {"runs/a.json": ""}
    ),
    Mistake(
        "Files to read",
        "report notes.json",
        "likewise: error: notes.json: not a rollout file of a known format (17 tried; `likewise formats notes.json` says "
        "why none fits, --format forces one, --map reads any JSON by a mapping of your own)",
        3,
        {"notes.json": '{"hello": "world"}\n'},
    ),
    Mistake(
        "Files to read",
        "report cut.json",
        "likewise: error: cut.json, line 1: the JSON ends too early, in a string that starts at column 60",
        3,
        {"cut.json": '[{"task_id": "t", "messages": [{"role": "user", "content": "Hel'},
    ),
    Mistake(
        "Files to read",
        "report report.json",
        "likewise: error: report.json: no recorded runs: likewise wrote this itself (likewise.report/1)",
        3,
        {"report.json": '{"schema": "likewise.report/1", "tasks": []}'},
        so="A report is read by `likewise compare`, `likewise predict` and `likewise plan --from`.",
    ),
    Mistake(
        "Files to read",
        "report runs.zip",
        "likewise: error: runs.zip: a zip archive; unpack it and name the files in it",
        3,
        {"runs.zip": b"PK\x03\x04\x14\x00\x00\x00\x08\x00runs"},
    ),
    Mistake(
        "Files to read",
        "report runs.json",
        "likewise: error: runs.json: not UTF-8 (it looks like UTF-16; save it as UTF-8)",
        3,
        {"runs.json": '{"task_id": "t"}'.encode("utf-16")},
    ),
    Mistake(
        "Files to read",
        "report runs",
        "likewise: error: there are no rollouts to evaluate; 1 record(s) left out, the first: runs/a.jsonl, line 1, at "
        "/turns: missing or null (expected a list)",
        3,
        {"runs/a.jsonl": '{"schema": "likewise.rollout/1", "task_id": "t", "run_id": "1"}\n'},
    ),
    Mistake(
        "Files to read",
        "report runs --strict",
        "likewise: error: runs/a.jsonl, line 3: not JSON: Expecting property name enclosed in double quotes, column 2",
        3,
        {"runs/a.jsonl": RUNS["runs/a.jsonl"] + "{oops\n"},
        so="Without `--strict` the line is left out, counted and shown.",
    ),
    Mistake(
        "Files to read",
        "report runs",
        "",
        0,
        ONCE,
        shows="no task has two valid runs, and a run is compared with other runs of its task: run each task at least twice",
    ),
    Mistake(
        "Files to read",
        "report runs --map map.toml",
        "likewise: error: map.toml, at answer: missing (expected the path of the answer, or a table [turns] or [messages])",
        2,
        {**RUNS, "map.toml": 'task = "id"\n'},
    ),
    # Files to write
    Mistake(
        "Files to write",
        "report runs --json out/report.json",
        f"Error: Invalid value for --json: the folder {HOME}/out does not exist; create it first",
    ),
    Mistake(
        "Files to write",
        "report runs --json runs",
        "Error: Invalid value for --json: runs is a folder; name a file in it",
    ),
    Mistake(
        "Files to write",
        "report --json runs/a.jsonl runs/b.jsonl",
        "Error: Invalid value for --json: runs/a.jsonl holds recorded runs and would be overwritten; the option names the "
        "file to write",
        so="What `--json runs/*.jsonl` comes to.",
    ),
    Mistake(
        "Files to write",
        "report runs --json out --html out",
        "Error: Invalid value for --json and --html: each needs a file of its own",
    ),
    Mistake(
        "Files to write",
        "fit runs --out runs",
        "Error: Invalid value for --out: runs holds other files; name a new folder",
    ),
    # Settings and gates
    Mistake(
        "Settings and gates",
        "report runs --config likewise.toml",
        "likewise: error: likewise.toml: unknown section 'tool' (did you mean 'tools'?) (expected rules, tools, "
        "arguments, annotations, gates)",
        2,
        {**RUNS, "likewise.toml": '[tool]\nbook = "changes"\n'},
    ),
    Mistake(
        "Settings and gates",
        "report runs",
        'likewise: error: likewise.toml, at tools.book: unknown value \'write\' (expected "reads" or "changes")',
        2,
        {**RUNS, "likewise.toml": '[tools]\nbook = "write"\n'},
    ),
    Mistake(
        "Settings and gates",
        "report runs",
        "likewise: error: likewise.toml: not TOML: Invalid value (at line 2, column 8)",
        2,
        {**RUNS, "likewise.toml": "[tools]\nbook = changes\n"},
        so="Words stand in quotes.",
    ),
    Mistake(
        "Settings and gates",
        "report runs --fail-on 'rds > 1'",
        f"Error: Invalid value for '--fail-on': 'rds > 1': no figure 'rds' (did you mean 'rsd'?); there are {GATES} and "
        "pass^K",
    ),
    Mistake(
        "Settings and gates",
        "report runs --fail-on rsd",
        "Error: Invalid value for '--fail-on': 'rsd' is no gate; write FIGURE OPERATOR NUMBER, as in 'rsd > 1.5' or "
        f"'pass^4 < 0.8' (figures and states: flaky, undecided, {GATES}, pass^K)",
    ),
    Mistake(
        "Settings and gates",
        "tools runs --pin book=write",
        "Error: Invalid value for --pin: 'book=write': expected TOOL=reads or TOOL=changes",
    ),
    # Judges and stores
    Mistake(
        "Judges and stores",
        "report runs --judge gpt-4.1",
        "Error: Invalid value for --judge: no judge 'gpt-4.1'; there are embedded, hf:FOLDER, llm:MODEL, cascade:JUDGE; "
        "the chat model gpt-4.1 is llm:gpt-4.1",
    ),
    Mistake(
        "Judges and stores",
        "report runs --judge llm:gpt-4.1",
        "likewise: error: llm:gpt-4.1 at https://api.openai.com/v1 needs a key: set OPENAI_API_KEY, or name another "
        "endpoint with --judge-url",
        4,
        environment=KEYLESS,
    ),
    Mistake(
        "Judges and stores",
        "report runs --judge llm:llama --judge-url localhost:8000",
        "Error: Invalid value for '--judge-url': 'localhost:8000' is no endpoint's URL (expected as in "
        "http://localhost:8000/v1)",
    ),
    Mistake(
        "Judges and stores",
        "report runs --judge llm:gpt-4.1 --max-cost 1",
        "Error: Invalid value for --max-cost: what a call costs is not known; give --input-price and --output-price, per "
        "million tokens",
        environment=KEY,
    ),
    Mistake(
        "Judges and stores",
        "report runs --store labels.sqlite",
        "likewise: error: labels.sqlite: label store is damaged or not a label store (file is not a database); move or "
        "delete the file, its judgements will then be made again",
        4,
        {**RUNS, "labels.sqlite": "no database at all, " * 99},
    ),
    Mistake(
        "Judges and stores",
        "judge-eval pairs.jsonl",
        "likewise: error: pairs.jsonl, line 1, at /label: unknown label 'maybe' (expected entailment / neutral / "
        "contradiction)",
        3,
        {"pairs.jsonl": '{"premise": "a", "hypothesis": "b", "label": "maybe"}\n'},
    ),
    # Live agents
    Mistake("Live agents", "run", "Error: Invalid value: ask something: --query TEXT or --queries FILE"),
    Mistake(
        "Live agents",
        "run --query hello",
        "Error: Invalid value: name the agent by --agent, or by --endpoint with --model",
    ),
    Mistake(
        "Live agents",
        "run --query hello --agent agent.py",
        "Error: Invalid value for --agent: 'agent.py' is not of the form module:function, as in my_agent:answer",
    ),
    Mistake(
        "Live agents",
        "run --query hello --agent no_agent:answer",
        "Error: Invalid value for --agent: 'no_agent' cannot be imported from this folder or the installed packages: No "
        "module named 'no_agent'",
    ),
    Mistake(
        "Live agents",
        "run --query hello --endpoint http://localhost:8000/v1",
        "Error: Invalid value: --endpoint and --model belong together",
    ),
    Mistake(
        "Live agents",
        "run --queries questions.txt --endpoint http://localhost:8000/v1 --model llama",
        "likewise: error: questions.txt, line 1: not JSON: Expecting value, column 1 (expected a line of JSON: a text "
        "stands in quotes)",
        3,
        {"questions.txt": "Where is my parcel?\n"},
    ),
    # Plans and learned metrics
    Mistake(
        "Plans and learned metrics",
        "plan",
        "Error: Invalid value: ask something: --detect, --pass-hat with --within, --stable, --claim, --agreement or RUNS",
    ),
    Mistake(
        "Plans and learned metrics",
        "plan --detect 0.3 --from runs/a.jsonl",
        "likewise: error: runs/a.jsonl, line 2: no report: it is not JSON (expected a file that `likewise report --json` "
        "wrote)",
        3,
    ),
    Mistake(
        "Plans and learned metrics",
        "score runs --model model",
        "likewise: error: model/model.json, at file: expected a model folder with model.json in it, found no such file",
        3,
        so="`likewise fit RUNS --out model` makes one.",
    ),
    Mistake(
        "Plans and learned metrics",
        "tables runs",
        "Error: Invalid value: 'runs' is not of the form NAME=RUNS, as in base=runs/base.json",
    ),
]

INTRODUCTION = """\
# Troubleshooting

`likewise doctor` tries everything that is installed and set up here, and says what to do where something is broken.
Below are the likeliest mistakes, each with its answer word for word; every one of them is made in the tests. Files
stand in `/home/me`. Exit codes: 0 fine, 1 a threshold failed, 2 the command line or the settings, 3 a file that is
read, 4 a judge, a store or a missing extra.

An answer that begins with `internal error` is a fault of likewise and none of yours: the same command with `--debug`
shows the traceback to report.
"""


def rendered() -> str:
    """The page."""
    parts, about = [INTRODUCTION], ""
    for each in MISTAKES:
        if each.about != about:
            about = each.about
            parts.append(f"\n## {about}\n\n| you type | it says | code |\n|---|---|---|\n")
        says = [line.removeprefix("likewise: error: ").removeprefix("Error: ") for line in each.says.splitlines()]
        said = "<br>".join(map(_code, says or [each.shows])) + (f" {each.so}" if each.so else "")
        parts.append(f"| {_code(f'likewise {each.typed}')} | {said} | {each.code} |\n")
    return "".join(parts)


def _code(text: str) -> str:
    """A text as code in a cell; it may hold backticks and bars itself."""
    fence = "``" if "`" in text else "`"
    blank = " " if "`" in text else ""
    return f"{fence}{blank}{text.replace('|', chr(92) + '|')}{blank}{fence}"


if __name__ == "__main__":
    sys.stdout.write(rendered())
