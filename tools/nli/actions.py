"""Pairs of actions to train the relation head on: labelled ones as given, and hard ones made from them.

    python tools/nli/actions.py --silver silver/action_pairs_train.jsonl --variants silver/action_variants_train.jsonl \
        --leave-out airline --out build/actions.jsonl

Only text against text: calls are compared by rules. Made pairs keep the words of real sentences and change what
decides: a value (contradictory), the object (neutral), a negation (contradictory), only the manners (equivalent), an
additional sentence (neutral), done against offered (neutral). `--leave-out` drops domains whole, so that what is
measured on them is measured on unseen material.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from likewise.backends.slots import Slot, SlotKind, extract_slots

Row = dict[str, str]

NAMING = (SlotKind.IDENTIFIER, SlotKind.YEAR)
MONTHS = re.findall(r"\w+", "January February March April May June July August September October November December")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
CATEGORIES = (
    ("basic economy", "economy", "business", "first class"),
    ("red", "blue", "green", "black", "white", "purple", "silver", "gold"),
    ("small", "medium", "large", "extra large"),
    ("gift card", "credit card", "PayPal", "travel certificate"),
    ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    ("morning", "afternoon", "evening"),
    ("leather", "plastic", "metal", "fabric", "wooden"),
    ("pending", "delivered", "cancelled", "shipped"),
    ("left", "right"),
    ("before", "after"),
    ("at least", "at most"),
    ("daily", "weekly", "monthly"),
)
TURNS = (
    (r"\b(can|will|should|is|are|was|were|does|has|have)\b(?! not\b| to\b|n't)", r"\1 not"),
    (r"\b(can)not\b|\bcan't\b", "can"),
    (r"\b(is|are|was|were|will|does|do|has|have|may) not\b", r"\1"),
    (r"\bisn't\b", "is"),
    (r"\bwon't\b", "will"),
    (r"\bunable to\b", "able to"),
    (r"\bable to\b", "unable to"),
    (r"\beligible\b", "not eligible"),
    (r"\bavailable\b", "unavailable"),
    (r"\bapproved\b", "rejected"),
    (r"\ballowed\b", "forbidden"),
    (r"\brefundable\b", "non-refundable"),
    (r"\bincluded\b", "not included"),
)
OPENINGS = (
    "Sure! ", "Of course. ", "Certainly. ", "Thank you for that. ", "Thanks for your patience. ", "I understand. ",
    "Alright. ", "Got it. ", "No problem. ", "Happy to help. ",
)  # fmt: skip
CLOSINGS = (
    " Let me know if you have any questions.", " Thank you!", " Please let me know.", " I appreciate your patience.",
    " I am here to help.", " Feel free to ask if anything is unclear.",
)  # fmt: skip
REWORDINGS = (
    (r"\bCould you please provide\b", "Please share"),
    (r"\bPlease provide\b", "Could you give me"),
    (r"\bCan you please\b", "Would you kindly"),
    (r"\bWould you like me to\b", "Shall I"),
    (r"\bI will\b", "I'll"),
    (r"\bI'll\b", "I am going to"),
    (r"\bI am\b", "I'm"),
    (r"\bdo not\b", "don't"),
    (r"\bcannot\b", "can't"),
    (r"\bbecause\b", "since"),
    (r"\bregarding\b", "about"),
    (r"\bassist you with\b", "help you with"),
    (r"\bto proceed\b", "to go ahead"),
    (r"\bUnfortunately, ", "I am sorry, but "),
    (r"\bpurchase\b", "buy"),
    (r"\brequire\b", "need"),
    (r"\bin order to\b", "to"),
    (r"\*\*", ""),
)
ASIDES = (
    "Also, may I have the email address on your account?", "By the way, what is your date of birth?",
    "Please also tell me the reason for your request.", "In addition, an extra fee of $25 will be charged for this.",
    "Also, a supervisor will call you back within two days.", "Would you also like to add insurance?",
    "You should also know that this cannot be undone later.", "And which payment method would you like to use?",
)  # fmt: skip


def sentences(text: str) -> list[str]:
    """Sentences with the white space behind them, so that joining them gives the text back."""
    return [part for part in re.split(r"(?<=[.!?])(?=\s)|(?<=\n)", text) if part]


def other_value(slot: Slot, draw: random.Random) -> str | None:
    """The slot's text with another value of its kind; None where that cannot be written safely."""
    if slot.kind is SlotKind.DATE:
        for month in MONTHS:
            if month in slot.text and draw.random() < 0.5:
                return slot.text.replace(month, draw.choice([m for m in MONTHS if m != month]))
    found = list(NUMBER.finditer(slot.text))
    if not found:
        return None
    place = draw.choice(found[1:] if slot.kind is SlotKind.DATE and len(found) > 1 else found)
    raw = place.group()
    if slot.kind in (SlotKind.DATE, SlotKind.YEAR) and len(raw) == 4:
        new = str(int(raw) + draw.choice((-3, -2, -1, 1, 2, 3)))
    elif slot.kind is SlotKind.IDENTIFIER:
        new = "".join(str((int(c) + draw.randint(1, 9)) % 10) if c.isdigit() else c for c in raw)
    elif slot.kind in (SlotKind.DATE, SlotKind.TIME):
        top = 12 if slot.kind is SlotKind.TIME or place is found[0] else 28
        new = str(draw.choice([n for n in range(1, top + 1) if n != int(raw.replace(",", ""))])).zfill(len(raw))
    else:
        value = float(raw.replace(",", ""))
        change = draw.choice((10.0, 0.5, 2.0, 1.1)) if value > 9 else draw.choice((2.0, 3.0, 5.0))
        fresh = value * change if draw.random() < 0.6 else value + draw.choice((1, 2, 5, 10, 50))
        decimals = len(raw.partition(".")[2])
        new = f"{fresh:,.{decimals}f}" if "," in raw else f"{fresh:.{decimals}f}"
    return None if new == raw else slot.text[: place.start()] + new + slot.text[place.end() :]


