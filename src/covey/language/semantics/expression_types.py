"""Types of expressions as Spark's analyzer reports them, and which expressions are attributes.

The parser knows the types of columns, literals, operators and some functions. For all other
expressions it needs a Spark session, which reports the type of each expression, or why Spark
refuses it. A worker has no session: it looks up what the driver already knows, and returns the
expressions that the driver does not know. After the driver has queried Spark for them, the
predicates that need them are parsed again.

Expressions that differ only in literals share a template, and Spark is queried once for all of
them, unless a literal changes the type or must be constant. An expression that many subscriptions
share becomes a derived attribute, which Spark computes for every event. A condition on any other
expression is a late condition, which Spark evaluates only for candidates.

Without a Spark session, of all functions only those in
`covey.language.semantics.function_types` have a known type, and every expression becomes a derived
attribute.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from covey.language.late_conditions import MARKER
from covey.language.semantics.row_functions import CODE_DEPENDENT_FUNCTIONS
from covey.language.values.literals import blank_literals, extract_literals
from covey.space import Attribute
from covey.space.types import Type

__all__ = [
    "ExpressionTypes",
    "KnownTypes",
    "LateOperand",
    "MissingExpression",
    "NotAnalysedError",
    "Refusal",
    "StaticOperand",
    "TemplateFacts",
    "TypeAnalyzer",
    "facts_of_attributes",
    "find_letter",
    "must_be_attribute",
    "split_expression",
]

Literals = tuple[str, ...]
"""The literals of an expression as written."""
_FIXED = "x"
_DOUBLE = re.compile(r"[0-9.]+(?:[dD]|[eE][+-]?[0-9]+[dD]?)")
_PREFIX = re.compile(r"(?<!\w)[rRxX]$")  # of r'\d' and X'1F'
_INT_RANGE, _BIGINT_RANGE = 1 << 31, 1 << 63


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why Spark refuses an expression."""

    reason: str


def split_expression(text: str) -> tuple[str, Literals]:
    r"""Return the template of an expression, and its literals.

    In the template, NUL and a letter stand in place of each literal: `s` for a string, `i` for an
    INT, `l` for a BIGINT, `m` for a decimal, `d` for a double, and `x` for any other literal, which
    is always part of the template.

    >>> split_expression("levenshtein(name, 'Ana') < 3")
    ('levenshtein(name, \x00s) < \x00i', ("'Ana'", '3'))
    """
    template, raws = extract_literals(text)
    pieces = template.split("\0")
    if len(pieces) != len(raws) + 1:
        return text, ()
    letters = map(find_letter, raws, pieces)
    marked = [piece + "\0" + letter for piece, letter in zip(pieces, letters, strict=False)]
    return "".join([*marked, pieces[-1]]), tuple(raws)


def find_letter(raw: str, before: str = "") -> str:
    """Return the letter of a literal as written, as in `split_expression`.

    `before` is the text before it.
    """
    if raw[0] in "'\"":
        return _FIXED if _PREFIX.search(before) else "s"
    if raw.isdigit():
        value = int(raw) if len(raw) < 20 else _BIGINT_RANGE
        return "i" if value < _INT_RANGE else "l" if value < _BIGINT_RANGE else _FIXED
    if raw.replace(".", "", 1).isdigit():
        return "m"
    return "d" if _DOUBLE.fullmatch(raw) else _FIXED


def must_be_attribute(text: str) -> bool:
    """Return whether conditions on an expression, given by its canonical text, cannot be late.

    >>> must_be_attribute("levenshtein(a, b, n)"), must_be_attribute("levenshtein(a, lower(b))")
    (True, False)
    >>> must_be_attribute("trunc(day, unit)"), must_be_attribute("trunc(day, 'YEAR')")
    (True, False)
    """
    blanked = blank_literals(text)
    return any(_is_code_dependent(blanked, call) for call in _CALL.finditer(blanked))


def _is_code_dependent(blanked: str, call: re.Match[str]) -> bool:
    """Return whether a call of one of `CODE_DEPENDENT_FUNCTIONS` depends on generated code.

    Args:
        blanked: an expression with blanks in place of literals.
        call: the name of the function and the parenthesis after it.
    """
    depth, arguments = 1, [""]
    for character in blanked[call.end() :]:
        depth += (character == "(") - (character == ")")
        if depth == 0:
            break
        if depth == 1 and character == ",":
            arguments.append("")
        else:
            arguments[-1] += character
    is_literal = not arguments[-1].strip() and not call[1].startswith("try_make")
    return not is_literal and (call[1] != "levenshtein" or len(arguments) > 2)


_CALL = re.compile(rf"\b({'|'.join(sorted(CODE_DEPENDENT_FUNCTIONS))})\(")


