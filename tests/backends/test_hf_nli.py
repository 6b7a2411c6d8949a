"""Cross-encoders as judges: a folder with weights set by hand, whose answers can be worked out; and what is refused."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import onnx
import pytest
from onnx import helper

from likewise.backends import hf_nli
from likewise.backends.hf_nli import HfNli, hf_judge
from likewise.core.errors import BackendError, MissingExtraError
from likewise.core.labels import Relation
from tiny_nli import softmax, write_folder

EQ, NE, CO = Relation.EQUIVALENT, Relation.NEUTRAL, Relation.CONTRADICTORY
PYTORCH = all(importlib.util.find_spec(name) for name in ("torch", "transformers"))
needs_pytorch = pytest.mark.skipif(not PYTORCH, reason="PyTorch and transformers are not installed (extra `hf`)")
PAIRS = [
    ("I did it.", "I did not."),
    ("Paid by card.", "The instrument is yours."),
    ("yes", "yes, she lives here, and her sisters do too"),
    ("Something.", "Something else, and a good deal more of it, word after word after word."),
    ("x", "y"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def judge(folder):
    return HfNli(folder)


def only(judge, *pair):
    (judgement,) = judge.judge([pair])
    return judgement


# Answers


def test_probabilities_of_both_directions_are_those_worked_out_by_hand(judge):
    # [CLS] gives neutral 1; "not" in the hypothesis gives contradiction 4, in the premise nothing.
    judgement = only(judge, "I did it.", "I did not.")
    assert judgement.forward == pytest.approx(softmax(0, 1, 4), abs=1e-6)
    assert judgement.backward == pytest.approx(softmax(0, 1, 0), abs=1e-6)
    assert (judgement.relation, judgement.rule) == (CO, "nli")


def test_the_two_texts_are_a_true_pair_not_one_string(judge):
    # "by" counts in the premise alone, "instrument" in the hypothesis alone: one joined string could not tell.
    assert only(judge, "paid by card", "the instrument").relation is NE  # forward entails twice, backward nothing
    assert only(judge, "paid by card", "the instrument").forward == pytest.approx(softmax(8, 1, 0), abs=1e-6)
    assert only(judge, "by the instrument", "by my instrument").relation is EQ


def test_a_tokenizer_that_cuts_and_pads_is_told_not_to(judge):
    words = "word " * 100 + "not"
    assert only(judge, "word", words).relation is CO


@pytest.mark.parametrize("columns", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (2, 0, 1), (1, 2, 0), (0, 2, 1)])
def test_the_label_order_is_read_from_the_config(tmp_path, judge, columns):
    other = HfNli(write_folder(tmp_path / "other", columns=columns))
    for pair in PAIRS:
        there, here = only(other, *pair), only(judge, *pair)
        assert there.relation is here.relation
        assert there.forward == pytest.approx(here.forward, abs=1e-6)


@pytest.mark.parametrize("names", [("ENTAILMENT", "NEUTRAL", "CONTRADICTION"), ("entail", "Neutral", "contradicts")])
def test_names_of_classes_are_known_in_their_usual_spellings(tmp_path, names):
    assert only(HfNli(write_folder(tmp_path / "m", labels=names)), "a", "not").relation is CO


def test_the_answer_for_a_pair_does_not_depend_on_the_pairs_beside_it(judge, monkeypatch):
    together = list(judge.judge(PAIRS))
    assert list(judge.judge(PAIRS[::-1])) == together[::-1]
    monkeypatch.setattr(hf_nli, "TOKEN_BUDGET", 1)  # one row a batch: no padding at all
    assert [only(judge, *pair) for pair in PAIRS] == together
    monkeypatch.setattr(hf_nli, "CHUNK", 2)
    assert list(judge.judge(PAIRS)) == together


def test_batches_are_sorted_by_length_and_keep_to_the_budget(monkeypatch):
    lengths = [5, 1, 9, 2, 5, 1, 30]
    batches = list(hf_nli._batches(lengths, 10))
    assert sorted(i for batch in batches for i in batch) == list(range(7))
    widths = [[lengths[i] for i in batch] for batch in batches]
    assert widths == [[1, 1, 2], [5, 5], [9], [30]]  # 30 alone, for it must go somewhere
    assert all(len(row) * max(row) <= 10 or len(row) == 1 for row in widths)
    assert list(hf_nli._batches([3, 3], 0)) == [[0], [1]]


def test_a_graph_that_quantises_on_the_fly_is_asked_row_by_row(tmp_path, judge):
    node = helper.make_node("DynamicQuantizeLinear", ["logits"], ["q", "scale", "zero"])
    other = HfNli(write_folder(tmp_path / "q", extra_nodes=[node]))
    assert other._network.alone
    assert not judge._network.alone
    assert list(other.judge(PAIRS)) == list(judge.judge(PAIRS))


def test_texts_beyond_the_window_are_compared_by_sentences(tmp_path):
    judge = HfNli(write_folder(tmp_path / "short", window=40))
    filler = [f"Word {'word ' * 8}number {i}." for i in range(12)]
    same = " ".join(filler)
    assert only(judge, same, same + " ").relation is EQ
    clash = " ".join([*filler, "It did not arrive."])
    agree = " ".join([*filler, "It did arrive."])
    assert only(judge, agree, clash).relation is CO


def test_texts_that_fit_together_are_never_split(tmp_path, monkeypatch):
    judge = HfNli(write_folder(tmp_path / "short", window=40))
    seen = []
    original = judge._classify
    monkeypatch.setattr(judge, "_classify", lambda pairs: seen.extend(pairs) or original(pairs))
    long, short = "one two. " * 10, "yes"  # 30 words and 1, with 3 special tokens: 34 of 40
    only(judge, long, short)
    assert seen == [(long, short), (short, long)]


@pytest.mark.parametrize(
    "text",
    ["", " ", "😀😀😀", "مرحبا بالعالم", "a\u200bb", "<b>bold</b>", "def f(x): return x", "half \ud83d", "a" * 5000],
    ids=["empty", "space", "emoji", "right-to-left", "zero width", "html", "code", "surrogate", "one long word"],
)
def test_odd_texts_get_a_relation(judge, text):
    judgement = only(judge, text, "Your flight is booked.")
    assert judgement.relation in set(Relation)
    assert np.isfinite([*judgement.forward, *judgement.backward]).all()


def test_progress_counts_each_pair(judge):
    steps = []

    class Bar:
        def advance(self, count=1):
            steps.append(count)

    list(judge.judge(PAIRS, Bar()))
    assert sum(steps) == len(PAIRS)


def test_no_pairs_no_answers(judge):
    assert list(judge.judge([])) == []


# Ids


def test_the_id_has_the_name_and_changes_with_weights_config_and_tokenizer(tmp_path, judge):
    assert judge.judge_id.startswith("hf-tiny-")
    ids = {judge.judge_id}
    for columns, change in [((2, 1, 0), None), ((0, 1, 2), "config.json"), ((0, 1, 2), "tokenizer.json")]:
        path = write_folder(tmp_path / f"{columns}{change}" / "tiny", columns=columns)
        if change:
            content = json.loads((path / change).read_text())
            (path / change).write_text(json.dumps(content | {"note": 1} if change == "config.json" else content))
        ids.add(HfNli(path).judge_id)
    assert len(ids) == 4
    assert HfNli(write_folder(tmp_path / "again" / "tiny")).judge_id == judge.judge_id


# Refusals


def test_exchanged_labels_fail_the_self_test_and_all_answers_are_shown(tmp_path):
    folder = write_folder(tmp_path / "swapped", labels=["neutral", "entailment", "contradiction"])
    with pytest.raises(
        BackendError, match="hf:swapped fails the self-test: 2 of 6 canned pairs right, 5 needed"
    ) as caught:
        HfNli(folder)
    message = str(caught.value)
    # "A boy is eating an apple ..." / "... two sisters": neutral 1 + 4, read as entailment: e^5 / (e^5 + 2)
    assert f"'The boy has two sisters.': entailment ({softmax(0, 5, 0)[1]:.2f}), should be neutral" in message
    assert message.count("should be") == 4
    assert message.count(", right") == 2


@pytest.mark.parametrize(
    "labels",
    [
        ["LABEL_0", "LABEL_1", "LABEL_2"],
        ["entailment", "not_entailment", "other"],
        ["entailment", "neutral", "neutral"],
        ["entailment", "neutral"],
        ["entailment", "neutral", "contradiction", "unknown"],
    ],
)
def test_labels_that_cannot_be_mapped_are_refused_by_name(tmp_path, labels):
    folder = write_folder(tmp_path / "m", labels=labels)
    with pytest.raises(BackendError, match=r"config\.json: id2label is .* cannot be mapped to entailment, neutral and"):
        HfNli(folder)


@pytest.mark.parametrize("config", ["{", "[]", "null", "", '{"id2label": 7}', "{}"])
def test_a_config_that_is_none_is_refused_by_name(tmp_path, config):
    folder = write_folder(tmp_path / "m")
    (folder / "config.json").write_text(config)
    with pytest.raises(BackendError, match=r"config\.json"):
        HfNli(folder)


@pytest.mark.parametrize(("file", "content"), [("model.onnx", "no graph"), ("model.onnx", ""), ("tokenizer.json", "{")])
def test_a_broken_file_is_refused_by_name(tmp_path, file, content):
    folder = write_folder(tmp_path / "m")
    (folder / file).write_text(content)
    with pytest.raises(BackendError, match=file.replace(".", r"\.")):
        HfNli(folder)


def test_a_graph_with_other_inputs_is_refused(tmp_path):
    folder = write_folder(tmp_path / "m", inputs=("words", "attention_mask", "token_type_ids"))
    with pytest.raises(BackendError, match=r"model\.onnx: unknown inputs words"):
        HfNli(folder)


def test_a_graph_with_another_number_of_classes_is_refused(tmp_path):
    folder = write_folder(tmp_path / "m", columns=(0, 1), labels=["entailment", "neutral", "contradiction"])
    with pytest.raises(BackendError, match=r"output of shape .* expected"):
        HfNli(folder)


def test_a_graph_that_cannot_run_is_refused(tmp_path):
    node = helper.make_node("Gather", ["table", "input_ids"], ["lost"], axis=5)
    folder = write_folder(tmp_path / "m", extra_nodes=[node])
    with pytest.raises(BackendError, match=r"model\.onnx"):
        HfNli(folder)


def test_a_folder_without_weights_is_refused_and_a_pickle_is_none(tmp_path):
    folder = write_folder(tmp_path / "m")
    (folder / "model.onnx").unlink()
    with pytest.raises(BackendError, match=r"no model\.onnx and no model\.safetensors$"):
        HfNli(folder)
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x02")
    with pytest.raises(BackendError, match="is a pickle, which can run code: convert it to safetensors"):
        HfNli(folder)


def test_a_graph_in_the_onnx_folder_is_found_and_of_several_the_name_decides(tmp_path):
    folder = write_folder(tmp_path / "m", name="onnx/model.onnx")
    assert only(HfNli(folder), "a", "not").relation is CO
    (folder / "onnx" / "model_quantized.onnx").write_text("not read")
    assert only(HfNli(folder), "a", "not").relation is CO
    (folder / "onnx" / "model.onnx").rename(folder / "onnx" / "other.onnx")
    with pytest.raises(BackendError, match=r"several ONNX graphs \(onnx/model_quantized\.onnx, onnx/other\.onnx\)"):
        HfNli(folder)


def test_a_window_too_short_for_pairs_is_refused(tmp_path):
    with pytest.raises(BackendError, match="a window of 8 tokens is too short"):
        HfNli(write_folder(tmp_path / "m", window=8))


@pytest.mark.parametrize(
    ("config", "window"),
    [
        ({"model_type": "roberta", "max_position_embeddings": 130, "pad_token_id": 1}, 128),  # positions start at 2
        ({"model_type": "bert", "max_position_embeddings": 130, "pad_token_id": 0}, 130),
        ({"max_position_embeddings": 8192}, 512),
        ({}, 512),
    ],
)
def test_the_window_is_what_positions_allow_for(tmp_path, config, window):
    assert hf_nli._window(config, tmp_path) == window


@pytest.mark.parametrize("name", ["./nowhere", "/no/such/folder", "a/b/c", "~nobody/x", "two words", "a\\b"])
def test_a_folder_that_is_not_there_is_said_to_be_so(name):
    with pytest.raises(BackendError, match="no such folder"):
        hf_judge(name)


def test_a_file_is_no_folder(folder):
    with pytest.raises(BackendError, match="name the folder that holds"):
        hf_judge(str(folder / "config.json"))


# The hub


@pytest.fixture
def hub(folder):
    """A hub of the tests' own with one model, me/tiny."""
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _send(self, body, status=200, **headers):
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def do_HEAD(self):
            self.do_GET()

        def do_GET(self):
            path, commit = self.path.split("?")[0], "a" * 40
            name = path.rsplit("/", 1)[1]
            if path.startswith("/api/models/me/tiny/tree/"):
                listed = [{"type": "file", "path": f, "size": len(c), "oid": "b" * 40} for f, c in files.items()]
                self._send(json.dumps(listed).encode(), Content_Type="application/json")
            elif path.startswith("/api/models/me/tiny"):
                info = {"id": "me/tiny", "sha": commit, "siblings": [{"rfilename": f} for f in files]}
                self._send(json.dumps(info).encode(), Content_Type="application/json")
            elif path.startswith("/me/tiny/resolve/") and name in files:
                etag = hashlib.sha1(files[name]).hexdigest()
                self._send(files[name], ETag=f'"{etag}"', X_Repo_Commit=commit)
            else:
                self._send(b'{"error": "no such thing"}', 404, Content_Type="application/json")

        def log_message(self, *args):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_model_of_the_hub_is_fetched_once_and_then_serves_without_it(hub, tmp_path, judge):
    code = "import sys; from likewise.backends.hf_nli import hf_judge; print(hf_judge(sys.argv[1]).judge_id)"
    kept = {key: value for key, value in os.environ.items() if "proxy" not in key.lower()}
    environment = kept | {"HF_HOME": str(tmp_path / "hub"), "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_XET": "1"}

    def ask(name, endpoint):
        command = [sys.executable, "-c", code, name]
        return subprocess.run(
            command,
            env=environment | {"HF_ENDPOINT": endpoint},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    digest = judge.judge_id.rsplit("-", 1)[1]
    assert ask("me/tiny", hub).stdout.strip() == f"hf-me-tiny-{digest}"
    assert ask("me/tiny", "http://127.0.0.1:9").stdout.strip() == f"hf-me-tiny-{digest}"
    missing = ask("me/other", hub)
    assert missing.returncode != 0
    assert "hf:me/other: no such folder, and the hub does not give it" in missing.stderr


# PyTorch


def test_weights_without_a_graph_need_the_extra_where_it_is_missing(tmp_path):
    folder = write_folder(tmp_path / "m")
    (folder / "model.onnx").unlink()
    (folder / "model.safetensors").write_bytes(b"")
    if PYTORCH:
        with pytest.raises(BackendError, match="cannot be loaded as a classifier"):
            HfNli(folder)
    else:
        with pytest.raises(MissingExtraError, match=r"pip install 'likewise\[hf\]'"):
            HfNli(folder)


@pytest.fixture
def random_bert(tmp_path):
    """A tiny BERT classifier with random weights, saved as transformers saves it."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=11, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=128, num_labels=3,
        id2label={0: "entailment", 1: "neutral", 2: "contradiction"},
        label2id={"entailment": 0, "neutral": 1, "contradiction": 2},
    )  # fmt: skip
    folder = write_folder(tmp_path / "bert")
    (folder / "model.onnx").unlink()
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return folder


@needs_pytorch
def test_random_weights_fail_the_self_test(random_bert):
    with pytest.raises(BackendError, match="hf:bert fails the self-test"):
        HfNli(random_bert)


@needs_pytorch
def test_pytorch_and_onnx_runtime_give_the_same_scores(random_bert, judge):
    """The network alone, against the model called by hand, with padding in the batch."""
    import torch
    import transformers

    from likewise.backends.hf_network import load_network

    network = load_network(random_bert, json.loads((random_bert / "config.json").read_text()))
    rows = [([2, 5, 3, 6, 3], [0, 0, 0, 1, 1]), ([2, 7, 7, 7, 3, 8, 8, 3], [0] * 5 + [1] * 3)]
    model = transformers.BertForSequenceClassification.from_pretrained(random_bert).eval()
    with torch.inference_mode():
        plain = [
            model(torch.tensor([ids]), token_type_ids=torch.tensor([kinds])).logits[0].tolist() for ids, kinds in rows
        ]
    assert network.score(rows).tolist() == [pytest.approx(row, abs=1e-5) for row in plain]


@needs_pytorch
def test_weights_without_a_trained_classifier_are_refused(random_bert):
    import transformers

    config = json.loads((random_bert / "config.json").read_text())
    transformers.BertModel(
        transformers.BertConfig(**{k: v for k, v in config.items() if k != "architectures"})
    ).save_pretrained(random_bert)
    (random_bert / "config.json").write_text(json.dumps(config))
    with pytest.raises(BackendError, match=r"the weights lack classifier\.bias"):
        HfNli(random_bert)


def test_the_tiny_model_is_a_sound_graph(folder):
    onnx.checker.check_model(onnx.load(str(folder / "model.onnx")))