def is_list_mark(text: str, slot: Slot) -> bool:
    """Whether a number only counts the items of a list."""
    return not text[: slot.start].rpartition("\n")[2].strip() and text[slot.end : slot.end + 1] in (".", ")")


def swap_value(text: str, draw: random.Random, naming: bool) -> str | None:
    """The text with one value (or the name of its object) changed."""
    slots = [s for s in extract_slots(text) if (s.kind in NAMING) == naming and not is_list_mark(text, s)]
    draw.shuffle(slots)
    for slot in slots:
        new = other_value(slot, draw)
        if new is not None:
            return re.sub(rf"(?<!\w){re.escape(slot.text)}(?!\w)", lambda _, new=new: new, text)
    return None


def swap_category(text: str, draw: random.Random) -> str | None:
    """The text with one of two exclusive words exchanged for another."""
    for words in draw.sample(CATEGORIES, len(CATEGORIES)):
        for word in sorted(words, key=len, reverse=True):
            if re.search(rf"\b{word}\b", text, re.IGNORECASE):
                other = draw.choice([w for w in words if w not in word and word not in w] or [""])
                return re.sub(rf"\b{word}\b", other, text, flags=re.IGNORECASE) if other else None
    return None


def negate(text: str, draw: random.Random) -> str | None:
    """The text with one statement turned into its opposite; questions are left alone."""
    parts = sentences(text)
    places = [i for i, part in enumerate(parts) if not part.rstrip().endswith("?") and len(part.split()) > 4]
    draw.shuffle(places)
    for i in places:
        negative = re.search(r"\b(?:no|not|never|none|unable|cannot)\b|n't\b", parts[i], re.IGNORECASE)
        rows = TURNS[1:] if negative else TURNS  # two negations would say what was said
        for pattern, new in draw.sample(rows, len(rows)):
            turned, n = re.subn(pattern, new, parts[i], count=1)
            if n:
                return "".join([*parts[:i], turned, *parts[i + 1 :]])
    return None


def reword(text: str, draw: random.Random) -> str | None:
    """The same act with other manners and small words."""
    new = text
    for pattern, other in draw.sample(REWORDINGS, len(REWORDINGS))[:8]:
        new = re.sub(pattern, other, new)
    if draw.random() < 0.5:
        new = draw.choice(OPENINGS) + new
    if draw.random() < 0.5:
        new = new + draw.choice(CLOSINGS)
    return new if new != text else None


