"""A wrong predicate as people read it: what is wrong, and a mark under the place."""

from __future__ import annotations

from covey.errors import PredicateError

__all__ = ["mistake", "plain"]


def mistake(
    id_: object, text: str | None, problem: str, line: int | None, column: int | None
) -> str:
    """What is said of one subscription, from what is known of it in a DataFrame.

    >>> print(mistake(7, "prise > 5", "no column 'prise'", 1, 1))
    7: line 1, column 1: no column 'prise'
      prise > 5
      ^
    """
    name = "null" if id_ is None else plain(id_)
    if text is None or line is None or column is None:
        return f"{name}: {problem}" + ("" if text is None else f"\n  {text}")
    return f"{name}: {PredicateError.at(problem, text, line, column)}"


def plain(id_: object) -> int | str | None:
    """An id as people and JSON have it: a number or a text, bytes by their digits.

    >>> plain(7), plain(bytearray(b"\\x01\\xff"))
    (7, '01ff')
    """
    if isinstance(id_, bytes | bytearray):
        return id_.hex()
    return id_ if id_ is None or isinstance(id_, int) else str(id_)
