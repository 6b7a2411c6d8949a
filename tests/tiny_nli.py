"""A small NLI model with weights set by hand: the folder of a cross-encoder whose every answer can be worked out.

The graph adds up one row of a table for each token, by segment. [CLS] gives neutral 1; a word below gives its class 4
in the segment named. All other words give nothing; padding would give contradiction 50 if it were not masked.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

ENTAILS, NEUTRAL, CONTRADICTS = range(3)
PREMISE, HYPOTHESIS = range(2)
VOTES = {
    ("instrument", HYPOTHESIS): ENTAILS,
    ("by", PREMISE): ENTAILS,
    ("yes", HYPOTHESIS): ENTAILS,
    ("sisters", HYPOTHESIS): NEUTRAL,
    ("lives", HYPOTHESIS): NEUTRAL,
    ("running", HYPOTHESIS): CONTRADICTS,
    ("not", HYPOTHESIS): CONTRADICTS,
}
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
VOCABULARY = SPECIAL + sorted({word for word, _ in VOTES})
LABELS = ("entailment", "neutral", "contradiction")


def softmax(*scores):
    powers = np.exp(np.array(scores, dtype=np.float64))
    return tuple((powers / powers.sum()).tolist())


def table(columns=(ENTAILS, NEUTRAL, CONTRADICTS)):
    """One row of scores for each token and segment; `columns[i]` is the class in column i."""
    rows = np.zeros((2, len(VOCABULARY), 3), dtype=np.float32)
    rows[:, 0, CONTRADICTS] = 50
    rows[:, 2, NEUTRAL] = 1
    for (word, segment), vote in VOTES.items():
        rows[segment, VOCABULARY.index(word), vote] = 4
    return rows.reshape(-1, 3)[:, list(columns)]


def graph(rows, *, inputs=("input_ids", "attention_mask", "token_type_ids"), extra_nodes=()):
    names = ("input_ids", "attention_mask", "token_type_ids")
    renamed = dict(zip(names, inputs, strict=True))
    nodes = [
        helper.make_node("Mul", [renamed["token_type_ids"], "size"], ["offset"]),
        helper.make_node("Add", [renamed["input_ids"], "offset"], ["index"]),
        helper.make_node("Gather", ["table", "index"], ["found"]),
        helper.make_node("Cast", [renamed["attention_mask"]], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["wide"]),
        helper.make_node("Mul", ["found", "wide"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "tokens"], ["logits"], keepdims=0),
        *extra_nodes,
    ]
    constants = {
        "table": rows,
        "size": np.array(len(VOCABULARY), dtype=np.int64),
        "last": np.array([-1], dtype=np.int64),
        "tokens": np.array([1], dtype=np.int64),
    }
    made = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["rows", "tokens_"]) for name in inputs],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["rows", rows.shape[1]])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def tokenizer():
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    made.enable_truncation(8)  # as many folders have it; nothing may be cut off all the same
    made.enable_padding(length=64)
    return made


def write_folder(
    folder: Path, *, columns=(0, 1, 2), labels=None, window=512, name="model.onnx", **graph_options
) -> Path:
    """A folder as an export leaves it. `labels`: names in the config, by column; those of the classes where None."""
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    labels = labels or [LABELS[column] for column in columns]
    config = {"model_type": "bert", "pad_token_id": 0, "id2label": {str(i): label for i, label in enumerate(labels)}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": window}))
    tokenizer().save(str(folder / "tokenizer.json"))
    onnx.save(graph(table(columns), **graph_options), str(folder / name))
    return folder
