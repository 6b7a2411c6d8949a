"""Write the twin NLI network as two int8 ONNX graphs: `read` (one text) and `compare` (two read texts).

    python tools/nli/export.py --model build/twin --base all-mpnet-base-v2 --out src/likewise/models/nli

Weights are quantised per channel with 7 bits (`reduce_range`): CPUs without VNNI add pairs of 8-bit products in
16 bits, and full-range weights would overflow there, so that labels would depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path

import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import Tensor, nn
from twin import LABELS, Twin


class Read(nn.Module):
    """ids *(1, n)* -> states *(1, n, hidden)*."""

    def __init__(self, twin: Twin) -> None:
        """Wrap the lower layers."""
        super().__init__()
        self.twin = twin

    def forward(self, ids: Tensor) -> Tensor:
        """Read one text, without padding."""
        return self.twin.read(ids, torch.ones_like(ids))


class Compare(nn.Module):
    """Two read texts -> probabilities *(2, 3)*: row 0 takes the first as premise."""

    def __init__(self, twin: Twin) -> None:
        """Wrap the upper layers."""
        super().__init__()
        self.twin = twin

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        """Compare two texts, both directions."""
        logits = self.twin.compare(a, torch.ones_like(a[:, :, 0]), b, torch.ones_like(b[:, :, 0]))
        return torch.softmax(logits[0] / self.twin.temperature, dim=-1)


def export(twin: Twin, folder: Path) -> None:
    """Both graphs in fp32."""
    ids = torch.randint(5, 1000, (1, 9))
    torch.onnx.export(
        Read(twin), (ids,), folder / "read.onnx", input_names=["ids"], output_names=["states"],
        dynamic_axes={"ids": {1: "n"}, "states": {1: "n"}}, opset_version=17, dynamo=False,
    )  # fmt: skip
    a, b = torch.randn(1, 9, twin.config.hidden), torch.randn(1, 7, twin.config.hidden)
    torch.onnx.export(
        Compare(twin), (a, b), folder / "compare.onnx", input_names=["a", "b"], output_names=["probabilities"],
        dynamic_axes={"a": {1: "n_a"}, "b": {1: "n_b"}}, opset_version=17, dynamo=False,
    )  # fmt: skip


def main() -> None:
    """Parse, export, quantise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="folder written by train.py")
    parser.add_argument("--base", type=Path, required=True, help="folder of the base model, for its tokenizer")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--temperature", type=float, default=1.0, help="divides the logits (calibrate.py finds it)")
    parser.add_argument("--fp32", action="store_true", help="write unquantised graphs, for comparison")
    args = parser.parse_args()
    twin = Twin.load(args.model).eval()
    twin.temperature = args.temperature
    args.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        export(twin, Path(scratch))
        for name in ("read.onnx", "compare.onnx"):
            if args.fp32:
                shutil.copy(Path(scratch) / name, args.out / name)
            else:
                quantize_dynamic(
                    Path(scratch) / name,
                    args.out / name,
                    weight_type=QuantType.QInt8,
                    per_channel=True,
                    reduce_range=True,
                )
    shutil.copy(args.base / "tokenizer.json", args.out / "tokenizer.json")
    config = {
        "architecture": "twin-nli",
        "labels": list(LABELS),
        "apart": twin.config.apart,
        "together": twin.config.together,
        "hidden": twin.config.hidden,
        "window": 384,
        "temperature": args.temperature,
    }
    (args.out / "config.json").write_text(json.dumps(config, indent=2) + "\n")


if __name__ == "__main__":
    main()
