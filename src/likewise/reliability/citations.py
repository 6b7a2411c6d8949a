"""Sources as runs name them, brought to one spelling: URLs are compared as URLs, never as sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable

from w3lib.url import canonicalize_url, url_query_cleaner

from likewise.core.state_text import canonical_text

__all__ = ["canonical_source", "canonical_sources", "urls_in"]

_TRACKING = (
    "utm_source",
    "utm_medium",
    "utm_campaign",
    "utm_term",
    "utm_content",
    "utm_id",
    "gclid",
    "fbclid",
    "msclkid",
)
_URL = re.compile(r"https?://[^\s<>\"'`\]})|\\^]{3,2000}", re.IGNORECASE)
_BARE = re.compile(r"(?:www\.)[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}(?:[/?#]\S*)?", re.IGNORECASE)
_DEFAULT_PORT = re.compile(r"^(http://[^/?#]*):80(?=[/?#]|$)|^(https://[^/?#]*):443(?=[/?#]|$)")
_LONGEST = 2048


def urls_in(text: str) -> tuple[str, ...]:
    """The http(s) URLs of a text as written, each once, without the punctuation that ends a sentence."""
    return tuple(dict.fromkeys(match.group().rstrip(".,;:!?") for match in _URL.finditer(text)))


def canonical_source(source: str) -> str:
    """One spelling for all that name one source.

    URLs (w3lib): host in lower case and punycode, parameters sorted, tracking parameters, fragment, default port and
    final slash dropped, http and https alike. A text that holds one URL is that URL ("Report, https://a.org/x"). What
    is no URL (a title, a file name) is compared as text, case aside.
    """
    found = urls_in(source)
    url = found[0] if len(found) == 1 else None
    if url is None and _BARE.fullmatch(source.strip()):
        url = f"https://{source.strip()}"
    if url is None or len(url) > _LONGEST:
        return canonical_text(source).casefold()
    try:
        cleaned = url_query_cleaner(url, _TRACKING, remove=True, keep_fragments=False)
        canonical = canonicalize_url(cleaned, keep_fragments=False)
    except ValueError:  # an address that cannot be one ("http://[") is still a name
        return canonical_text(source).casefold()
    canonical = _DEFAULT_PORT.sub(lambda m: m.group(1) or m.group(2), canonical)
    return canonical.split("://", 1)[-1].rstrip("/")


def canonical_sources(sources: Iterable[str]) -> frozenset[str]:
    """The distinct sources; one that shows nothing is none."""
    return frozenset(canonical for source in sources if (canonical := canonical_source(source)))
