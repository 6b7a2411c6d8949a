"""`likewise label`, in this process; tests/e2e/test_label_process.py runs it as a user does."""

import gzip
import io
import json
import sys

import fsspec
import pytest

pytestmark = pytest.mark.model

RUNS = {"t": {"1": ["Your flight is booked.", "Bye."], "2": ["Your flight has been booked.", "Bye."], "3": ["No."]}}
PAIRS = [
    {"a": "Your flight is booked.", "b": "Your flight has been booked."},
    {"action_a": "Your flight has been booked.", "action_b": "Your flight is booked."},
    {"premise": "Hello.", "hypothesis": 'cancel({"id": 1})'},
]


@pytest.fixture
def pairs_file(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(map(json.dumps, PAIRS)))
    return path


def lines(path):
    data = path.read_bytes()
    return [json.loads(line) for line in (gzip.decompress(data) if path.suffix == ".gz" else data).splitlines()]


def labelled(invoke, tmp_path, *arguments, name="labels.jsonl"):
    out = tmp_path / name
    result = invoke("label", *arguments, "--out", out)
    assert result.exit_code == 0, (result.stdout, result.stderr)
    return lines(out)


def test_pairs_of_runs_are_labelled_turn_by_turn(invoke, runs_file, tmp_path):
    out = labelled(invoke, tmp_path, runs_file(RUNS))
    assert [(line["place"]["runs"], line["place"]["turn"]) for line in out] == [
        (["1", "2"], 0),
        (["1", "2"], 1),
        (["1", "3"], 0),
        (["2", "3"], 0),
    ]
    assert out[1]["rule"] == "identical"
    assert out[1]["relation"] == "equivalent"
    assert all(sum(line["forward"]) == pytest.approx(1, abs=1e-5) for line in out)
    assert len({line["signature"] for line in out}) == 1


def test_pairs_of_texts_are_labelled_in_each_spelling_and_once(invoke, pairs_file, tmp_path):
    out = labelled(invoke, tmp_path, pairs_file)
    assert [line["place"]["line"] for line in out] == [1, 3]
    assert (out[1]["relation"], out[1]["rule"]) == ("neutral", "tool:call-against-text")


def test_a_name_that_ends_in_gz_is_packed_and_the_same(invoke, pairs_file, tmp_path):
    plain = labelled(invoke, tmp_path, pairs_file)
    assert labelled(invoke, tmp_path, pairs_file, name="labels.jsonl.gz") == plain


@pytest.mark.parametrize("option", [["--workers", "1"], ["--no-store"], ["--engine", "local"]])
def test_no_label_depends_on_how_it_was_made(invoke, pairs_file, tmp_path, option):
    assert labelled(invoke, tmp_path, pairs_file, *option, name="other.jsonl") == labelled(invoke, tmp_path, pairs_file)


def test_a_second_run_asks_the_store(invoke, pairs_file, tmp_path):
    use = []
    for _ in range(2):
        result = invoke("label", pairs_file, "--out", tmp_path / "o.jsonl", "--json")
        assert result.exit_code == 0, result.stderr
        use.append(json.loads(result.stdout)["judge_use"])
    assert use[0] == {"from_store": 0, "from_model": 1, "by_class": 0}
    assert use[1] == {"from_store": 1, "from_model": 0, "by_class": 0}


def test_the_summary_tells_the_counts_and_where_the_labels_are(invoke, pairs_file, tmp_path):
    result = invoke("label", pairs_file, "--out", tmp_path / "o.jsonl")
    assert "3 pairs, 2 of them distinct" in result.stdout
    assert "tool:call-against-text" in result.stdout
    assert result.stderr == f"likewise: wrote {tmp_path / 'o.jsonl'}\n"
    assert invoke("label", pairs_file, "--out", tmp_path / "o.jsonl", "-q").output == ""


def test_standard_output_holds_labels_alone(invoke, pairs_file):
    result = invoke("label", pairs_file, "--out", "-")
    assert [json.loads(line)["place"]["line"] for line in result.stdout.splitlines()] == [1, 3]
    assert "3 pairs, 2 of them distinct" in result.stderr


def test_settled_by_classes_the_signature_says_so(invoke, pairs_file, tmp_path):
    (signature,) = {line["signature"] for line in labelled(invoke, tmp_path, pairs_file, "--settle-by-classes")}
    assert signature.endswith("|by:classes")


def test_lines_without_a_pair_are_counted_or_refused(invoke, pairs_file, tmp_path):
    pairs_file.write_text(pairs_file.read_text() + "\n{}\n")
    result = invoke("label", pairs_file, "--out", tmp_path / "o.jsonl", "--json")
    assert json.loads(result.stdout)["excluded_count"] == 1
    result = invoke("label", pairs_file, "--out", tmp_path / "p.jsonl", "--strict")
    assert result.exit_code == 3
    assert result.stderr.startswith(f"likewise: error: {pairs_file}, line 4: an object without a pair of texts")
    assert not (tmp_path / "p.jsonl").exists()


