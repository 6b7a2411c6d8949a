"""Does the answer rest on the sources given? Sentence by sentence, with the passage quoted.

Agreement among runs says nothing about truth. Each sentence of an answer is read against the passages of the sources
that are nearest to it; a judge says whether a passage supports or contradicts it, and the slot guard checks that its
numbers, dates and names of things stand in that passage. Records (objects of JSON) are no sentences, and may have a
judge of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from likewise.backends.judge_each import judge_each
from likewise.backends.slots import Slot, SlotKind, extract_slots, same_value, slot_verdict
from likewise.core.errors import LabelError
from likewise.core.estimate import Estimate
from likewise.core.labels import Entailment, Judgement, Relation
from likewise.core.protocols import Encoder, Judge
from likewise.metrics.resampling import wilson_share
from likewise.reliability.passages import Passage, Source, check_sources, passages_of, spans_of

__all__ = ["GroundedSentence", "Grounding", "GroundingReport", "Source", "ground"]

NEAREST = 6
"""Passages that a sentence is read against: half of them the nearest by meaning, half by shared words."""
CONTRADICTED_ABOVE = 0.7
MOST_SENTENCES = 60
"""Sentences of an answer that are checked."""
_WORD = re.compile(r"\w+")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Letters of scripts that put no spaces between words."""
_ASKS = ("?", "\uff1f", "\u061f")
_PLAIN = frozenset((SlotKind.MONEY, SlotKind.PERCENT, SlotKind.QUANTITY, SlotKind.NUMBER, SlotKind.YEAR))
"""Kinds whose value ends in a number: a record gives "price: 117" for $117."""
_SHORTEST_ID = 4
"""Characters of an identifier from which it may stand for a longer one that ends in it."""
_Judged = dict[tuple[str, str], Judgement]


class Grounding(StrEnum):
    """How a sentence stands to the sources."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    NOT_FOUND = "not found"
    NO_CLAIM = "no claim"
    """A question or a greeting: nothing to support."""
    NOT_JUDGED = "not judged"
    """The judge reads neither the sentence nor a passage near it (another language): not measured, so in no share."""


@dataclass(frozen=True, slots=True)
class GroundedSentence:
    """A sentence of the answer, how it stands to the sources, and the passage that decides.

    `start` and `end` are offsets in the answer, `passage_start` and `passage_end` in the source named; `score` is the
    judge's probability of what `status` says, None where nothing was found; `rule` says what decided.
    """

    text: str
    start: int
    end: int
    status: Grounding
    source: str | None = None
    passage: str | None = None
    passage_start: int | None = None
    passage_end: int | None = None
    score: float | None = None
    rule: str = "nli"

    def as_json(self) -> dict[str, object]:
        """The fields by name."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True)
class GroundingReport:
    """All sentences of an answer.

    Attributes:
        sentences: In the order of the answer.
        share: Share of the claims judged that are supported, in [0, 1].
        unread: What was left out, of the sources too.
        unchecked: Why something of the answer was not checked: nothing says that the sources support it.
    """

    sentences: tuple[GroundedSentence, ...]
    share: Estimate
    unread: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()

    @property
    def contradicted(self) -> tuple[GroundedSentence, ...]:
        """The sentences that the sources contradict."""
        return tuple(sentence for sentence in self.sentences if sentence.status is Grounding.CONTRADICTED)

    def as_json(self) -> dict[str, object]:
        """Everything."""
        return {
            "supported_share": self.share.as_json(),
            "sentences": [sentence.as_json() for sentence in self.sentences],
            "unread": list(self.unread),
            "unchecked": list(self.unchecked),
        }


def ground(
    answer: str,
    sources: Sequence[Source] | Mapping[str, str],
    judge: Judge,
    encoder: Encoder | None = None,
    records: Judge | None = None,
) -> GroundingReport:
    """Check each sentence of an answer against the sources.

    Args:
        answer: What is checked.
        sources: Texts by name.
        judge: Reads (passage, sentence); the probabilities with the passage as premise count, so that a directed NLI is
            wanted: a passage that says more than the sentence supports it all the same.
        encoder: Finds passages by meaning; by shared words alone where None.
        records: Reads (passage, sentence) in place of `judge` where the passage is a record.

    Returns:
        The report; its share is undefined where the answer makes no claim, or none could be judged.

    Raises:
        TypeError: Sources that are none.
    """
    check_sources(sources)
    given = [Source(n, t) for n, t in sources.items()] if isinstance(sources, Mapping) else list(sources)
    passages, unread = passages_of(given)
    spans, unchecked = spans_of(answer), list[str]()
    if len(spans) > MOST_SENTENCES:
        unchecked.append(f"{len(spans) - MOST_SENTENCES} sentence(s) of the answer, beyond the first {MOST_SENTENCES}")
        spans = spans[:MOST_SENTENCES]
    claims = [(text, start, end) for text, start, end in spans if _is_claim(text)]
    if spans and not claims and not any(text.rstrip().endswith(_ASKS) for text, _, _ in spans):
        unchecked.append("the answer, which has no sentence of three words")
    near = _nearest([text for text, _, _ in claims], passages, encoder)
    judged, problem = _read(claims, near, judge, records or judge)
    decided = {
        (start, end): _decide(text, start, end, found, judged)
        for (text, start, end), found in zip(claims, near, strict=True)
    }
    sentences = tuple(
        decided.get((start, end)) or GroundedSentence(text, start, end, Grounding.NO_CLAIM, rule="no claim")
        for text, start, end in spans
    )
    supported = sum(sentence.status is Grounding.SUPPORTED for sentence in sentences)
    missed = sum(sentence.status is Grounding.NOT_JUDGED for sentence in sentences)
    if missed:
        unchecked.append(f"{missed} sentence(s) of the answer could not be judged: {problem}")
    share = wilson_share(supported, len(claims) - missed, "claim")
    if claims and missed == len(claims):
        share = Estimate.undefined(f"no sentence could be judged: {problem}")
    return GroundingReport(sentences, share, (*unread, *unchecked), tuple(unchecked))


