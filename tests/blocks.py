"""Fenced blocks of documentation pages, and the commands in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import pytest

__all__ = ["PAGES", "ROOT", "Block", "Command", "blocks", "commands"]

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: the line number and the info string of its opening fence, and its text."""

    line: int
    info: str
    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a console block: its line number, its text, and the output on the page."""

    line: int
    text: str
    shown: str


def blocks(page: Path) -> Iterator[Block]:
    """Iterate over the blocks of a page, in order."""
    fence, info, opened, body = "", "", 0, []
    for number, text in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        stripped = text.strip()
        if not fence and stripped.startswith("```"):
            fence = stripped[: len(stripped) - len(stripped.lstrip("`"))]
            info, opened, body = stripped.removeprefix(fence).strip(), number, []
        elif fence and stripped == fence:
            yield Block(opened, info, "\n".join(body))
            fence = ""
        elif fence:
            body.append(text)
    if fence:
        pytest.fail(f"{page}:{opened}: this block is never closed", pytrace=False)


def commands(block: Block) -> Iterator[Command]:
    """Iterate over the commands of a console block; a `\\` at the end of a line continues one."""
    lines = list(enumerate(block.text.splitlines(), start=block.line + 1))
    while lines:
        number, text = lines.pop(0)
        if not text.startswith("$ "):
            continue
        command = text.removeprefix("$ ")
        while command.endswith("\\") and lines:
            command = command[:-1] + lines.pop(0)[1].strip()
        shown = list(takewhile(lambda line: not line.startswith("$ "), (line for _, line in lines)))
        yield Command(number, command, "\n".join(shown))
