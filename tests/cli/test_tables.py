"""`likewise tables` as a user types it."""

import csv
import json
from io import StringIO

import pytest


@pytest.fixture
def method(runs_file, line):
    """A file of six tasks of two runs each, by the progress of both."""

    def _write(name, *curves):
        lines = [
            line(f"task {i}", str(n), ["act"] * (len(curve) - 1), meta={"progress": list(curve)})
            for i in range(6)
            for n, curve in enumerate(curves)
        ]
        return runs_file(lines, f"{name}.jsonl")

    return _write


def test_tables_are_printed_and_written(invoke, method, tmp_path):
    base, steady = method("base", (0, 1), (0, 0, 1)), method("steady", (0, 1), (0, 1))
    faces = {face: tmp_path / f"out.{face}" for face in ("json", "markdown", "latex", "csv")}
    options = [option for face, path in faces.items() for option in (f"--{face}", path)]
    result = invoke(
        "tables", f"base={base}", f"steady={steady}", "--lambda", f"0.5={steady}", "--turn-limit", 4, "--rsd", *options
    )
    assert result.exit_code == 0, result.output
    assert "Table 1. Performance and consistency by method" in result.stdout
    assert "Table 2. Ablation over lambda" in result.stdout
    assert "Table 3. Direct RSD by method" in result.stdout
    rows = {(r["table"], r["method"], r["figure"]): r for r in csv.DictReader(StringIO(faces["csv"].read_text()))}
    # areas .875 and .625 against .875 twice; one END against one action: RSD .8 against 0
    assert float(rows["1", "base", "auc"]["value"]) == pytest.approx(0.75)
    assert float(rows["1", "steady", "auc"]["change"]) == pytest.approx(0.875 / 0.75 - 1)
    assert float(rows["1", "steady", "auc_cv"]["change"]) == -1
    assert float(rows["3", "base", "rsd"]["value"]) == pytest.approx(0.8)
    assert float(rows["3", "steady", "rsd"]["value"]) == 0
    assert rows["2", "λ = 0.5", "auc"]["lambda"] == "0.5"
    assert json.loads(faces["json"].read_text())["turn_limit"] == 4
    assert r"\toprule" in faces["latex"].read_text()
    assert "| `steady` |" in faces["markdown"].read_text()


def test_standard_output_takes_one_face_alone(invoke, method):
    result = invoke("tables", f"base={method('base', (0, 1), (0, 1))}", "--json", "-")
    assert json.loads(result.stdout)["base"] == "base"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["RUNS"], 2, "is not of the form NAME=RUNS"),
        (["a=RUNS", "a=RUNS"], 2, "two methods are called 'a'"),
        (["a=RUNS", "--base", "b"], 2, "'b' is none of a"),
        (["a=RUNS", "--lambda", "x=RUNS"], 2, "is not of the form LAMBDA=RUNS"),
        (["a=RUNS", "--lambda", "nan=RUNS"], 2, "finite"),
        (["a=RUNS", "--lambda", "0.5"], 2, "is not of the form LAMBDA=RUNS"),
        (["a=RUNS", "--lambda", "1=RUNS", "--lambda", "1.0=RUNS"], 2, "lambda 1 is given twice"),
        (["a=RUNS", "--turn-limit", "1"], 3, "the turn limit is 1"),
        (["a=missing.jsonl"], 3, "missing.jsonl"),
        (["a=RUNS", "--csv", "RUNS"], 2, "holds recorded runs"),
    ],
)
def test_what_cannot_be_done_is_told(invoke, method, arguments, code, message):
    runs = str(method("base", (0, 0, 1)))
    result = invoke("tables", *(argument.replace("RUNS", runs) for argument in arguments))
    assert result.exit_code == code, result.output
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert "Traceback" not in result.output