def _read(
    claims: Sequence[tuple[str, int, int]], near: Sequence[Sequence[Passage]], prose: Judge, records: Judge
) -> tuple[_Judged, str]:
    """What the judges say of (passage, sentence), and why they could not say it of some."""
    judged, problem = _Judged(), ""
    for judge, wanted in ((prose, False), (records, True)):
        passages = zip(claims, near, strict=True)
        pairs = [(p.text, text) for (text, _, _), found in passages for p in found if p.record is wanted]
        for pair, outcome in judge_each(judge, list(dict.fromkeys(pair for pair in pairs if pair[0] != pair[1]))):
            if isinstance(outcome, LabelError):
                problem = problem or str(outcome)
            else:
                judged[pair] = outcome
        same = Judgement.certain(Relation.EQUIVALENT, "identical")
        judged.update((pair, same) for pair in pairs if pair[0] == pair[1])
    return judged, problem


def _is_claim(text: str) -> bool:
    """Three words, or as many letters of a script that puts no spaces between them, and no question."""
    return not text.rstrip().endswith(_ASKS) and max(len(_WORD.findall(text)), len(_UNSPACED.findall(text))) >= 3


def _nearest(claims: Sequence[str], passages: Sequence[Passage], encoder: Encoder | None) -> list[list[Passage]]:
    if not passages or not claims:
        return [[] for _ in claims]
    similar = None
    if encoder is not None:
        similar = encoder.encode(list(claims)) @ encoder.encode([passage.text for passage in passages]).T
    nearest = []
    for c, claim in enumerate(claims):
        words = frozenset(_WORD.findall(claim.casefold()))
        shared = [len(words & p.words) / (len(words | p.words) or 1) for p in passages]
        by_words = np.argsort(-np.array(shared), kind="stable")
        by_meaning = by_words if similar is None else np.argsort(-similar[c], kind="stable")
        each = NEAREST if similar is None else NEAREST // 2
        order = dict.fromkeys([*by_meaning[:each].tolist(), *by_words[:each].tolist()])
        nearest.append([passages[i] for i in order])
    return nearest


def _decide(
    claim: str, start: int, end: int, near: Sequence[Passage], judged: Mapping[tuple[str, str], Judgement]
) -> GroundedSentence:
    """Supported by the passage that entails most, unless its values differ; else contradicted; else not found."""
    if not near:
        return GroundedSentence(claim, start, end, Grounding.NOT_FOUND, rule="no passage")
    near = [passage for passage in near if (passage.text, claim) in judged]
    if not near:
        return GroundedSentence(claim, start, end, Grounding.NOT_JUDGED, rule="not judged")
    triples = [judged[passage.text, claim].forward for passage in near]
    best = max(range(len(near)), key=lambda i: triples[i][Entailment.ENTAILS])
    worst = max(range(len(near)), key=lambda i: triples[i][Entailment.CONTRADICTS])

    def said(i: int, status: Grounding, score: float | None, rule: str) -> GroundedSentence:
        p = near[i]
        return GroundedSentence(claim, start, end, status, p.source, p.quote, p.start, p.end, score, rule)

    for i, passage in enumerate(near):
        verdict = slot_verdict(passage.text, claim)
        if verdict is not None and verdict.relation is Relation.CONTRADICTORY:
            return said(i, Grounding.CONTRADICTED, 1.0, verdict.rule)
    entails, contradicts = triples[best][Entailment.ENTAILS], triples[worst][Entailment.CONTRADICTS]
    if int(np.argmax(triples[best])) == Entailment.ENTAILS:
        if _lacks_values(claim, near):
            return said(best, Grounding.NOT_FOUND, None, "slots:missing")
        return said(best, Grounding.SUPPORTED, float(entails), "nli")
    if contradicts > CONTRADICTED_ABOVE:
        return said(worst, Grounding.CONTRADICTED, float(contradicts), "nli")
    return said(best, Grounding.NOT_FOUND, None, "nli")


def _lacks_values(claim: str, near: Sequence[Passage]) -> bool:
    """Whether the claim has a value that none of the passages has."""
    there = [slot for passage in near for slot in extract_slots(passage.text)]
    return not all(any(_may_be(slot, found) for found in there) for slot in extract_slots(claim))


def _may_be(wanted: Slot, found: Slot) -> bool:
    """Whether a value of a passage may be the one that a claim states, though written without its unit or its kind."""
    if wanted.kind is found.kind and same_value(wanted, found):
        return True
    first, second = str(wanted.value[-1]), str(found.value[-1])
    kinds = {wanted.kind, found.kind}
    if SlotKind.NUMBER in kinds and kinds <= _PLAIN | {SlotKind.IDENTIFIER}:
        return first == second
    if kinds == {SlotKind.IDENTIFIER}:  # "gift card 7359776" is gift_card_7359776
        short, long = sorted((first, second), key=len)
        return len(short) >= _SHORTEST_ID and long.endswith(f"_{short}")
    return kinds == {SlotKind.YEAR, SlotKind.DATE} and str(found.value[0]) == str(wanted.value[0])
