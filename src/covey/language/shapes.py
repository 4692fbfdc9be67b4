"""What of a literal shapes a plan, so that predicates that agree in it share the plan."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from covey.language import literals
from covey.language.literals import LiteralError

__all__ = [
    "Key",
    "centre_shape",
    "itself",
    "list_shape",
    "pattern",
    "pattern_shape",
    "plain_shape",
    "types_shape",
]

Key = Callable[[str], object]
"""From a literal as written to what counts of it."""


def itself(raw: str) -> object:
    """All of it."""
    return raw


def pattern(text: str) -> str:
    """What a LIKE pattern is: a text, a prefix, or anything else."""
    body = text.removesuffix("%")
    if any(special in body for special in "%_\\"):
        return "other"
    return "prefix" if body != text else "exact"


def pattern_shape(raw: str) -> object:
    """What a LIKE pattern is; all of it where Spark must match it."""
    shape = pattern(literals.unquote(raw))
    return raw if shape == "other" else shape


def plain_shape(raw: str) -> object:
    """Nothing, of a text without special characters."""
    return raw if "\\" in raw or "%" in raw else ""


@lru_cache(maxsize=1 << 12)
def types_shape(raw: str) -> object:
    """The types of a literal, or of all values of a list in their order."""
    try:
        types = literals.element_types(raw)
        shown = {type_: str(type_) for type_ in set(types)}
        return tuple(map(shown.__getitem__, types))
    except LiteralError:
        return raw


@lru_cache(maxsize=1 << 12)
def list_shape(raw: str) -> object:
    """The kind of a list's values where they are short and of one kind, else all of their types."""
    values = literals.elements(raw)
    kinds = {literals.kind(one.lstrip("+- ")) for one in values}
    if len(kinds) == 1 and max(map(len, values)) <= 18:
        return kinds.pop(), len(values) == 1
    return types_shape(raw)


def centre_shape(raw: str) -> object:
    """How many numbers a vector has."""
    return raw.count(",")
