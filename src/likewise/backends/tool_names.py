"""What the names of tools and arguments say, and whether words are a refusal: English, by lists of words.

A tool reads or changes state by the verb its name starts with; an argument names an object or holds free text by
its own name. The lists are the defaults of `tool_rules`; docs/tool_rules.md explains them to users.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType

from likewise.core.state_text import canonical_text

__all__ = [
    "ToolClass",
    "are_opposite",
    "is_id",
    "is_refusal",
    "is_sentence",
    "is_text_name",
    "naming_arguments",
    "only_reads",
    "own_name",
    "stem",
    "tool_class",
    "tool_words",
    "verb_class",
]


class ToolClass(StrEnum):
    """Whether a call leaves the world as it was."""

    READS = "reads"
    CHANGES = "changes"


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_READ_VERBS = _listed("""
    analyse analyze browse calculate check compare compute count describe detect diff display estimate evaluate
    examine explain fetch find get has head inspect is list look lookup measure peek preview query read retrieve scan
    search show stat summarise summarize test think validate verify view""")
_WRITE_VERBS = _listed("add book buy cancel create delete insert pay remove replace save send set update write")
_READ_NOUNS = frozenset(("search", "lookup", "query"))  # web_search
_JOINS = _listed("also and else n or plus then")
_ALWAYS_WRITES = _listed("ack acknowledge delete destroy erase purge remove wipe")
"""Words that make a change of a call wherever they stand in a tool's name; others may be nouns (get_refund)."""
_THINGS = _listed("""
    addresses amenities availability balances categories category cities city conditions countries country currencies
    currency customer customers dates days descriptions details employees flights history hotels hours id ids info
    information inventory items metadata months names passengers policies policy products properties property quantities
    quantity results status statuses users weeks years""")
"""Words that name no act: what else stands after "and" in a name may be a verb (order, credit, zip)."""
_SEARCHED = _THINGS | _listed("""
    arxiv base bing brave code document documents duckduckgo file files flight google hotel hybrid image images internet
    knowledge news order product pubmed semantic similarity tavily user vector web wikipedia""")
"""What a search is of: web_search. In execute_query and issue_refund_lookup another verb goes first."""
_OPPOSITES: frozenset[frozenset[str]] = frozenset(
    frozenset(pair.split("/"))
    for pair in _listed("""
    cancel/keep cancel/confirm cancel/renew cancel/reinstate approve/reject approve/deny approve/decline
    accept/decline accept/reject accept/deny grant/revoke grant/deny allow/deny allow/block enable/disable open/close
    add/remove add/delete create/delete create/remove insert/delete lock/unlock start/stop start/cancel pause/resume
    stop/resume activate/deactivate activate/suspend block/release subscribe/unsubscribe hold/release lift/place
    merge/close reopen/close mute/unmute raise/lower increase/decrease attach/detach connect/disconnect
    install/uninstall assign/unassign upgrade/downgrade publish/unpublish archive/restore delete/restore
    encrypt/decrypt login/logout show/hide debit/credit""")
)
_TEXT_KEYS = _listed("""
    answer body caption comment comments content description explanation feedback instruction instructions memo
    message note notes prompt query question rationale reason reasoning subject summary text thought thoughts
    title""")
_STRONG_ID = re.compile(r"(?:^|_)(?:id|ids|uuid|guid|ref|no|number|sku|imei|iccid|vin|iban|isbn)$")
_WEAK_ID = re.compile(
    r"(?:^|_)(?:email|e_mail|username|user|login|handle|account|path|file|filename|url|uri|host|hostname|ticker|symbol"
    r"|slug|to|recipient|recipients|last_?4|issue|ticket|order|booking|reservation|claim|pull_request|entity|record_class)$"
)
_SECONDARY = _listed("new old payment method target destination source parent to from phone mobile fax house")
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
_NOT_IN_WORDS = re.compile(r"[^\w\s-]+")
_NAME_SPACE = re.compile(r"__|[./:]")


def _words(name: str) -> list[str]:
    """Words of a snake, kebab, camel or dotted name, in lower case."""
    return [word.lower() for word in _WORDS.findall(name)]


def own_name(name: str) -> str:
    """A tool's own name, without the server or name space before it (`mcp__shop__`, `github.`)."""
    return next((part for part in reversed(_NAME_SPACE.split(name)) if part), name)


def tool_words(name: str) -> list[str]:
    """Words of a tool's own name."""
    return _words(own_name(name))


@lru_cache(maxsize=4096)
def verb_class(name: str) -> tuple[ToolClass, str]:
    """Whether a tool reads or changes state, by the verb its name starts with, and why.

    A verb that is not known to read changes state: a look-up taken for a change costs a wrong contradiction
    in a report, a change taken for a look-up hides one.
    """
    words = tool_words(name)
    joined = {after for word, after in pairwise(words) if word in ("and", "or")}
    if not words:
        return ToolClass.CHANGES, "no verb in the name"
    if joined & _WRITE_VERBS:  # find_and_replace, get_or_create
        return ToolClass.CHANGES, f"{min(joined & _WRITE_VERBS)!r} in the name"
    if words[:2] in (["check", "in"], ["check", "out"]):
        return ToolClass.CHANGES, f"starts with '{' '.join(words[:2])}'"
    if words[0] in _READ_VERBS:
        return ToolClass.READS, f"starts with {words[0]!r}"
    if words[-1] in _READ_NOUNS and words[0] not in _WRITE_VERBS:
        return ToolClass.READS, f"ends in {words[-1]!r}"
    return ToolClass.CHANGES, f"{words[0]!r} is not known to read"


