"""Types of expressions as Spark's analyzer tells them.

The parser knows the types of columns, of literals and of some functions. Of everything else it asks
whoever has a Spark session: for each derived attribute the type, or why Spark refuses it. A worker
has no session; it looks up what was asked before, and names the expressions that nobody has asked
about yet. Their predicates are parsed again when the answers are there.

Without anybody to ask, `covey.language.semantics.function_types` says what it knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from covey.space import Attribute
from covey.space.types import Type

__all__ = ["ExpressionTypes", "KnownTypes", "NotAnalysedError", "Refusal", "TypeAnalyzer"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an expression cannot be computed."""

    reason: str


class ExpressionTypes(Protocol):
    """Knows the types of expressions."""

    def find(self, expression: str) -> Type | Refusal | None:
        """Return the type of an expression, why it is refused, or None if that is not known."""
        ...


@runtime_checkable
class TypeAnalyzer(ExpressionTypes, Protocol):
    """Knows the types of expressions, and can find out those of others."""

    def ask(self, expressions: Sequence[str]) -> None:
        """Find out about expressions, so that `find` knows each of them."""
        ...


@dataclass(frozen=True, slots=True)
class KnownTypes:
    """What is known of expressions already, by their text, and what of all others."""

    types: Mapping[str, Type | Refusal]
    otherwise: Refusal | None = None

    @classmethod
    def from_attributes(cls, attributes: Iterable[Attribute]) -> KnownTypes:
        """Return what is known where these attributes are compared already."""
        return cls({one.name: one.type for one in attributes if not one.is_flag})

    def find(self, expression: str) -> Type | Refusal | None:
        return self.types.get(expression, self.otherwise)


class NotAnalysedError(Exception):
    """Expressions whose types are not known yet; never seen outside of a parser."""

    def __init__(self, expressions: Sequence[str]) -> None:
        super().__init__(", ".join(expressions))
        self.expressions = tuple(expressions)
