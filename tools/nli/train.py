"""Train an NLI network from all-mpnet-base-v2: the twin that ships, or the cross-encoder that teaches it.

    python tools/nli/train.py twin --base all-mpnet-base-v2 --data nli/train.jsonl.gz --out build/twin --pairs 30000
    python tools/nli/train.py cross --base all-mpnet-base-v2 --data nli/train.jsonl.gz --out build/teacher --pairs 60000
    python tools/nli/train.py twin ... --teacher build/teacher

Seeded. Writes a checkpoint as it goes; the same command goes on from the last one.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import torch
from pairs import Pair, batches, read_actions, read_pairs
from torch import Tensor, nn
from trainees import CrossTrainee, Trainee, TwinTrainee, distillation_loss
from twin import LABELS, TwinConfig

CONTRADICTION = LABELS.index("contradiction")


def supports_bf16() -> bool:
    """Whether this CPU multiplies bfloat16 in hardware; without that, autocast only slows training."""
    info = Path("/proc/cpuinfo")
    text = info.read_text() if info.exists() else ""
    return "amx_bf16" in text or "avx512_bf16" in text


def learning_rate(step: int, steps: int, warmup: float = 0.06) -> float:
    """Linear warm-up, then linear decay to zero; a factor in [0, 1]."""
    rise = max(1, int(warmup * steps))
    return step / rise if step < rise else max(0.0, (steps - step) / max(1, steps - rise))


@torch.no_grad()
def accuracy(trainee: Trainee, pairs: list[Pair]) -> float:
    """Share of pairs whose labelled direction is classified right."""
    trainee.module.eval()
    right = 0
    for start in range(0, len(pairs), 32):
        chunk = pairs[start : start + 32]
        guess = trainee.logits([p.premise for p in chunk], [p.hypothesis for p in chunk]).argmax(-1)
        right += int((guess == torch.tensor([p.label for p in chunk])).sum())
    trainee.module.train()
    return right / len(pairs)


def batch_loss(trainee: Trainee, teacher: Trainee | None, chunk: list[Pair], gold_share: float) -> Tensor:
    """Cross-entropy on gold labels; with a teacher, mixed with distillation (a twin learns both directions)."""
    premises, hypotheses = [p.premise for p in chunk], [p.hypothesis for p in chunk]
    truth = torch.tensor([p.label for p in chunk])
    if teacher is None and isinstance(trainee, TwinTrainee):
        both = trainee.compare(premises, hypotheses)[0].float()
        clashing = truth == CONTRADICTION  # what cannot both be true cannot both be true the other way round either
        logits, labels = torch.cat([both[:, 0], both[clashing, 1]]), torch.cat([truth, truth[clashing]])
        return nn.functional.cross_entropy(logits, labels)
    if teacher is None:
        return nn.functional.cross_entropy(trainee.logits(premises, hypotheses).float(), truth)
    with torch.no_grad():
        forward = teacher.logits(premises, hypotheses).float()
        backward = teacher.logits(hypotheses, premises).float()
    if isinstance(trainee, TwinTrainee):
        both = trainee.compare(premises, hypotheses)[0].float()
        gold = nn.functional.cross_entropy(both[:, 0], truth)
        taught = (distillation_loss(both[:, 0], forward) + distillation_loss(both[:, 1], backward)) / 2
    else:
        logits = trainee.logits(premises, hypotheses).float()
        gold, taught = nn.functional.cross_entropy(logits, truth), distillation_loss(logits, forward)
    return gold_share * gold + (1 - gold_share) * taught


def action_loss(trainee: TwinTrainee, chunk: list[Pair]) -> Tensor:
    """Cross-entropy of the action head."""
    _, logits = trainee.compare([p.premise for p in chunk], [p.hypothesis for p in chunk])
    return nn.functional.cross_entropy(logits.float(), torch.tensor([p.label for p in chunk]))


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", choices=("twin", "cross"))
    parser.add_argument("--base", type=Path, required=True, help="folder of all-mpnet-base-v2")
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--eval", type=Path, help="a .jsonl.gz of pairs, evaluated on its first 500")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", type=Path, help="continue from a folder that this script wrote, with a new schedule")
    parser.add_argument("--teacher", type=Path, help="cross-encoder folder to learn from")
    parser.add_argument("--gold-share", type=float, default=0.3, help="weight of gold labels beside the teacher")
    parser.add_argument("--pairs", type=int, default=30_000, help="pairs seen in all; the schedule ends there")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--lr", type=float, default=4e-5)
    parser.add_argument("--head-lr", type=float, default=2e-4)
    parser.add_argument("--apart", type=int, default=TwinConfig.apart, help="layers that read a text alone (twin)")
    parser.add_argument(
        "--layers", type=int, nargs="+", default=TwinConfig.layers, help="layers of the base kept (twin)"
    )
    parser.add_argument(
        "--actions", type=Path, nargs="*", default=[], help="pairs of actions, for the second head (twin)"
    )
    parser.add_argument("--action-share", type=float, default=0.5, help="part of the steps that see actions")
    parser.add_argument("--action-characters", type=int, default=600, help="longest pair of actions")
    parser.add_argument("--frozen", type=int, default=2, help="lowest layers left as they are; embeddings always are")
    parser.add_argument("--max-characters", type=int, default=280)
    parser.add_argument("--share", nargs="*", default=[], metavar="SOURCE=PART", help="keep this part of a source")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=100, help="steps between checkpoints")
    return parser.parse_args()


def turns(data: list[Pair], actions: list[Pair], args: argparse.Namespace) -> Iterator[tuple[bool, list[Pair]]]:
    """Batches of NLI pairs and of actions in a seeded order; the flag says which."""
    draw = random.Random(f"turns-{args.seed}")
    nli, acts = batches(data, args.batch, args.seed), batches(actions, max(1, args.batch // 2), args.seed)
    while True:
        on_actions = bool(actions) and draw.random() < args.action_share
        yield on_actions, next(acts if on_actions else nli)


def main() -> None:
    """Parse, train, save."""
    args = arguments()
    torch.manual_seed(args.seed)
    if args.network == "twin":
        config = TwinConfig(apart=args.apart, layers=tuple(args.layers))
        trainee: Trainee = TwinTrainee(args.base, args.start, config, args.frozen)
    else:
        trainee = CrossTrainee(args.base, args.start, args.frozen)
    teacher = CrossTrainee(args.base, args.teacher, 12) if args.teacher else None
    if teacher is not None:
        teacher.module.eval()
    model = trainee.module
    old = [p for p in model.parameters() if p.requires_grad and not any(p is q for q in trainee.new)]
    optimiser = torch.optim.AdamW(
        [{"params": old, "lr": args.lr}, {"params": trainee.new, "lr": args.head_lr}], weight_decay=0.01, fused=True
    )
    peaks = [group["lr"] for group in optimiser.param_groups]
    shares = {source: float(part) for source, part in (text.split("=") for text in args.share)}
    data = [pair for path in args.data for pair in read_pairs(path, args.max_characters, shares, args.seed)]
    held_out = read_pairs(args.eval)[:500] if args.eval else []
    steps, step = args.pairs // args.batch, 0
    state_path = args.out / "training_state.pt"
    if state_path.exists():
        state = torch.load(state_path, weights_only=True)
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        step = state["step"]
    actions = [pair for path in args.actions for pair in read_actions(path, args.action_characters)]
    stream = turns(data, actions, args)
    for _ in range(step):
        next(stream)
    args.out.mkdir(parents=True, exist_ok=True)
    autocast = (lambda: torch.autocast("cpu", torch.bfloat16)) if supports_bf16() else nullcontext
    model.train()
    began, loss_sum, since = time.time(), 0.0, 0
    while step < steps:
        for group, peak in zip(optimiser.param_groups, peaks, strict=True):
            group["lr"] = peak * learning_rate(step, steps)
        with autocast():
            on_actions, chunk = next(stream)
            if on_actions and isinstance(trainee, TwinTrainee):
                loss = action_loss(trainee, chunk)
            else:
                loss = batch_loss(trainee, teacher, chunk, args.gold_share)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        step, since, loss_sum = step + 1, since + 1, loss_sum + loss.item()
        if step % args.every and step != steps:
            continue
        trainee.save(args.out)
        part = state_path.with_suffix(".part")
        torch.save({"model": model.state_dict(), "optimiser": optimiser.state_dict(), "step": step}, part)
        part.replace(state_path)
        rate = since * args.batch / (time.time() - began)
        row = {"step": step, "pairs": step * args.batch, "loss": round(loss_sum / since, 4)}
        row["pairs_per_second"] = round(rate, 2)
        if held_out and (step % (3 * args.every) == 0 or step == steps):
            row["accuracy"] = accuracy(trainee, held_out)
        print(json.dumps(row), flush=True)
        with (args.out / "log.jsonl").open("a") as log:
            log.write(json.dumps(row) + "\n")
        began, loss_sum, since = time.time(), 0.0, 0


if __name__ == "__main__":
    main()
