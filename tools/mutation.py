"""How many changes of a metric do its tests notice? Works on a copy; nothing in the repository is touched.

Run from the repository's environment: python tools/mutation.py pass_k entropy   (modules of metrics; all if none)
A module is tested by its own test file and the paper's sentences. Statements that raise are not changed: the words of a
refusal are held elsewhere. `--share 0.25` tries a random quarter of each module's changes, `--seed` says which. Writes
benchmarks/results/mutation.json after each module, and goes on where it was stopped: a module whose text, tests and
settings are as they were is not tried again unless more of it is asked for. Why a survivor may live:
tools/mutation_survivors.toml.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
METRICS = ROOT / "src" / "likewise" / "metrics"
OUT = ROOT / "benchmarks" / "results" / "mutation.json"
WHY = ROOT / "tools" / "mutation_survivors.toml"
ENOUGH = 0.85
"""Share of mutants to be killed."""
DEAD = ("killed", "timeout", "caught by type check")
SETTINGS = r"""
[tool.mutmut]
source_paths = ["src/"]
only_mutate = ["src/likewise/metrics/{name}.py"]
do_not_mutate_patterns = ['^\s*raise ', '^\s*(problem|message) = ']
pytest_add_cli_args_test_selection = ["tests/metrics/test_{name}.py", "tests/paper"]
pytest_add_cli_args = ["-p", "no:likewise", "-p", "no:cacheprovider", "--import-mode=importlib"]
also_copy = ["tests/"]
use_git_change_detection = false
track_dependencies = false
timeout_multiplier = 3

