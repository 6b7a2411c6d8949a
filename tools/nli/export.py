"""Write the twin NLI network as two int8 ONNX graphs: `read` (one text) and `compare` (two read texts).

    python tools/nli/export.py --model build/twin --base all-mpnet-base-v2 --out src/likewise/models/nli

Weights are quantised per channel with 7 bits (`reduce_range`): CPUs without VNNI add pairs of 8-bit products in
16 bits, and full-range weights would overflow there, so that labels would depend on the machine. What goes into the
second matrix of each feed-forward block has outliers that 8 bits for a whole text cannot hold: there only the weights
are stored in 8 bits, and the product is taken in fp32.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
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
    """Two read texts -> NLI probabilities *(2, 3)*, row 0 with the first as premise; relation probabilities *(3,)*."""

    def __init__(self, twin: Twin) -> None:
        """Wrap the upper layers."""
        super().__init__()
        self.twin = twin

    def forward(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        """Compare two texts."""
        nli, actions = self.twin.compare(a, torch.ones_like(a[:, :, 0]), b, torch.ones_like(b[:, :, 0]))
        return torch.softmax(nli[0] / self.twin.temperature, dim=-1), torch.softmax(actions[0], dim=-1)


def export(twin: Twin, folder: Path) -> None:
    """Both graphs in fp32."""
    ids = torch.randint(5, 1000, (1, 9))
    torch.onnx.export(
        Read(twin), (ids,), folder / "read.onnx", input_names=["ids"], output_names=["states"],
        dynamic_axes={"ids": {1: "n"}, "states": {1: "n"}}, opset_version=17, dynamo=False,
    )  # fmt: skip
    a, b = torch.randn(1, 9, twin.config.hidden), torch.randn(1, 7, twin.config.hidden)
    torch.onnx.export(
        Compare(twin), (a, b), folder / "compare.onnx", input_names=["a", "b"], output_names=["nli", "relation"],
        dynamic_axes={"a": {1: "n_a"}, "b": {1: "n_b"}}, opset_version=17, dynamo=False,
    )  # fmt: skip


def store_in_8_bits(graph: onnx.GraphProto, nodes: set[str]) -> None:
    """Keep the weights of these MatMul nodes as int8 by output channel, made fp32 again when the graph is loaded."""
    weights = {tensor.name: tensor for tensor in graph.initializer}
    for node in [node for node in graph.node if node.name in nodes]:
        tensor = weights[node.input[1]]
        values = numpy_helper.to_array(tensor)
        scale = np.maximum(np.abs(values).max(axis=0), 1e-12).astype(np.float32) / 127
        parts = {"quantized": np.round(values / scale).astype(np.int8), "scale": scale}
        parts["zero"] = np.zeros(scale.shape, np.int8)
        names = [f"{tensor.name}_{part}" for part in parts]
        graph.initializer.extend(
            numpy_helper.from_array(part, name) for part, name in zip(parts.values(), names, strict=True)
        )
        graph.initializer.remove(tensor)
        restored = f"{tensor.name}_restored"
        restore = onnx.helper.make_node("DequantizeLinear", names, [restored], name=restored, axis=1)
        graph.node.insert(list(graph.node).index(node), restore)
        node.input[1] = restored


def quantise(source: Path, target: Path) -> None:
    """The int8 graph of an fp32 one."""
    model = onnx.load(source)
    wide = {node.name for node in model.graph.node if node.op_type == "MatMul" and "/down/" in node.name}
    quantize_dynamic(
        source, target, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True, nodes_to_exclude=sorted(wide)
    )
    model = onnx.load(target)
    store_in_8_bits(model.graph, wide)
    onnx.checker.check_model(model)
    onnx.save(model, target)


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
                quantise(Path(scratch) / name, args.out / name)
    shutil.copy(args.base / "tokenizer.json", args.out / "tokenizer.json")
    config = {
        "architecture": "twin-nli",
        "labels": list(LABELS),
        "apart": twin.config.apart,
        "layers": list(twin.config.layers),
        "hidden": twin.config.hidden,
        "window": 384,
        "temperature": args.temperature,
    }
    (args.out / "config.json").write_text(json.dumps(config, indent=2) + "\n")


if __name__ == "__main__":
    main()
