"""Extension of griffe: examples in docstrings become code blocks, not Markdown quotations."""

from __future__ import annotations

from typing import Any

import griffe

__all__ = ["Doctests", "fenced"]


class Doctests(griffe.Extension):
    """Extension that adds a fence around each example of a docstring."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """Return a docstring with a fence around each example, from `>>>` to the next empty line."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if inside and not line.strip():
            lines.append("```")
            inside = False
        elif not inside and line.startswith(">>>"):
            lines.append("```pycon")
            inside = True
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)
