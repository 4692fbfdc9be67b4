"""Types of expressions as Spark's analyzer reports them.

The parser knows the types of columns, literals, operators and some functions. For all other
expressions it needs a Spark session, which reports the type of each derived attribute, or why Spark
refuses the expression. A worker has no session: it looks up the types that the driver already
knows, and returns the expressions whose types are missing. After the driver has queried Spark for
these types, the predicates that need them are parsed again.

Without a Spark session, of all functions only those in
`covey.language.semantics.function_types` have a known type.
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
        """Return the type of an expression, why Spark refuses it, or None if neither is known."""
        ...


@runtime_checkable
class TypeAnalyzer(ExpressionTypes, Protocol):
    """Lookup of the types of expressions that can query Spark for missing ones."""

    def ask(self, expressions: Sequence[str]) -> None:
        """Query Spark for the types of expressions, so that `find` knows each afterwards."""
        ...


@dataclass(frozen=True, slots=True)
class KnownTypes:
    """Lookup of the types of expressions in a fixed mapping.

    Args:
        types: by the text of an expression, its type or the reason why Spark refuses it.
        otherwise: the result for all other expressions; None means that their types are unknown.
    """

    types: Mapping[str, Type | Refusal]
    otherwise: Refusal | None = None

    @classmethod
    def from_attributes(cls, attributes: Iterable[Attribute]) -> KnownTypes:
        """Return a lookup of the types of attributes by their names; flags are left out."""
        return cls({a.name: a.type for a in attributes if not a.is_flag})

    def find(self, expression: str) -> Type | Refusal | None:
        """Return the type of an expression, why Spark refuses it, or None if neither is known."""
        return self.types.get(expression, self.otherwise)


class NotAnalysedError(Exception):
    """Raised with the expressions whose types are missing.

    The compiler catches the error and reports the expressions in `missing_types`.
    """

    def __init__(self, expressions: Sequence[str]) -> None:
        super().__init__(", ".join(expressions))
        self.expressions = tuple(expressions)