def extend(text: str, draw: random.Random) -> str | None:
    """The act with something of substance added."""
    return f"{text} {draw.choice(ASIDES)}"


def shorten(text: str, draw: random.Random) -> str | None:
    """The act without one of its statements."""
    parts = sentences(text)
    if len(parts) < 3:
        return None
    gone = draw.randrange(1, len(parts))
    if len(parts[gone].split()) < 7 or re.search(r"let me know|feel free|happy to|thank", parts[gone], re.IGNORECASE):
        return None
    return "".join([*parts[:gone], *parts[gone + 1 :]])


def offer(text: str, draw: random.Random) -> str | None:
    """What was done, only offered."""
    del draw
    for pattern, new in (
        (r"\bI have (?:successfully )?(\w+ed|sent|made|set)\b", r"Would you like me to have \1"),
        (r"\bhas been (?:successfully )?(\w+ed|sent|made|set)\b", r"can be \1 if you agree"),
        (r"\bhave been (?:successfully )?(\w+ed|sent|made|set)\b", r"can be \1 if you agree"),
    ):
        turned, n = re.subn(pattern, new, text, count=1)
        if n:
            return turned
    return None


def value(text: str, draw: random.Random) -> str | None:
    """One value changed."""
    return swap_value(text, draw, naming=False)


def other_object(text: str, draw: random.Random) -> str | None:
    """The same about another object."""
    return swap_value(text, draw, naming=True)


Change = Callable[[str, random.Random], str | None]
CHANGES: tuple[tuple[str, str, Change, float], ...] = (
    ("value", "contradictory", value, 0.8),
    ("category", "contradictory", swap_category, 0.5),
    ("negation", "contradictory", negate, 0.25),
    ("object", "neutral", other_object, 0.35),
    ("manners", "equivalent", reword, 0.5),
    ("addition", "neutral", extend, 0.25),
    ("omission", "neutral", shorten, 0.4),
    ("offer", "neutral", offer, 0.5),
)
"""Kind of made pair, its label, how it is made, and for what part of the texts."""


def made(rows: list[Row], seed: int) -> Iterator[Row]:
    """Hard pairs from labelled ones: from a text alone, and from both sides of an equivalent pair."""
    draw = random.Random(seed)
    texts: dict[str, Row] = {}
    for row in rows:
        texts.setdefault(row["action_a"], row)
    for text, row in texts.items():
        for kind, label, change, part in CHANGES:
            new = change(text, draw) if draw.random() < part else None
            if new is not None:
                yield {"domain": row["domain"], "kind": kind, "action_a": text, "action_b": new, "label": label}
    for row in rows:
        if row["label"] != "equivalent":
            continue
        for kind, label, change, part in CHANGES:
            if kind in ("value", "category", "negation", "object") and draw.random() < part:
                new = change(row["action_b"], draw)
                if new is not None and not (kind == "object" and new == row["action_b"]):
                    yield {**row, "kind": f"{kind}-reworded", "action_b": new, "label": label}


def sampled(rows: list[Row], most: int | None, seed: int) -> list[Row]:
    """At most so many of each kind."""
    left = Counter({kind: most or len(rows) for kind in {row["kind"] for row in rows}})
    kept = []
    for row in random.Random(seed).sample(rows, len(rows)):
        left[row["kind"]] -= 1
        if left[row["kind"]] >= 0:
            kept.append(row)
    return kept


def main() -> None:
    """Parse, make, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--silver", type=Path, required=True)
    parser.add_argument("--variants", type=Path, required=True)
    parser.add_argument("--leave-out", nargs="*", default=[], metavar="DOMAIN")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--most", type=int, help="made pairs of a kind at most, drawn at random; all if not given")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rows: list[Row] = []
    for source in (args.silver, args.variants):
        for line in source.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row["kind"] == "text-text" and row["domain"] not in args.leave_out:
                rows.append({k: row[k] for k in ("domain", "action_a", "action_b", "label")} | {"kind": source.stem})
    everything = rows + sampled(list(made(rows, args.seed)), args.most, args.seed)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in everything), encoding="utf-8")


if __name__ == "__main__":
    main()
