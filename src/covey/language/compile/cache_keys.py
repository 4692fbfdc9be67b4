"""What of a literal shapes a plan, so that predicates that agree in it share the plan."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from covey.language.values import literals
from covey.language.values.literals import LiteralError

__all__ = [
    "CacheKey",
    "list_key",
    "literal_key",
    "pattern_key",
    "pattern_kind",
    "plain_text_key",
    "types_key",
    "vector_length_key",
]

CacheKey = Callable[[str], object]
"""From a literal as written to what counts of it."""


def literal_key(raw: str) -> object:
    """All of it."""
    return raw


def pattern_kind(text: str) -> str:
    """What a LIKE pattern is: a text, a prefix, or anything else."""
    body = text.removesuffix("%")
    if any(special in body for special in "%_\\"):
        return "other"
    return "prefix" if body != text else "exact"


def pattern_key(raw: str) -> object:
    """What a LIKE pattern is; all of it where Spark must match it."""
    shape = pattern_kind(literals.unquote(raw))
    return raw if shape == "other" else shape


def plain_text_key(raw: str) -> object:
    """Nothing, of a text without special characters."""
    return raw if "\\" in raw or "%" in raw else ""


@lru_cache(maxsize=1 << 12)
def types_key(raw: str) -> object:
    """The types of a literal, or of all values of a list in their order."""
    try:
        types = literals.list_element_types(raw)
        shown = {type_: str(type_) for type_ in set(types)}
        return tuple(map(shown.__getitem__, types))
    except LiteralError:
        return raw


@lru_cache(maxsize=1 << 12)
def list_key(raw: str) -> object:
    """The kind of a list's values where they are short and of one kind, else all of their types."""
    values = literals.split_list(raw)
    kinds = {literals.literal_kind(one.lstrip("+- ")) for one in values}
    if len(kinds) == 1 and max(map(len, values)) <= 18:
        return kinds.pop(), len(values) == 1
    return types_key(raw)


def vector_length_key(raw: str) -> object:
    """How many numbers a vector has."""
    return raw.count(",")
