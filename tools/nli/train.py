"""Train the twin NLI network from all-mpnet-base-v2. Seeded; resumes from its last checkpoint.

python tools/nli/train.py --base all-mpnet-base-v2 --data nli/train.jsonl.gz --out build/twin --pairs 30000
"""

from __future__ import annotations

import argparse
import json
import time
from contextlib import nullcontext
from pathlib import Path

import torch
from pairs import batches, encode, load_tokenizer, read_pairs
from torch import nn
from twin import Twin, TwinConfig


def supports_bf16() -> bool:
    """Whether this CPU multiplies bfloat16 in hardware; without that, autocast only slows training."""
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    return "amx_bf16" in text or "avx512_bf16" in text


def learning_rate(step: int, steps: int, warmup: float = 0.06) -> float:
    """Linear warm-up, then linear decay to zero; a factor in [0, 1]."""
    rise = max(1, int(warmup * steps))
    return step / rise if step < rise else max(0.0, (steps - step) / max(1, steps - rise))


@torch.no_grad()
def accuracy(model: Twin, tokenizer, pairs, max_tokens: int = 128) -> float:
    """Share of pairs whose labelled direction is classified right."""
    model.eval()
    right = 0
    for start in range(0, len(pairs), 32):
        chunk = pairs[start : start + 32]
        a = encode(tokenizer, [p.premise for p in chunk], max_tokens)
        b = encode(tokenizer, [p.hypothesis for p in chunk], max_tokens)
        guess = model(*a, *b)[:, 0].argmax(-1)
        right += int((guess == torch.tensor([p.label for p in chunk])).sum())
    model.train()
    return right / len(pairs)


def main() -> None:
    """Parse, train, save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True, help="folder of all-mpnet-base-v2")
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--eval", type=Path, help="a .jsonl.gz of pairs, evaluated on its first 500")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", type=Path, help="continue from a folder that this script wrote, with a new schedule")
    parser.add_argument("--pairs", type=int, default=30_000, help="pairs seen in all; the schedule ends there")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--lr", type=float, default=4e-5)
    parser.add_argument("--head-lr", type=float, default=2e-4)
    parser.add_argument("--apart", type=int, default=5)
    parser.add_argument("--together", type=int, default=3)
    parser.add_argument("--frozen", type=int, default=2, help="lowest layers left as they are; embeddings always are")
    parser.add_argument("--max-characters", type=int, default=280)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=100, help="steps between checkpoints")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    tokenizer = load_tokenizer(args.base)
    config = TwinConfig(apart=args.apart, together=args.together)
    model = Twin.load(args.start) if args.start else Twin.from_mpnet(args.base, config)
    frozen = [model.words, model.places, model.embedding_norm, *model.apart[: args.frozen]]
    for module in frozen:
        module.requires_grad_(False)
    if args.frozen:  # the bias table is shared by every layer, the frozen ones included
        model.distance_bias.requires_grad_(False)
    new = [*model.head.parameters(), model.across_bias]
    old = [p for p in model.parameters() if p.requires_grad and not any(p is q for q in new)]
    optimiser = torch.optim.AdamW(
        [{"params": old, "lr": args.lr}, {"params": new, "lr": args.head_lr}], weight_decay=0.01, fused=True
    )
    peaks = [group["lr"] for group in optimiser.param_groups]

    data = [pair for path in args.data for pair in read_pairs(path, args.max_characters)]
    held_out = read_pairs(args.eval)[:500] if args.eval else []
    steps = args.pairs // args.batch
    state_path = args.out / "training_state.pt"
    step = 0
    if state_path.exists():
        state = torch.load(state_path, weights_only=True)
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        step = state["step"]
    stream = batches(data, args.batch, args.seed)
    for _ in range(step):
        next(stream)
    args.out.mkdir(parents=True, exist_ok=True)
    autocast = (lambda: torch.autocast("cpu", torch.bfloat16)) if supports_bf16() else nullcontext
    model.train()
    began, loss_sum, since = time.time(), 0.0, 0
    while step < steps:
        chunk = next(stream)
        for group, peak in zip(optimiser.param_groups, peaks, strict=True):
            group["lr"] = peak * learning_rate(step, steps)
        a = encode(tokenizer, [p.premise for p in chunk], 128)
        b = encode(tokenizer, [p.hypothesis for p in chunk], 128)
        with autocast():
            logits = model(*a, *b)[:, 0]
            loss = nn.functional.cross_entropy(logits.float(), torch.tensor([p.label for p in chunk]))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        step, since, loss_sum = step + 1, since + 1, loss_sum + loss.item()
        if step % args.every == 0 or step == steps:
            model.save(args.out)
            part = state_path.with_suffix(".part")
            torch.save({"model": model.state_dict(), "optimiser": optimiser.state_dict(), "step": step}, part)
            part.replace(state_path)
            row = {
                "step": step,
                "pairs": step * args.batch,
                "loss": round(loss_sum / since, 4),
                "pairs_per_second": round(since * args.batch / (time.time() - began), 2),
            }
            if held_out and (step % (3 * args.every) == 0 or step == steps):
                row["accuracy"] = accuracy(model, tokenizer, held_out)
            print(json.dumps(row), flush=True)
            with (args.out / "log.jsonl").open("a") as log:
                log.write(json.dumps(row) + "\n")
            began, loss_sum, since = time.time(), 0.0, 0


if __name__ == "__main__":
    main()
