"""Does the wheel work where nothing of the repository is? Installs it into an empty environment and uses it there.

Run: python tools/release/wheel_check.py dist/likewise-*.whl [--extras llm serve ...]
The base is used by `likewise report` on the shipped runs; of an extra, the part that needs it is imported, alone. With
`--out FILE` what was found is kept after each extra, and what worked with the very same wheel is not tried again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LARGEST = 95_000_000
"""Bytes of the wheel."""

USES = {
    "llm": "from likewise.backends.judges import judge_from_name; judge_from_name('llm:tiny')",
    "serve": "from likewise.service.app import create_app; from likewise.store.store import Store",
    "postgres": "import psycopg; psycopg.pq.version()",
    "parquet": "import pyarrow.parquet; from likewise.formats import table",
    "remote": "import fsspec; fsspec.filesystem('memory')",
    "hf": "import sentence_transformers; from likewise.backends import hf_nli",
    "learned": "from likewise.learned.network import load_torch; load_torch()",
    "train": "import trl, peft, accelerate; from likewise.training import grpo",
    "ray": "import ray; from likewise.backends.ray_judge import RayJudge",
    "openai-agents": "import agents; from likewise.reliability.integrations import openai_agents",
    "langchain": "import langchain_core, langgraph.graph; from likewise.reliability.integrations import langchain",
    "pydantic-ai": "import pydantic_ai; from likewise.reliability.integrations import pydantic_ai",
    "ag2": "import ag2.config.openai; from likewise.reliability.integrations import ag2",
    "autogen": "import autogen_agentchat, autogen_ext; from likewise.reliability.integrations import autogen",
    "crewai": "import crewai; from likewise.reliability.integrations import crewai",
}
"""What shows that an extra is whole: the module of ours that needs it."""


def run(words: list[str], folder: Path, **environment: str) -> str:
    """Run a command away from the repository; its failure is this check's."""
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ}
    pip = {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "UV_", "SSL_"))}
    ended = subprocess.run(
        words, cwd=folder, env=kept | pip | environment, capture_output=True, text=True, check=False, timeout=1800
    )
    if ended.returncode:
        sys.exit(f"{' '.join(words)} ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
    return ended.stdout


def environment_with(wheel: Path, extra: str, folder: Path) -> Path:
    """An environment that holds the wheel and what it needs, and nothing else; gives its folder of programs."""
    venv.create(folder, with_pip=True)
    programs = folder / "bin"
    run([str(programs / "pip"), "install", "--quiet", f"{wheel}[{extra}]" if extra else str(wheel)], folder)
    return programs


def check_contents(wheel: Path) -> dict[str, Any]:
    """The wheel is small enough, and has the weights, their cards and the notices, and nothing of the tests."""
    size = wheel.stat().st_size
    if size > LARGEST:
        sys.exit(f"{wheel.name} has {size / 1e6:.1f} MB; at most {LARGEST / 1e6:.0f} are allowed")
    names = zipfile.ZipFile(wheel).namelist()
    wanted = ("models/nli/read.onnx", "models/encoder/encoder.onnx", "models/nli/CARD.md", "py.typed", "NOTICE")
    lacking = [each for each in wanted if not any(name.endswith(each) for name in names)]
    strangers = [name for name in names if name.startswith("tests/") or name.endswith(".pyc")]
    if lacking or strangers:
        sys.exit(f"{wheel.name} lacks {lacking}, and holds {strangers} that it should not")
    print(f"{wheel.name}: {size / 1e6:.1f} MB, {len(names)} files")
    return {"name": wheel.name, "megabytes": round(size / 1e6, 1), "files": len(names), "digest": digest_of(wheel)}


def digest_of(wheel: Path) -> str:
    """Of what is in the wheel, whenever it was packed."""
    with zipfile.ZipFile(wheel) as archive:
        parts = sorted((each.filename, each.CRC) for each in archive.infolist())
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def check_base(wheel: Path, folder: Path) -> dict[str, Any]:
    """Report on the shipped runs, in a folder that holds them and nothing else."""
    started = time.monotonic()
    programs = environment_with(wheel, "", folder / "base")
    installing = time.monotonic() - started
    print(f"base: installed in {installing:.0f} s", flush=True)
    away = folder / "away"
    away.mkdir()
    shutil.copy(ROOT / "examples" / "rollouts" / "airline.json", away)
    started = time.monotonic()
    store = {"LIKEWISE_LABEL_STORE": str(away / "labels.sqlite")}
    run([str(programs / "likewise"), "report", "airline.json", "--json", "r.json", "--html", "r.html"], away, **store)
    report = json.loads((away / "r.json").read_text(encoding="utf-8"))
    place = run([str(programs / "python"), "-c", "import likewise; print(likewise.__file__)"], away).strip()
    if not Path(place).is_relative_to(folder) or len(report["tasks"]) != 10 or not (away / "r.html").stat().st_size:
        sys.exit(f"the report is not what it should be: {len(report['tasks'])} tasks, package in {place}")
    seconds = time.monotonic() - started
    print(f"base: report of {len(report['tasks'])} tasks in {seconds:.0f} s, package in {place}", flush=True)
    return {
        **contents_of(programs, folder / "base"),
        "installing_seconds": round(installing),
        "report_seconds": round(seconds),
        "report_tasks": len(report["tasks"]),
    }


def contents_of(programs: Path, folder: Path) -> dict[str, Any]:
    """How many packages an environment holds, and how large it is."""
    packages = json.loads(run([str(programs / "pip"), "list", "--format", "json"], folder))
    size = sum(each.lstat().st_size for each in folder.rglob("*"))
    return {"packages": len(packages), "megabytes": round(size / 1e6)}


def check_extra(wheel: Path, extra: str, folder: Path) -> dict[str, Any]:
    """Import what needs the extra, in an environment with this extra alone, which is removed again."""
    started = time.monotonic()
    programs = environment_with(wheel, extra, folder / extra)
    run([str(programs / "python"), "-c", USES[extra]], folder, OPENAI_API_KEY="a-key")
    found = contents_of(programs, folder / extra)
    seconds = time.monotonic() - started
    print(f"{extra}: works alone; {found['packages']} packages, {found['megabytes']} MB, {seconds:.0f} s", flush=True)
    shutil.rmtree(folder / extra)
    return {**found, "seconds": round(seconds)}


def check_extras(
    wheel: Path, extras: list[str], folder: Path, found: dict[str, Any], keep: Callable[[], None]
) -> list[str]:
    """Try each extra alone, note how it went and keep that; gives those that do not work."""
    failed = []
    for extra in extras:
        try:
            found[extra] = {"works": True, **check_extra(wheel, extra, folder)}
        except SystemExit as problem:
            print(f"{extra}: does not work: {problem}", flush=True)
            found[extra] = {"works": False, "problem": str(problem)[:300]}
            failed.append(extra)
        keep()
    return failed


def main() -> None:
    """Check the wheel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--extras", nargs="*", choices=sorted(USES), default=[])
    parser.add_argument("--out", type=Path, help="JSON file of what was found")
    options = parser.parse_args()
    wheel = options.wheel.resolve()
    rows: dict[str, Any] = {"wheel": check_contents(wheel), "python": platform.python_version()}
    old = json.loads(options.out.read_text(encoding="utf-8")) if options.out and options.out.exists() else {}
    same = all(old.get(name) == value for name, value in rows.items())
    rows |= {name: old[name] for name in ("base", "extras_alone") if same and name in old}
    extras = rows.setdefault("extras_alone", {})

    def keep() -> None:
        if options.out:
            options.out.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")

    with tempfile.TemporaryDirectory() as name:
        if "base" not in rows:
            rows["base"] = check_base(wheel, Path(name))
            keep()
        left = [extra for extra in options.extras if not extras.get(extra, {}).get("works")]
        if failed := check_extras(wheel, left, Path(name), extras, keep):
            sys.exit(f"extras that do not work alone: {', '.join(failed)}")


if __name__ == "__main__":
    main()
