"""Splitting of templates at AND, so that a conjunct of several templates is parsed only once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from covey.language.values.literals import SLOT_MARK

__all__ = ["fill_template", "split_conjuncts"]

_AND = re.compile(r"(?<!\s)\s++and\s+", re.IGNORECASE)
_BETWEEN = re.compile(r"\bbetween\b", re.IGNORECASE)
_BINDS_LOOSER = re.compile(r"\bor\b|\bcase\b|->|[`'\"]", re.IGNORECASE)  # or an unclosed quote


def split_conjuncts(template: str) -> list[str]:
    """Return the conjuncts of a template that joins them by AND.

    A template that contains OR, CASE, a lambda function or a quote is returned whole, as the only
    conjunct, because an AND in it need not separate conjuncts.

    >>> split_conjuncts("a = \\0 AND b BETWEEN \\0 AND \\0 AND f(c, \\0)")
    ['a = \\x00', 'b BETWEEN \\x00 AND \\x00', 'f(c, \\x00)']
    """
    pieces = _AND.split(template)
    if len(pieces) == 1 or _BINDS_LOOSER.search(template):
        return [template]
    return list(_rejoin_pieces(pieces))


def _rejoin_pieces(pieces: Sequence[str]) -> Iterator[str]:
    """Yield the conjuncts of a template that was split into `pieces` at every AND.

    Pieces are joined again if the AND between them is in parentheses or belongs to a BETWEEN.
    """
    conjunct = ""
    for piece in pieces:
        conjunct = f"{conjunct} AND {piece}" if conjunct else piece
        betweens = len(_BETWEEN.findall(conjunct))
        ands = len(_AND.findall(conjunct))
        if conjunct.count("(") == conjunct.count(")") and ands >= betweens:
            yield conjunct
            conjunct = ""
    if conjunct:
        yield conjunct


def fill_template(template: str, raws: Sequence[str]) -> str:
    """Return the text of a template in which the literals `raws`, as written, are filled in."""
    parts = template.split(SLOT_MARK)
    return "".join(part + raw for part, raw in zip(parts, [*raws, ""], strict=True))
