"""Idioms that make texts hard to read: `python -m tools.prose`.

The program searches docstrings, comments, messages and pages for idioms, and suggests plain words.
It does not search code: `tools.names` applies the rules for names. Fenced blocks of pages and text
between backticks are skipped.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["IDIOMS", "Idiom", "find_idioms", "iter_files", "iter_page_texts", "main"]

ROOT = Path(__file__).parent.parent
FOLDERS = ("src", "docs", "benchmarks", "soak", "tools", "examples")
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
WORD_LISTS = (Path(__file__), Path(__file__).with_name("names.py"))
"""Sources that contain idioms as data."""

IDIOMS: dict[str, str] = {
    r"all of it": "name the thing: the whole file, every row",
    r"all that": "everything that, all",
    r"all the same": "nevertheless, equally",
    r"anew": "again",
    r"are gone|is gone": "is deleted, is lost",
    r"are to be|is to be": "must be",
    r"are wanted|is wanted": "is required, is requested",
    r"as ever": "as before",
    r"as good as": "almost",
    r"at hand": "available",
    r"but for": "except for",
    r"by and by": "gradually",
    r"came of|comes of": "the result of",
    r"for want of": "because there is no, without",
    r"for whose sake": "for",
    r"from now on": "after this call",
    r"gives? back": "return",
    r"gives? how many": "return the number of",
    r"go through|goes through|gone through": "read, iterate over",
    r"has met|have met": "has seen, contains",
    r"hears? of": "receives, is notified of",
    r"if it is that": "if it is one",
    r"in vain": "unnecessarily, without result",
    r"is asked|are asked": "is called with, is queried",
    r"keeps? to|kept to": "satisfies, respects",
    r"lest": "so that … not",
    r"lets? in": "admits, accepts",
    r"let go": "release, close",
    r"nobody": "no one, no subscription, no process",
    r"none of it": "nothing of that, no part",
    r"nothing but": "only",
    r"of one's own|one's own": "own",
    r"of ours|of theirs": "name the owner",
    r"once more": "again",
    r"put right|puts right": "repair, correct",
    r"save for": "except for",
    r"so many": "the given number of, n",
    r"so much": "the given amount of",
    r"somebody": "someone, another process",
    r"tells?|told": "say, report, return; distinguish",
    r"the other way round": "in the opposite direction, conversely",
    r"the same of": "name it: the pairs of …",
    r"that there (?:are|is)": "every, all existing",
    r"to no avail": "without result",
    r"what (?:is|was) (?:asked|found|given|wanted)": "the query, the result, the argument",
    r"what is left": "the remainder, the remaining rows",
    r"what there is": "everything, the existing rows",
    r"whatever": "any, every",
    r"wherever": "in every place in which",
    r"who (?:are|did|has|have|is|needs|wants?)": "name the subject",
    r"whoever": "the caller, the user, the process that",
    r"whom": "name the person or thing",
}
"""Regular expressions of idioms, each with a replacement."""

# An idiom may be broken across two lines.
_IDIOM = re.compile(
    "|".join(rf"(?P<i{n}>\b(?:{idiom})\b)" for n, idiom in enumerate(IDIOMS)).replace(" ", r"\s+"),
    re.IGNORECASE,
)
_INSTEAD = list(IDIOMS.values())
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_CODE_SPAN = re.compile(r"`[^`]*`")


@dataclass(frozen=True, slots=True)
class Idiom:
    """An idiom in a file, with its replacement."""

    path: Path
    line: int
    text: str
    instead: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text!r}: {self.instead}"


def iter_files(root: Path = ROOT) -> Iterator[Path]:
    """Yield the sources and pages whose language is checked."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".py", ".md") and path not in WORD_LISTS:
                yield path
    yield from (root / page for page in PAGES)


def find_idioms(path: Path) -> Iterator[Idiom]:
    """Yield the idioms in the docstrings, comments and texts of a source, or in a page."""
    text = path.read_text(encoding="utf-8")
    parts = _iter_source_texts(text) if path.suffix == ".py" else iter_page_texts(text)
    for first_line, part in parts:
        plain = _CODE_SPAN.sub(lambda span: re.sub(r"[^\n]", "`", span[0]), part)
        for match in _IDIOM.finditer(plain):
            line = first_line + plain[: match.start()].count("\n")
            group = int((match.lastgroup or "i0")[1:])
            yield Idiom(path, line, match[0], _INSTEAD[group])


def _iter_source_texts(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT):
            yield token.start[0], token.string


def iter_page_texts(page: str) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs of a page without fenced blocks, each with its first line number."""
    prose: list[str] = []
    first, fenced = 1, False
    for number, line in enumerate(page.splitlines(), start=1):
        if _FENCE.match(line):
            fenced = not fenced
            line = ""
        if not fenced and line.strip():
            first = first if prose else number
            prose.append(line)
        elif prose:
            yield first, "\n".join(prose)
            prose = []
    if prose:
        yield first, "\n".join(prose)


def main(arguments: Iterable[str] | None = None) -> int:
    """Print the idioms of the given files, or of all files; return 1 if there are any."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("paths", nargs="*", type=Path, help="files to search (default: all)")
    options = parser.parse_args(None if arguments is None else list(arguments))
    count = 0
    for path in options.paths or iter_files():
        for idiom in find_idioms(path):
            print(idiom)
            count += 1
    print(f"{count} idioms")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