@dataclass(frozen=True, slots=True)
class TemplateFacts:
    """What is known about the expressions with one template.

    Args:
        fixed: the positions of the literals that Spark must know when it analyses the expression,
            because its type depends on them or because they must be constant.
        results: the type of an expression or the reason why Spark refuses it, by the literals at
            these positions.
        attributes: the literals of the expressions that are derived attributes; all conditions on
            other expressions are late.
    """

    fixed: tuple[int, ...] = ()
    results: Mapping[Literals, Type | Refusal] = field(default_factory=dict)
    attributes: frozenset[Literals] = frozenset()

    def find_result(self, literals: Literals) -> Type | Refusal | None:
        """Return the type of the expression with these literals, its refusal, or None."""
        return self.results.get(tuple(literals[i] for i in self.fixed))


class LateOperand:
    """What holds for an expression that is known not to be an attribute; its type is not needed."""


class StaticOperand:
    """What holds for an expression whose type must be known without Spark."""


class ExpressionTypes(Protocol):
    """Lookup of the types of expressions."""

    def find(self, template: str) -> TemplateFacts | None:
        """Return what is known about the expressions with a template, or None."""
        ...

    @property
    def otherwise(self) -> Refusal | LateOperand | StaticOperand | None:
        """What holds for expressions of unknown type; None if Spark must be queried for them."""
        ...


@runtime_checkable
class TypeAnalyzer(ExpressionTypes, Protocol):
    """Lookup of the types of expressions that can query Spark for missing ones."""

    def ask(self, expressions: Mapping[str, int]) -> None:
        """Query Spark for the types of expressions, so that `find` knows each afterwards.

        Args:
            expressions: by the text of each expression, the number of predicates that compare it.
        """
        ...


@dataclass(frozen=True, slots=True)
class KnownTypes:
    """Lookup of the types of expressions in a fixed mapping.

    Args:
        facts: what is known, by template.
        otherwise: what holds for expressions of unknown type; None if Spark must be queried for
            them.
    """

    facts: Mapping[str, TemplateFacts]
    otherwise: Refusal | LateOperand | StaticOperand | None = None

    @classmethod
    def from_attributes(cls, attributes: Iterable[Attribute]) -> KnownTypes:
        """Return a lookup for predicates that Spark has analysed before.

        Args:
            attributes: the derived attributes of the predicates, and the templates of their late
                conditions.
        """
        return cls(facts_of_attributes(attributes), LateOperand())

    def find(self, template: str) -> TemplateFacts | None:
        """Return what is known about the expressions with a template, or None."""
        return self.facts.get(template)


def facts_of_attributes(attributes: Iterable[Attribute]) -> dict[str, TemplateFacts]:
    """Return what derived attributes and templates say about expressions; flags are left out.

    All literals of a derived attribute count as fixed, because it is not known which of them may
    differ.
    """
    facts: dict[str, TemplateFacts] = {}
    for attribute in attributes:
        if attribute.is_flag:
            continue
        for samples in _SAMPLES if attribute.is_late else _SAMPLES[:1]:
            template, raws = split_expression(_fill_markers(attribute.name, samples))
            fixed = tuple(i for i, raw in enumerate(raws) if raw not in samples.values())
            known = facts.get(template, TemplateFacts(fixed))
            if known.fixed == fixed:
                results = {**known.results, tuple(raws[i] for i in fixed): attribute.type}
                chosen = known.attributes if attribute.is_late else known.attributes | {raws}
                facts[template] = TemplateFacts(fixed, results, chosen)
    return facts


def _fill_markers(template: str, literals: Mapping[str, str]) -> str:
    """Return a template with a literal in place of each marker; `literals` has one by letter."""
    return MARKER.sub(lambda marker: literals[marker[1]], template)


_SAMPLES = [
    {"s": "'\ue000\ue001'", "i": "1357908642", "l": "135790864213579", "d": number}
    for number in ("1357.908642D", "1357.908642")
]
"""Literals in place of parameters, by letter: a DOUBLE may be written as a double or a decimal."""


@dataclass(frozen=True, slots=True)
class MissingExpression:
    """Expression whose type is missing, with references to the literals of a predicate.

    The expression is `pieces[0]`, the literal of slot `slots[0]`, `pieces[1]`, and so on.
    """

    pieces: tuple[str, ...]
    slots: tuple[int, ...]

    def fill(self, literals: Sequence[str]) -> str:
        """Return the expression with the literals of its slots, in the order of `slots`."""
        return "".join(map("".join, zip(self.pieces, [*literals, ""], strict=True)))


class NotAnalysedError(Exception):
    """Raised with the expressions whose types are missing.

    The compiler catches the error and reports the expressions in `missing_types`.
    """

    def __init__(self, expressions: Sequence[MissingExpression]) -> None:
        super().__init__(", ".join("…".join(each.pieces) for each in expressions))
        self.expressions = tuple(expressions)
