"""Limits of predicates: the size of a predicate's text, and the work that it may cause in Spark.

Spark cannot interrupt the evaluation of an expression, and it computes the expressions in
predicates for every event. A predicate that could use up the memory or the time of a Spark
executor is therefore refused when it is parsed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from typing import Any

from covey._argument_checks import check_arguments, check_fields
from covey.errors import SchemaError

__all__ = ["PredicateLimits"]


@dataclass(frozen=True, slots=True)
class PredicateLimits:
    """Limits that apply to every predicate.

    Args:
        max_characters: largest number of characters of a predicate, literals included.
        max_template: largest number of characters of a predicate without its literals.
        max_depth: largest nesting of parentheses and brackets, and of operators in an operand of
            a comparison: `a + b + c > 0` has two nested operators.
        max_growth: largest factor by which the result of an expression may be longer than its
            arguments. Also the largest number that may set the length of a text or an array, such
            as the 100 in `repeat(x, 100)`.
        any_regex: whether all regular expressions are admitted without a check. The check refuses
            patterns that can take very long or need an unlimited stack: nested or consecutive
            repetitions that can match the same text, groups that are repeated without a limit, too
            many alternatives or elements, references to groups, and patterns that are not
            literals. Such a pattern may crash Spark, because the depth of its stack grows with the
            length of the text.
        any_argument: whether arguments that may use up the memory or the time of Spark need not be
            literals: formats, schemas, paths, and sizes such as the 100 in `repeat(x, 100)`.
        functions: user-defined functions that predicates may call, in lower case. They must be
            deterministic.

    >>> PredicateLimits(max_depth=0)
    Traceback (most recent call last):
    covey.errors.SchemaError: max_depth must be at least 1, got 0
    """

    max_characters: int = 4_000_000
    max_template: int = 4_096
    max_depth: int = 60
    max_growth: int = 10_000
    any_regex: bool = False
    any_argument: bool = False
    functions: tuple[str, ...] = ()

    @classmethod
    @check_arguments(raises=SchemaError)
    def from_dict(cls, fields: Mapping[str, object]) -> PredicateLimits:
        """Return the limits whose values a dictionary contains by field name, as read from JSON.

        Raises:
            SchemaError: a name is unknown, or a value has the wrong type or range.

        >>> PredicateLimits.from_dict({"depth": 5})
        Traceback (most recent call last):
        covey.errors.SchemaError: no limit is called 'depth': use max_characters, \
max_template, max_depth, max_growth, any_regex, any_argument, functions
        """
        names = [field.name for field in dataclass_fields(cls)]
        for name in fields:
            if name not in names:
                raise SchemaError(f"no limit is called {name!r}: use {', '.join(names)}")
        values: Mapping[str, Any] = fields
        functions = values.get("functions", ())
        if isinstance(functions, list):
            functions = tuple(functions)
        return cls(**{**values, "functions": functions})

    def __post_init__(self) -> None:
        check_fields(self, raises=SchemaError)
        for field in dataclass_fields(self):
            value = getattr(self, field.name)
            if field.name.startswith("max_") and value < 1:
                raise SchemaError(f"{field.name} must be at least 1, got {value!r}")
        if any(name != name.lower() for name in self.functions):
            raise SchemaError(
                "functions must be names in lower case, such as ('risk_of',), "
                f"got {self.functions!r}"
            )