[tool.pytest.ini_options]
pythonpath = ["tests"]
markers = ["model", "data", "slow"]
"""
CONFTEST = """
from hypothesis import settings
settings.register_profile("mutation", deadline=None, derandomize=True, max_examples=40, database=None)
settings.load_profile("mutation")
"""
"""The same examples in every run, and fewer than in the suite: that can only let a mutant live."""


def copy_to(folder: Path, name: str) -> None:
    """What the tests of a metric need, and no more."""
    ignored = shutil.ignore_patterns("__pycache__")
    for room in ("core", "metrics"):
        shutil.copytree(ROOT / "src" / "likewise" / room, folder / "src" / "likewise" / room, ignore=ignored)
    shutil.copy(ROOT / "src" / "likewise" / "__init__.py", folder / "src" / "likewise")
    (folder / "tests" / "metrics").mkdir(parents=True)
    (folder / "tests" / "paper").mkdir()
    for path in tests_of(name):
        shutil.copy(path, folder / path.relative_to(ROOT))
    (folder / "tests" / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (folder / "pyproject.toml").write_text(SETTINGS.format(name=name), encoding="utf-8")


def tests_of(name: str) -> list[Path]:
    """The module's own tests, and those of the paper's sentences that speak of it and need nothing above metrics."""
    found = [ROOT / "tests" / "metrics" / f"test_{name}.py"]
    for path in sorted((ROOT / "tests" / "paper").glob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        foreign = re.search(r"likewise\.(?!core|metrics)\w+|^from likewise import", text, re.M)
        if not foreign and name in text:
            found.append(path)
    return found


def digest_of(name: str) -> str:
    """Changes where the module, its tests or the way of trying it does."""
    texts = [path.read_bytes() for path in (METRICS / f"{name}.py", *tests_of(name))]
    how = f"{SETTINGS}{CONFTEST}{version('mutmut')}".encode()
    return hashlib.sha256(b"\0".join([how, *texts])).hexdigest()[:16]


def sampled(mutants: Sequence[str], share: float, seed: int) -> list[str]:
    """A random part of the mutants, at least one, in their order."""
    wanted = max(1, round(share * len(mutants)))
    places = random.Random(seed).sample(range(len(mutants)), wanted)
    return [mutants[at] for at in sorted(places)]


def listed(text: str) -> dict[str, str]:
    """Mutant -> how it ended, from what `mutmut results --all true` prints."""
    return dict(re.findall(r"^\s*(\S+__mutmut_\d+): (.+)$", text, re.M))


def change(diff: str) -> dict[str, str]:
    """The lines of a diff that were, and are instead."""
    lines = [line for line in diff.splitlines() if not line.startswith(("---", "+++"))]
    was, now = ([line[1:].strip() for line in lines if line.startswith(sign)] for sign in "-+")
    return {"was": "\n".join(was), "now": "\n".join(now)}


def mutate(name: str, folder: Path, share: float, seed: int) -> dict[str, Any]:
    """How many mutants of a module there are and how those that were tried ended, with the changes that lived."""
    copy_to(folder, name)

    def mutmut(*words: str) -> str:
        tool = [sys.executable, "-m", "mutmut", *words]
        ended = subprocess.run(tool, cwd=folder, capture_output=True, text=True, check=False)
        return ended.stdout + ended.stderr

    # The first of each function makes them all, so that the others can be chosen.
    said = mutmut("run", "--max-children", "1", "*__mutmut_1")
    mutants = list(listed(mutmut("results", "--all", "true")))
    tried = sampled(mutants, share, seed) if mutants else []
    said += mutmut("run", "--max-children", "1", *tried) if tried else ""
    ended = {mutant: how for mutant, how in listed(mutmut("results", "--all", "true")).items() if mutant in tried}
    if not ended or "not checked" in ended.values():
        sys.exit(f"{name}: mutmut did not run:\n{said[-4000:]}")
    alive = [mutant for mutant, how in ended.items() if how not in DEAD]
    survivors = [{"mutant": each.split(".")[-1], "how": ended[each], **change(mutmut("show", each))} for each in alive]
    counts = {"mutants": len(mutants), "tried": len(tried), "killed": len(tried) - len(alive)}
    return {**counts, "ended": dict(Counter(ended.values())), "survivors": survivors}


def explained(modules: Mapping[str, Any], reasons: Sequence[Mapping[str, str]]) -> None:
    """Write beside each survivor why no test needs to notice it, where somebody has said so."""
    said = {(each["module"], each["was"], each["now"]): each["why"] for each in reasons}
    for name, module in modules.items():
        for each in module["survivors"]:
            each["why"] = said.get((name, each["was"], each["now"]))


def killed_share(modules: Mapping[str, Any]) -> tuple[float, float]:
    """Share of all mutants that would be killed, and its standard error, from the part of each module that was tried.

    Modules count by all their mutants (a stratified sample). For the error alone, one killed and one alive are added to
    what was tried of a module, so that one without a survivor is not taken for certain; nothing is uncertain where all
    of a module was tried.
    """
    everything = sum(each["mutants"] for each in modules.values())
    share = variance = 0.0
    for each in modules.values():
        weight, n = each["mutants"] / everything, each["tried"]
        likely = (each["killed"] + 1) / (n + 2)
        share += weight * each["killed"] / n
        variance += weight**2 * likely * (1 - likely) / n * (1 - n / each["mutants"])
    return share, math.sqrt(variance)


def summary(modules: Mapping[str, Any]) -> dict[str, Any]:
    """All modules together, with a 95 % interval for what was not tried."""
    share, error = killed_share(modules)
    survivors = [each for module in modules.values() for each in module["survivors"]]
    return {
        "modules": len(modules),
        "mutants": sum(each["mutants"] for each in modules.values()),
        "tried": sum(each["tried"] for each in modules.values()),
        "killed": sum(each["killed"] for each in modules.values()),
        "killed_share": share,
        "low": max(0.0, share - 1.96 * error),
        "high": min(1.0, share + 1.96 * error),
        "survivors_explained": sum(each["why"] is not None for each in survivors),
        "survivors_unexplained": sum(each["why"] is None for each in survivors),
    }


def main() -> None:
    """Try the modules, write the results, and fail where too many mutants live."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", help="of metrics; all if none")
    parser.add_argument("--share", type=float, default=1.0, help="of each module's mutants, chosen at random")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    there = sorted(path.stem for path in METRICS.glob("[!_]*.py"))
    old = json.loads(options.out.read_text(encoding="utf-8")) if options.out.exists() else {}
    modules = {name: module for name, module in old.get("by_module", {}).items() if name in there}
    reasons = tomllib.loads(WHY.read_text(encoding="utf-8"))["survivor"]
    for name in options.modules or there:
        digest, known = digest_of(name), modules.get(name, {})
        if known.get("digest") != digest or known["share"] < options.share:
            with tempfile.TemporaryDirectory() as folder:
                found = mutate(name, Path(folder), options.share, options.seed)
            modules[name] = {"digest": digest, "share": options.share, "seed": options.seed, **found}
        explained(modules, reasons)
        print(f"{name}: {modules[name]['killed']} of {modules[name]['tried']} killed", flush=True)
        for each in modules[name]["survivors"]:
            print(f"    - {each['was']}\n    + {each['now']}    ({each['how']}; {each['why'] or 'not explained'})")
        rows = {
            "tool": f"mutmut {version('mutmut')}",
            "all": summary(modules),
            "not_tried": [name for name in there if name not in modules],
            "by_module": dict(sorted(modules.items())),
        }
        options.out.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    total = summary(modules)
    print(f"killed: {total['killed']} of {total['tried']} ({total['killed_share']:.1%})")
    sys.exit(total["killed_share"] < ENOUGH)


if __name__ == "__main__":
    main()