def test_addresses_are_read_and_written(invoke, pairs_file, tmp_path):
    bucket = fsspec.filesystem("memory")
    bucket.put(str(pairs_file), "/b/pairs.jsonl")
    result = invoke("label", "memory://b/pairs.jsonl", "--out", "memory://b/labels.jsonl.gz")
    assert result.exit_code == 0, result.stderr
    with gzip.open(io.BytesIO(bucket.cat("/b/labels.jsonl.gz"))) as file:
        found = [json.loads(line) for line in file]
    expected = labelled(invoke, tmp_path, pairs_file)
    assert [line | {"place": None} for line in found] == [line | {"place": None} for line in expected]
    bucket.store.clear()


# Refusals


def refused(result, code, *words):
    assert result.exit_code == code, (result.stdout, result.stderr)
    assert "Traceback" not in result.output
    assert all(word in " ".join(result.output.split()) for word in words), result.output


def test_what_cannot_be_done_is_refused_before_the_work(invoke, pairs_file, runs_file, tmp_path):
    out = tmp_path / "o.jsonl"
    refused(invoke("label", pairs_file), 2, "--out")
    refused(invoke("label", "--out", out), 2, "FILES")
    refused(invoke("label", "-", "--out", out), 2, "/dev/stdin")
    refused(invoke("label", pairs_file, "--out", "-", "--json"), 2, "standard output", "name a file")
    refused(invoke("label", pairs_file, "--out", tmp_path / "no" / "o.jsonl"), 2, "does not exist")
    refused(invoke("label", pairs_file, "--out", pairs_file), 2, "would be overwritten")
    refused(invoke("label", pairs_file, "--out", runs_file(RUNS)), 2, "would be overwritten")
    refused(invoke("label", pairs_file, "--out", out, "--workers", "0"), 2, "--workers")
    refused(invoke("label", pairs_file, "--out", out, "--engine", "spark"), 2, "local", "ray")
    refused(invoke("label", pairs_file, "--out", out, "--judge", "none"), 2, "no judge 'none'")
    refused(invoke("label", pairs_file, "--out", out, "--judge", "llm:x", "--engine", "ray"), 2, "--parallel")
    refused(invoke("label", pairs_file, "--out", out, "--judge", "hf:x", "--workers", "2"), 2, "--workers")
    refused(invoke("label", pairs_file, "--out", out, "--store", "s3://b/store"), 2, "a file of this machine")
    assert not out.exists()


def test_unreadable_input_is_refused_with_its_name(invoke, tmp_path):
    other = tmp_path / "notes.txt"
    other.write_text("hello")
    refused(invoke("label", other, "--out", tmp_path / "o.jsonl"), 3, "notes.txt")
    refused(invoke("label", tmp_path / "none", "--out", tmp_path / "o.jsonl"), 3, "no such file")
    refused(invoke("label", "memory://b/none.jsonl", "--out", tmp_path / "o.jsonl"), 3, "memory://b/none.jsonl")
    refused(invoke("label", "oci://b/x.jsonl", "--out", tmp_path / "o.jsonl"), 4, "ocifs")


def test_one_run_a_task_makes_no_pair(invoke, runs_file, tmp_path):
    out = tmp_path / "o.jsonl"
    refused(invoke("label", runs_file({"t": {"1": ["a"]}}), "--out", out), 3, "no pair to label")
    assert not out.exists()


def test_missing_extras_are_told_with_their_pip_line(invoke, pairs_file, tmp_path, monkeypatch):
    out = tmp_path / "o.jsonl"
    monkeypatch.setitem(sys.modules, "ray", None)
    refused(invoke("label", pairs_file, "--out", out, "--engine", "ray"), 4, "pip install 'likewise[ray]'")
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    monkeypatch.setattr("likewise.backends.judges.embedded_judge", None)  # told before any work
    refused(invoke("label", pairs_file, "--out", "s3://b/o.jsonl"), 4, "pip install 'likewise[remote]'")


def test_where_nothing_could_be_labelled_the_reasons_are_written_and_ci_is_told(invoke, tmp_path):
    path, out = tmp_path / "long.jsonl", tmp_path / "o.jsonl"
    path.write_text(json.dumps({"a": "x" * 60_000, "b": "y"}))
    refused(invoke("label", path, "--out", out), 4, "no pair could be labelled")
    assert [line["relation"] for line in lines(out)] == [None]


def test_runs_of_any_layout_are_labelled_by_a_mapping_and_packed_ones_too(invoke, tmp_path):
    rows = [{"frage": "Q", "antwort": text} for text in ("Yes.", "Yes.", "No.")]
    runs, mapping = tmp_path / "runs.json.gz", tmp_path / "map.toml"
    runs.write_bytes(gzip.compress(json.dumps(rows).encode()))
    mapping.write_text('task = "frage"\nanswer = "antwort"\n')
    plain = labelled(invoke, tmp_path, runs, "--map", mapping)
    assert [(line["place"]["task"], line["rule"] == "identical") for line in plain] == [("Q", True), ("Q", False)]
    refused = invoke("label", runs, "--map", mapping, "--format", "tau2", "--out", tmp_path / "x.jsonl")
    assert refused.exit_code == 2
    mapping.write_text('task = "frage"\nantwort = "antwort"\n')
    refused = invoke("label", runs, "--map", mapping, "--out", tmp_path / "x.jsonl")
    assert refused.exit_code in (2, 3)
    assert "map.toml: unknown key 'antwort'" in refused.stderr
