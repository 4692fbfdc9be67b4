"""Late conditions: conditions that Spark evaluates, and only for the candidates of an event.

An index cannot use a condition such as `levenshtein(name, 'Ana') < 3`. If few subscriptions share
the expression, computing it for every event would be wasteful. Such a condition is late: the index
finds the events that satisfy the rest of the predicate, and Spark then evaluates the condition.

A late condition is a template and parameters. In the template, a marker stands in place of each
literal that may differ between subscriptions. Regions store late conditions as required tokens of
the attribute `covey.space.LATE`: a region covers another one only if that one requires at least the
same tokens.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from covey.language.values.literals import extract_literals
from covey.language.values.sql_literals import quote_string

__all__ = ["MARKER", "PARAMETER_TYPES", "LateCondition", "find_names"]

PARAMETER_TYPES = {"s": "STRING", "i": "INT", "l": "BIGINT", "d": "DOUBLE", "m": "DOUBLE"}
"""Spark's types of parameters, by the letter of their markers.

The letter `m` stands for decimals that Spark casts to DOUBLE before it computes with them.
"""

MARKER = re.compile("\0([a-z])")
"""Expression for the marker of a literal; its group is the letter."""


_NAME = re.compile(r"`((?:[^`]|``)+)`|([A-Za-z_]\w*)(?!\w|\()")


def find_names(template: str) -> set[str]:
    r"""Return the names in a template that may be columns, in lower case.

    They include the names of types and variables, but not those of called functions.

    >>> sorted(find_names("levenshtein(name, \0s) < `a b`.c"))
    ['a b', 'c', 'name']
    """
    without_literals, _ = extract_literals(MARKER.sub(" ", template))
    names = _NAME.findall(without_literals)
    return {(quoted.replace("``", "`") or plain).lower() for quoted, plain in names}


@dataclass(frozen=True, slots=True)
class LateCondition:
    r"""Late condition: a template, and the values of its parameters.

    Args:
        template: the condition in Spark SQL. NUL and a letter of `PARAMETER_TYPES` stand in place
            of each parameter.
        parameters: the values, in the order of the markers.

    >>> condition = LateCondition("levenshtein(name, \0s) < \0i", ("Ana", 3))
    >>> condition.sql
    "levenshtein(name, 'Ana') < 3"
    >>> LateCondition.from_token(condition.token) == condition
    True
    """

    template: str
    parameters: tuple[str | int | float, ...] = ()

    @classmethod
    def from_token(cls, token: str) -> LateCondition:
        """Return the condition of a token."""
        template, *parameters = json.loads(token)
        return cls(template, tuple(parameters))

    @property
    def token(self) -> str:
        """The condition as a token of the attribute `LATE`; equal conditions have equal tokens."""
        return json.dumps([self.template, *self.parameters])

    @property
    def parameter_letters(self) -> str:
        """Letter of the type of each parameter, in the order of the markers."""
        return "".join(MARKER.findall(self.template)) if self.parameters else ""

    @property
    def sql(self) -> str:
        """The condition with its parameters as literals."""
        if not self.parameters:
            return self.template
        literals = iter(map(_to_literal, self.parameter_letters, self.parameters))
        return MARKER.sub(lambda _: next(literals), self.template)


def _to_literal(letter: str, value: str | int | float) -> str:
    """Return the SQL literal of a parameter."""
    if letter == "s":
        return quote_string(str(value))
    return {"i": f"{value}", "l": f"{value}L"}.get(letter, f"{value!r}D")
