"""Templates taken apart at their ANDs, as text, so that each conjunct is parsed only once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from covey.language.values.literals import SLOT_MARK

__all__ = ["fill_template", "split_conjuncts"]

_AND = re.compile(r"(?<!\s)\s++and\s+", re.IGNORECASE)
_BETWEEN = re.compile(r"\bbetween\b", re.IGNORECASE)
_BINDS_LOOSER = re.compile(r"\bor\b|\bcase\b|->|[`'\"]", re.IGNORECASE)  # or is not closed


def split_conjuncts(template: str) -> list[str]:
    """The parts of a chain of ANDs; the template itself where there is nothing to take apart.

    >>> split_conjuncts("a = \\0 AND b BETWEEN \\0 AND \\0 AND f(c, \\0)")
    ['a = \\x00', 'b BETWEEN \\x00 AND \\x00', 'f(c, \\x00)']
    """
    pieces = _AND.split(template)
    if len(pieces) == 1 or _BINDS_LOOSER.search(template):
        return [template]
    return list(_rejoin_pieces(pieces))


def _rejoin_pieces(pieces: Sequence[str]) -> Iterator[str]:
    """Pieces put together again where the AND stood in parentheses or belonged to a BETWEEN."""
    whole = ""
    for piece in pieces:
        whole = f"{whole} AND {piece}" if whole else piece
        betweens = len(_BETWEEN.findall(whole))
        ands = len(_AND.findall(whole))
        if whole.count("(") == whole.count(")") and ands >= betweens:
            yield whole
            whole = ""
    if whole:
        yield whole


def fill_template(template: str, raws: Sequence[str]) -> str:
    """A text again, from a template and literals."""
    parts = template.split(SLOT_MARK)
    return "".join(part + raw for part, raw in zip(parts, [*raws, ""], strict=True))
