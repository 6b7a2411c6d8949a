"""What MkDocs calls while it builds the site: adds the pages that are made elsewhere, and fills the navigation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))

from pages import generated_pages, relinked


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages, and put pages that the navigation forgot under `More`."""
    for address, text in generated_pages().items():
        files.append(File.generated(config, address, content=text))
    known = set(_addresses(config.nav))
    pages = sorted(each.src_uri for each in files.documentation_pages())
    for title, folder in (("Benchmarks", "benchmarks/"), ("Design notes", "design/")):
        inside = [page for page in pages if page.startswith(folder)]
        index = f"{folder}index.md"
        config.nav.append({title: [index, *(page for page in inside if page != index)]})
    known |= set(_addresses(config.nav))
    if forgotten := [page for page in pages if page not in known]:
        config.nav.append({"More": forgotten})
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links to files of the repository into links to their pages."""
    address = page.file.src_uri
    return markdown if page.file.generated_by else relinked(markdown, f"docs/{address}", address)


def _addresses(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    each = nav.values() if isinstance(nav, dict) else nav
    return [address for item in each for address in _addresses(item)]
