"""Limits of predicates: how large a text may be, and what it may ask Spark to compute.

Spark cannot interrupt an expression, and a predicate is computed for everybody's events. So
whatever could take all memory or all time of a worker is refused when the predicate is read.
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
    """What predicates may be, whoever wrote them.

    Args:
        max_characters: characters of a text, literals included.
        max_template: characters of a text without its literals.
        max_depth: parentheses and brackets inside each other, and operators inside each other in
            what a condition compares: in `a + b + c > 0` there are two.
        max_growth: how many times as long as its arguments the result of an expression may be,
            and the largest number that says how long a text or an array becomes, as in
            `repeat(x, 100)`.
        any_regex: admit patterns that can take very long or a stack of any depth: repetitions
            inside or after each other that can match the same text, groups that are repeated
            without end, too many choices or parts, references to groups, and patterns that are no
            literals. Such a pattern may end Spark: its stack is as deep as a text is long.
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
    functions: tuple[str, ...] = ()

    @classmethod
    @check_arguments(raises=SchemaError)
    def from_dict(cls, fields: Mapping[str, object]) -> PredicateLimits:
        """Return the limits of fields by name, as JSON has them.

        >>> PredicateLimits.from_dict({"depth": 5})
        Traceback (most recent call last):
        covey.errors.SchemaError: no limit is called 'depth': they are max_characters, \
max_template, max_depth, max_growth, any_regex, functions
        """
        names = [field.name for field in dataclass_fields(cls)]
        for name in fields:
            if name not in names:
                raise SchemaError(f"no limit is called {name!r}: they are {', '.join(names)}")
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
                f"functions must be names in lower case, as ('risk_of',), got {self.functions!r}"
            )
