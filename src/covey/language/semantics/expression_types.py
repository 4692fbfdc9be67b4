"""Types of expressions as Spark's analyzer reports them.

The parser knows the types of columns, literals and some functions. For all other expressions it
needs a Spark session, which reports the type of each derived attribute, or why Spark refuses it. A
worker has no session: it looks up the types that the driver has found already, and returns the
expressions whose types are missing. When the driver has found these, their predicates are parsed
again.

Without a Spark session only the functions in `covey.language.semantics.function_types` are known.
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
    """The reason why Spark refuses an expression."""

    reason: str


class ExpressionTypes(Protocol):
    """Lookup of the types of expressions."""

    def find(self, expression: str) -> Type | Refusal | None:
        """Return the type of an expression, the reason of its refusal, or None if it is unknown."""
        ...


@runtime_checkable
class TypeAnalyzer(ExpressionTypes, Protocol):
    """Lookup of the types of expressions that can query Spark for missing ones."""

    def ask(self, expressions: Sequence[str]) -> None:
        """Query Spark for the types of expressions; afterwards `find` knows each of them."""
        ...


@dataclass(frozen=True, slots=True)
class KnownTypes:
    """A fixed table of types.

    Args:
        types: the type, or the reason of its refusal, of each known expression by its text.
        otherwise: the result for all other expressions; None means that their types are unknown.
    """

    types: Mapping[str, Type | Refusal]
    otherwise: Refusal | None = None

    @classmethod
    def from_attributes(cls, attributes: Iterable[Attribute]) -> KnownTypes:
        """Return a table with the types of attributes; flags are left out."""
        return cls({a.name: a.type for a in attributes if not a.is_flag})

    def find(self, expression: str) -> Type | Refusal | None:
        """Return the type of an expression, the reason of its refusal, or None if it is unknown."""
        return self.types.get(expression, self.otherwise)


class NotAnalysedError(Exception):
    """Error that lists expressions whose types are missing; the parser catches it."""

    def __init__(self, expressions: Sequence[str]) -> None:
        super().__init__(", ".join(expressions))
        self.expressions = tuple(expressions)
