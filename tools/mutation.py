"""How many changes of a metric do its tests notice? Works on a copy; nothing in the repository is touched.

Run from the repository's environment: python tools/mutation.py pass_k entropy   (modules of metrics; all if none)
A module is tested by its own test file and the paper's sentences.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
METRICS = ROOT / "src" / "likewise" / "metrics"
ENOUGH = 0.85
"""Share of mutants to be killed."""
SETTINGS = """
[tool.mutmut]
source_paths = ["src/"]
only_mutate = ["src/likewise/metrics/{name}.py"]
pytest_add_cli_args_test_selection = ["tests/metrics/test_{name}.py", "tests/paper"]
pytest_add_cli_args = ["-p", "no:likewise", "-p", "no:cacheprovider", "--import-mode=importlib"]
also_copy = ["tests/"]
use_git_change_detection = false
track_dependencies = false

[tool.pytest.ini_options]
pythonpath = ["tests"]
markers = ["model", "data", "slow"]
"""


def copy_to(folder: Path, name: str) -> None:
    """What the tests of a metric need, and no more."""
    ignored = shutil.ignore_patterns("__pycache__")
    for room in ("core", "metrics"):
        shutil.copytree(ROOT / "src" / "likewise" / room, folder / "src" / "likewise" / room, ignore=ignored)
    shutil.copy(ROOT / "src" / "likewise" / "__init__.py", folder / "src" / "likewise")
    (folder / "tests" / "metrics").mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "metrics" / f"test_{name}.py", folder / "tests" / "metrics")
    (folder / "tests" / "paper").mkdir()
    for path in (ROOT / "tests" / "paper").glob("test_*.py"):
        foreign = re.search(r"likewise\.(?!core|metrics)\w+|^from likewise import", path.read_text(), re.M)
        if not foreign and name in path.read_text():
            shutil.copy(path, folder / "tests" / "paper")
    (folder / "pyproject.toml").write_text(SETTINGS.format(name=name), encoding="utf-8")


def mutate(name: str, folder: Path) -> tuple[Counter[str], str]:
    """How many mutants of a module ended how, and those that were not killed, as changes."""
    copy_to(folder, name)
    tool = [sys.executable, "-m", "mutmut"]
    ran = subprocess.run([*tool, "run", "--max-children", "2"], cwd=folder, capture_output=True, text=True, check=False)
    listed = subprocess.run(
        [*tool, "results", "--all", "true"], cwd=folder, capture_output=True, text=True, check=False
    )
    ended = re.findall(r"^\s*(\S+__mutmut_\d+): (.+)$", listed.stdout, re.M)
    if not ended or all(how == "not checked" for _, how in ended):
        sys.exit(f"{name}: mutmut did not run:\n{ran.stdout[-3000:]}{ran.stderr[-3000:]}")
    alive = [mutant for mutant, how in ended if how not in ("killed", "timeout", "caught by type check")]
    shown = (subprocess.run([*tool, "show", each], cwd=folder, capture_output=True, text=True) for each in alive)
    return Counter(how for _, how in ended), "\n".join(each.stdout for each in shown)


def main() -> None:
    """Print the share of killed mutants, module by module, and every survivor."""
    names = sys.argv[1:] or sorted(path.stem for path in METRICS.glob("[!_]*.py"))
    killed = everything = 0
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            counts, survivors = mutate(name, Path(folder))
        dead = counts["killed"] + counts["timeout"]
        killed, everything = killed + dead, everything + counts.total()
        print(f"{name}: {dead} of {counts.total()} killed ({dead / counts.total():.0%}); {dict(counts)}\n{survivors}")
    print(f"killed: {killed} of {everything} ({killed / everything:.1%})")
    sys.exit(killed / everything < ENOUGH)


if __name__ == "__main__":
    main()
