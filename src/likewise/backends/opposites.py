"""Opposites: short statements that are the same but for a "not" or a pair of antonyms contradict each other.

Networks trained on whole sentences overlook this in fragments ("flag enabled", "flag disabled"). Only short statements
are settled here: in longer ones a negation may stand in a part that takes nothing back ("I am not sure that ...").
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["are_opposites", "is_antonym"]

LONGEST: Final = 12
"""Words of a statement that is short enough: of 125 such NLI pairs (training, dev), 124 are labelled contradictory."""

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")


def _listed(words: str) -> list[str]:
    return words.split()


_AUXILIARIES = frozenset(
    _listed("am is are was were be been do does did has have had can could will would shall should may might must")
)
_SHORTENED = {"cannot": "can", "can't": "can", "won't": "will", "shan't": "shall"}
_ANTONYMS = frozenset(
    frozenset(pair.split("/"))
    for pair in _listed(
        "enabled/disabled enable/disable on/off open/closed opened/closed locked/unlocked active/inactive "
        "online/offline approved/denied approved/rejected approved/declined accepted/rejected accepted/declined "
        "granted/denied granted/refused allowed/forbidden allowed/prohibited permitted/forbidden "
        "permitted/prohibited allow/forbid authorized/unauthorized eligible/ineligible refundable/nonrefundable "
        "valid/invalid available/unavailable possible/impossible able/unable safe/unsafe correct/incorrect "
        "true/false included/excluded include/exclude required/optional successful/unsuccessful succeeded/failed "
        "passed/failed paid/unpaid verified/unverified increased/decreased increase/decrease rose/fell grew/shrank "
        "started/stopped added/removed upgraded/downgraded add/remove start/stop begin/stop grant/refuse grant/deny "
        "approve/reject approve/deny approve/decline accept/reject accept/decline confirm/deny confirmed/denied "
        "with/without yes/no charge/refund charged/refunded higher/lower highest/lowest more/less most/least "
        "earlier/later "
        "above/below inside/outside minimum/maximum upgrade/downgrade same/different safe/dangerous everyone/nobody "
        "everything/nothing allows/forbids permit/forbid permit/prohibit lock/unlock activate/deactivate "
        "activated/deactivated cheaper/dearer"
    )
)


def is_antonym(a: str, b: str) -> bool:
    """Whether two words, in lower case, are opposites of each other."""
    return frozenset((a, b)) in _ANTONYMS


def are_opposites(a: str, b: str) -> bool:
    """Whether two short statements are equal but for one "not" behind an auxiliary, or for one pair of antonyms.

    Args:
        a: One text.
        b: The other; the order does not matter.

    Returns:
        True where they contradict each other; False says nothing. Questions are never opposites: both ask the same.
    """
    if "?" in a or "?" in b:
        return False
    short, long = sorted((_words(a), _words(b)), key=len)
    if not short or len(long) > LONGEST:
        return False
    first = next((i for i, (x, y) in enumerate(zip(short, long, strict=False)) if x != y), len(short))
    if len(short) == len(long):
        behind = first + 1
        return first < len(short) and is_antonym(short[first], long[first]) and short[behind:] == long[behind:]
    negated = long[first] == "not" and first > 0 and long[first - 1] in _AUXILIARIES
    return negated and short[first:] == long[first + 1 :]


def _words(text: str) -> list[str]:
    """Words in lower case, a shortened "not" written out; one more than is looked at where there are many."""
    words: list[str] = []
    for match in _WORD.finditer(text.casefold().replace("’", "'")):
        word = match.group()
        if word in _SHORTENED:
            words += [_SHORTENED[word], "not"]
        elif word.endswith("n't"):
            words += [word.removesuffix("n't"), "not"]
        else:
            words.append(word)
        if len(words) > LONGEST + 1:
            break
    return words
