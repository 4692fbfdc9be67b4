"""Cache keys of literals: the properties that affect how a template is compiled.

Predicates with the same template and equal cache keys share the compiled template.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from covey.language.semantics.expression_types import find_letter, split_short_list
from covey.language.values import literals
from covey.language.values.literals import LiteralError

__all__ = [
    "CacheKey",
    "chosen_key",
    "combine_keys",
    "list_key",
    "literal_key",
    "pattern_key",
    "pattern_kind",
    "plain_text_key",
    "types_key",
    "vector_length_key",
]

CacheKey = Callable[[str], object]
"""Function from a literal as written to its cache key."""


def literal_key(raw: str) -> object:
    """Return the literal itself, for a literal that is part of the compiled template."""
    return raw


def chosen_key(chosen: frozenset[str], raw: str) -> object:
    """Return the literal if it is one of the chosen ones, and otherwise the letter of its type.

    For a short list, return the keys of its values.
    """
    values = split_short_list(raw)
    if values is not None:
        return tuple(chosen_key(chosen, value) for value in values)
    return raw if raw in chosen else (find_letter(raw),)


def combine_keys(keys: tuple[CacheKey, ...], raw: str) -> object:
    """Return several keys of a literal as one."""
    return tuple(key(raw) for key in keys)


def pattern_kind(text: str) -> str:
    """Return the kind of a LIKE pattern: `exact`, `prefix` (a text before one %) or `other`.

    An `exact` pattern matches only itself.
    """
    body = text.removesuffix("%")
    if any(special in body for special in "%_\\"):
        return "other"
    return "prefix" if body != text else "exact"


def pattern_key(raw: str) -> object:
    """Return the kind of a LIKE pattern; if the kind is `other`, return the pattern itself."""
    kind = pattern_kind(literals.unquote(raw))
    return raw if kind == "other" else kind


def plain_text_key(raw: str) -> object:
    """Return one key for all texts without % and backslash; any other text is its own key."""
    return raw if "\\" in raw or "%" in raw else ""


@lru_cache(maxsize=1 << 12)
def types_key(raw: str) -> object:
    """Return the types of a literal or of all values of a list, in their order.

    If a value cannot be decoded, the key is the literal as written.
    """
    try:
        types = literals.list_element_types(raw)
        names = {type_: str(type_) for type_ in set(types)}
        return tuple(map(names.__getitem__, types))
    except LiteralError:
        return raw


@lru_cache(maxsize=1 << 12)
def list_key(raw: str) -> object:
    """Return the kind of a list's values and whether it has only one value.

    If a value has more than 18 characters, or the values differ in kind, return the result of
    `types_key` instead.
    """
    values = literals.split_list(raw)
    kinds = {literals.literal_kind(value.lstrip("+- ")) for value in values}
    if len(kinds) == 1 and max(map(len, values)) <= 18:
        return kinds.pop(), len(values) == 1
    return types_key(raw)


def vector_length_key(raw: str) -> object:
    """Return a key that is equal for vectors of equal length."""
    return raw.count(",")
