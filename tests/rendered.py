"""Markdown as a reader's browser gets it, by a library of its own (markdown-it-py, which rich brings)."""

from __future__ import annotations

from html.parser import HTMLParser

from markdown_it import MarkdownIt

__all__ = ["tags_of"]


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_comment(self, data):
        self.tags.add("!--")


def tags_of(markdown: str) -> tuple[set[str], set[str]]:
    """All elements and attributes of the rendered text, HTML within it included."""
    parser = _Tags()
    parser.feed(MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown))
    return parser.tags, parser.attributes
