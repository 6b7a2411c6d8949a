from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import likewise

ROOT = Path(__file__).parents[2]
HEAVY = (
    "torch",
    "onnxruntime",
    "fastapi",
    "transformers",
    "rich",
    "jinja2",
    "tokenizers",
    "scipy",
    "openai",
    "py3langid",
    "fsspec",
    "pyarrow",
    "ray",
    "sqlalchemy",
    "alembic",
    "argon2",
)
REPORT = "import sys; print(' '.join(name for name in {heavy!r} if name in sys.modules))"


def heavy_modules_after(statement, heavy=HEAVY):
    """Which heavy modules a fresh interpreter has loaded after a statement."""
    code = f"{statement}\n{REPORT.format(heavy=heavy)}"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return answer.stdout.split()


def test_importing_the_package_loads_nothing_heavy():
    assert heavy_modules_after("import likewise") == []


def test_no_public_name_loads_anything_heavy_before_it_is_used():
    assert heavy_modules_after(f"from likewise import {', '.join(likewise.__all__)}") == []


def test_logs_are_read_and_listed_without_arrays():
    parts = "likewise.formats.registry, likewise.formats.summary, likewise.report.inspection"
    assert heavy_modules_after(f"import {parts}", ("numpy", "jaxtyping", "likewise.scoring")) == []
    assert heavy_modules_after("import likewise.report.words", ("numpy", "likewise.scoring")) != []


def test_the_proof_can_fail():
    assert heavy_modules_after("import likewise, onnxruntime") == ["onnxruntime"]


# Public names

PUBLIC = {
    "fit_rsd",
    "compare",
    "RSDModel",
    "RSDReward",
    "Monitor",
    "Endpoint",
    "Estimate",
    "LengthPolicy",
    "ReliabilityLayer",
    "Rollout",
    "RolloutGroup",
    "Verdict",
    "__version__",
    "evaluate",
    "group_rollouts",
    "label_pairs",
    "monte_carlo_rsd",
    "pass_at_k",
    "pass_hat_k",
    "read_rollouts",
    "score_group",
    "total_variance",
    "write_rollouts",
}


def test_the_public_names_are_these_and_each_resolves():
    assert set(likewise.__all__) == PUBLIC
    assert dir(likewise) == sorted(likewise.__all__)
    for name in likewise.__all__:
        assert getattr(likewise, name) is getattr(likewise, name)


def test_type_checkers_see_exactly_the_names_that_resolve():
    tree = ast.parse((ROOT / "src/likewise/__init__.py").read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    assert {alias.asname for node in block.body for alias in node.names} == PUBLIC


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'likewise' has no attribute 'nothing'"):
        _ = likewise.nothing


def test_modules_import_downward_only():
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=240)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "0 broken" in answer.stdout
