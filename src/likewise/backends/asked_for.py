"""What a text asks to be told: the facts it wants, as words (English). Questions are alike if they ask for the same.

A cue ("could you provide", "I'll need", "which") opens the span of what is asked; it ends with its sentence, or where
a purpose ("so I can look up ...") or a reference ("for the booking you would like to change") begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["IDLE", "asked_for"]

_CUE = re.compile(
    r"\b(?:provide|share|give me|tell me|let me know|specify|send|enter|(?:i(?:'ll| will)?|we(?:'ll| will)?|also|still"
    r"|just) (?:also )?need|i require|(?:may|could|can) i have|have your|confirm (?:your|the)|what(?:'s| is| are)|which"
    r"|how (?:many|much|long|often)|when|where|who)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"\s*(?:if|whether|once)\b", re.IGNORECASE)
_END = re.compile(
    r"\b(?:for (?:the|your|which|that|this|each)|of (?:the|your) (?:booking|reservation|order|account)"
    r"|(?:that |which )?you(?:'d| would) (?:like|prefer)|(?:that |which )?you(?:'re| are)|you (?:want|wish|need|have)"
    r"|associated|along with any|once|so (?:that|i|we)|to proceed|in order to|before i|and i(?:'ll| will)"
    r"|i(?:'ll| will) be|i can|to help|if you)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[^\s\d][.?!])\s+")  # not behind the "2." of a list
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
IDLE = frozenset(
    _WORD.findall("""
    a an the to of and or for in on at is are was were be been i you your it this that with as by from have has had
    do does did will would can could may please me my we our if not so any there""")
)
"""Words that carry nothing."""
_IDLE = IDLE | frozenset(
    _WORD.findall("""
    need provide share give tell know let confirm specify enter also like additional further information details
    following both more along help assist proceed using use these those each their its""")
)


def asked_for(text: str) -> frozenset[str]:
    """Words of the facts that a text asks for.

    Args:
        text: Canonical (core/state_text.py).

    Returns:
        Words in lower case, without a plural's s; empty where nothing is asked for.
    """
    return frozenset(word for span in _spans(text) for word in _words(span))


def _spans(text: str) -> Iterator[str]:
    for sentence in _SENTENCE.split(text):
        cue = _CUE.search(sentence)
        if cue is not None and not _CONDITION.match(sentence, cue.end()):
            end = _END.search(sentence, cue.end())
            yield sentence[cue.end() : end.start() if end else None]


def _words(span: str) -> Iterator[str]:
    for match in _WORD.finditer(span):
        word = match.group().casefold()
        if word not in _IDLE:
            word = word.removesuffix("'s")
            plural = len(word) > 2 and word.endswith("s") and not word.endswith("ss")
            yield word[:-1] if plural else word