def tool_class(name: str, overrides: Mapping[str, ToolClass] = MappingProxyType({})) -> ToolClass:
    """Whether a tool reads or changes state: the user's word, else that of its verb."""
    return ToolClass(overrides[name]) if name in overrides else verb_class(name)[0]


def only_reads(name: str) -> bool:
    """Whether every part of a tool's name says that it reads, so that its call may be made without asking.

    `verb_class` is for reports, and goes by the first verb; here `check_and_issue_refund` may not be taken for a
    reader. What is joined to a reading verb has to start with one too, or be of words that name no act.

    Args:
        name: The tool's name, with or without a name space.

    Returns:
        True only where nothing in the name may be a verb that changes something: find_user_and_zip is False.
    """
    parts: list[list[str]] = [[]]
    for word in _words(_NOT_IN_WORDS.sub("_and_", own_name(canonical_text(name)))):
        if word in _JOINS:
            parts.append([])
        else:
            parts[-1].append(word)
    first, *joined = parts
    if any(_ALWAYS_WRITES & set(part) for part in parts):
        return False
    of_search = first[-1:] and first[-1] in _READ_NOUNS and _SEARCHED.issuperset(first[:-1])
    return bool(_starts_reading(first) or of_search) and all(
        _starts_reading(part) or _THINGS.issuperset(part) for part in joined
    )


def _starts_reading(words: list[str]) -> bool:
    checks_in = words[:1] == ["check"] and ({"in", "out"} & {words[-1], *words[1:2]})
    return bool(words) and words[0] in _READ_VERBS and not checks_in


def stem(word: str) -> str:
    """A word without the "s" of a plural, as far as matching nouns needs it."""
    return word[:-1] if word.endswith("s") and len(word) > 3 else word


def are_opposite(a: str, b: str) -> bool:
    """Whether two verbs undo each other: cancel and keep, lock and unlock."""
    prefixed = any(long == prefix + short for long, short in ((a, b), (b, a)) for prefix in ("un", "de", "dis"))
    return frozenset((a, b)) in _OPPOSITES or (prefixed and bool(a) and bool(b))


def _key_words(path: str) -> list[str]:
    return _words(path.rpartition(".")[2])


def is_id(path: str) -> bool:
    """Whether an argument, by its dotted path, names an object."""
    name = "_".join(_key_words(path))
    return bool(_STRONG_ID.search(name) or _WEAK_ID.search(name))


def is_text_name(path: str) -> bool:
    """Whether an argument, by its dotted path, is one that holds free text: a message, a reason."""
    return bool(_TEXT_KEYS & set(_key_words(path)[-1:]))


def is_sentence(value: str) -> bool:
    """Whether a value reads like a sentence: four words or more, at least half of them with letters."""
    words = value.split()
    return len(words) >= 4 and 2 * sum(any(c.isalpha() for c in word) for word in words) >= len(words)


def naming_arguments(tool: str, paths: Collection[str]) -> set[str]:
    """The arguments that name the object of a change.

    Of the ids, those that the tool's own name speaks of (`order_id` in `cancel_order`); else all singular ids
    that are not of a side matter (payment_id, new_item_ids); else what commonly stands for an id (user, path).
    """
    strong: set[str] = set()
    weak: set[str] = set()
    side: set[str] = set()
    for path in paths:
        words = _key_words(path)
        name = "_".join(words)
        if _STRONG_ID.search(name):
            (side if words[-1] == "ids" or _SECONDARY & set(words) else strong).add(path)
        elif _WEAK_ID.search(name):
            weak.add(path)
    nouns = {stem(word) for word in tool_words(tool)[1:]}

    def named(keys: set[str]) -> set[str]:
        stems = {key: {stem(word) for word in _key_words(key)[:-1]} for key in keys}
        return {key for key in keys if stems[key] and stems[key] <= nouns}

    return named(strong) or (named(side) if not strong else set()) or strong or named(weak) or weak or side


_CANNOT = re.compile(
    r"\b(?:unable to|can(?:not|'t| not)|could(?: not|n't)|(?:am|are|is|be)(?: not|n't) (?:able|allowed|permitted) to"
    r"|not possible|not eligible|ineligible|(?:must|have to|need to) (?:decline|refuse|deny)|won't be able to)\b"
    r"(?! (?:find|locate|see|access|verify|identify|retrieve|look|tell|confirm|proceed)\b)",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"\b(?:without|until|unless|before|if)\b", re.IGNORECASE)
_COURTESY = re.compile(
    r"\s*(?:i understand|i(?:'m| am) (?:very |so )?sorry|i apologi[sz]e|thank|unfortunately|i see)\b", re.IGNORECASE
)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")


def is_refusal(text: str) -> bool:
    """Whether the first sentence that is more than a courtesy plainly says that something cannot be done.

    "I cannot find ..." and "cannot ... without ..." ask for something and refuse nothing.
    """
    for match in _SENTENCE.finditer(canonical_text(text[:2000])):
        sentence = match.group()
        if _CANNOT.search(sentence):
            return not sentence.rstrip().endswith("?") and _CONDITION.search(sentence) is None
        if len(sentence.split()) >= 4 and not _COURTESY.match(sentence):
            return False
    return False
