"""Hook of MkDocs: write `llms.txt`, an index of all pages, and the Markdown of every page.

The Markdown of a page has the same path in the site as in `docs/`, so that relative links between
pages work: `how-to/zones.md` lies beside the folder of `how-to/zones/index.html`. The Markdown of a
page of the Python API is only a list of names, because its text comes from docstrings.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig

__all__ = ["on_post_build", "summarize"]

_FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_NO_PROSE = ("#", "|", "!", ":::", "-")


def on_post_build(config: MkDocsConfig) -> None:
    """Write the index and copy the pages."""
    docs, site = Path(config.docs_dir), Path(config.site_dir)
    lines = [f"# {config.site_name}", "", f"> {config.site_description}"]
    for title, path in iter_entries(config.nav, 2):
        if path is None:
            lines += ["", title, ""]
            continue
        if path == "index.md":
            lines += ["", "## Overview", ""]
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(docs / path, site / path)
        summary = summarize((docs / path).read_text(encoding="utf-8"))
        lines.append(f"- [{title}]({path})" + (f": {summary}" if summary else ""))
    (site / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def iter_entries(nav: Any, level: int) -> Iterator[tuple[str, str | None]]:
    """Yield the title and path of each page in order, and each heading with no path."""
    for entry in nav:
        for title, target in entry.items():
            if isinstance(target, str):
                yield title, target
            else:
                yield f"{'#' * level} {title}", None
                yield from iter_entries(target, level + 1)


def summarize(markdown: str) -> str:
    """Return the first sentence of a page's first paragraph, without markup of links."""
    for paragraph in _FENCED.sub("", markdown).split("\n\n"):
        text = _LINK.sub(r"\1", " ".join(paragraph.split()))
        if text and not text.startswith(_NO_PROSE):
            return re.split(r"(?<=\.)\s", text)[0]
    return ""
