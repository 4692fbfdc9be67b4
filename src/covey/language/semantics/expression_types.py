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
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Protocol, runtime_checkable

from covey.language.late_conditions import MARKER
from covey.language.semantics.row_functions import CODE_DEPENDENT_FUNCTIONS
from covey.language.values.literals import SLOT_MARK, extract_literals, split_list
from covey.language.values.sql_literals import quote_string
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
    "split_short_list",
]

Literals = tuple[str, ...]
"""The literals of an expression as written."""
_FIXED = "x"
_DOUBLE = re.compile(r"[0-9.]+(?:[dD]|[eE][+-]?[0-9]+[dD]?)")
_PREFIX = re.compile(r"(?<!\w)[rRxX]$")  # of r'\d' and X'1F'
_MAX_DECIMAL_DIGITS = 38
_MAX_DOUBLE_CHARACTERS = 400
_INT_RANGE, _BIGINT_RANGE = 1 << 31, 1 << 63
_MAX_LISTED = 32
_MAX_PARAMETER = 250  # characters; every candidate has a copy of its parameters


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why Spark refuses an expression."""

    reason: str


def split_expression(text: str) -> tuple[str, Literals]:
    r"""Return the template of an expression, and its literals.

    In the template, NUL and a letter stand in place of each literal: `s` for a string, `i` for an
    INT, `l` for a BIGINT, `m` for a decimal, `d` for a double, and `x` for any other literal, which
    is always part of the template. Spark refuses some decimals and doubles that are too long or too
    large, so their letter is `x` too. Each value of a short list counts as a
    literal.

    >>> split_expression("levenshtein(name, 'Ana') < 3")
    ('levenshtein(name, \x00s) < \x00i', ("'Ana'", '3'))
    """
    template, raws = extract_literals(text)
    pieces = template.split(SLOT_MARK)
    if len(pieces) != len(raws) + 1:
        return text, ()
    marked, literals = [], []
    for raw, piece in zip(raws, pieces, strict=False):
        values = split_short_list(raw)
        if values is None:
            marked.append(f"{piece}\0{find_letter(raw, piece)}")
            literals.append(raw)
        else:
            marked.append(f"{piece}({', '.join(f'{SLOT_MARK}{find_letter(v)}' for v in values)})")
            literals += values
    return "".join([*marked, pieces[-1]]), tuple(literals)


def split_short_list(raw: str) -> Sequence[str] | None:
    """Return the values of a list of at most 32 literals as written, or None for others."""
    if raw[0] != "(" or raw.count(",") > _MAX_LISTED * 8:
        return None
    values = split_list(raw)
    return values if len(values) <= _MAX_LISTED else None


def find_letter(raw: str, before: str = "") -> str:
    """Return the letter of a literal as written, as in `split_expression`.

    `before` is the text before it.
    """
    if len(raw) > _MAX_PARAMETER:
        return _FIXED
    raw = raw.removeprefix("-")
    if raw[0] in "'\"":
        return _FIXED if _PREFIX.search(before) else "s"
    if raw.isdigit():
        value = int(raw) if len(raw) < 20 else _BIGINT_RANGE
        if value in (_INT_RANGE, _BIGINT_RANGE):
            return _FIXED  # with a minus sign, its type is another one
        return "i" if value < _INT_RANGE else "l" if value < _BIGINT_RANGE else _FIXED
    if raw.replace(".", "", 1).isdigit():
        return "m" if len(raw) <= _MAX_DECIMAL_DIGITS else _FIXED
    if not _DOUBLE.fullmatch(raw) or len(raw) > _MAX_DOUBLE_CHARACTERS:
        return _FIXED
    return "d" if float(raw.rstrip("dD")) < sys.float_info.max else _FIXED


def must_be_attribute(text: str) -> bool:
    """Return whether conditions on an expression, given by its canonical text, cannot be late.

    >>> must_be_attribute("levenshtein(a, b, n)"), must_be_attribute("levenshtein(a, lower(b))")
    (True, False)
    >>> must_be_attribute("trunc(day, unit)"), must_be_attribute("trunc(day, 'YEAR')")
    (True, False)
    """
    template, _ = extract_literals(text)  # without the literals, which can be much longer
    return any(_is_code_dependent(template, call) for call in _CALL.finditer(template))


def _is_code_dependent(template: str, call: re.Match[str]) -> bool:
    """Return whether a call of one of `CODE_DEPENDENT_FUNCTIONS` depends on generated code.

    Args:
        template: an expression with `SLOT_MARK` in place of each literal.
        call: the name of the function and the parenthesis after it.
    """
    depth, commas = 1, 0
    start = stop = call.end()  # of the last argument
    for sign in _ARGUMENT_SIGN.finditer(template, call.end()):
        stop = sign.start()
        depth += {"(": 1, ")": -1, ",": 0}[sign.group()]
        if depth == 0:
            break
        if depth == 1 and sign.group() == ",":
            start, commas = sign.end(), commas + 1
    is_literal = template[start:stop].strip(f" -{SLOT_MARK}") == ""
    is_fixed = is_literal and not call[1].startswith("try_make")
    return not is_fixed and (call[1] != "levenshtein" or commas > 1)


_ARGUMENT_SIGN = re.compile("[(),]")


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
        is_never_late: whether Spark cannot evaluate the expressions for candidates; None if it is
            not known.
    """

    fixed: tuple[int, ...] = ()
    results: Mapping[Literals, Type | Refusal] = field(default_factory=dict)
    attributes: frozenset[Literals] = frozenset()
    is_never_late: bool | None = None

    def with_parameters(self, positions: Collection[int]) -> TemplateFacts:
        """Return the facts with literals at these positions as parameters; they were fixed."""
        kept = [n for n, position in enumerate(self.fixed) if position not in positions]
        results = {tuple(key[n] for n in kept): result for key, result in self.results.items()}
        return replace(self, fixed=tuple(self.fixed[n] for n in kept), results=results)

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
    def from_attributes(cls, attributes: Sequence[Attribute]) -> KnownTypes:
        """Return a lookup for predicates that Spark has analysed before.

        Args:
            attributes: the derived attributes of the predicates, and the templates of their late
                conditions.
        """
        return cls(facts_of_attributes(attributes), LateOperand())

    def find(self, template: str) -> TemplateFacts | None:
        """Return what is known about the expressions with a template, or None."""
        return self.facts.get(template)


def facts_of_attributes(attributes: Sequence[Attribute]) -> dict[str, TemplateFacts]:
    """Return what derived attributes and templates say about expressions; flags are left out.

    All literals of a derived attribute count as fixed, because it is not known which of them may
    differ, unless a template of late conditions says so.
    """
    facts: dict[str, TemplateFacts] = {}
    late = (attribute for attribute in attributes if attribute.is_late)
    for attribute in late:
        samples = _choose_samples(attribute.name)
        pieces, letters = MARKER.split(attribute.name)[::2], MARKER.findall(attribute.name)
        values = [*map(samples.__getitem__, letters), ""]
        template, raws = split_expression("".join(map("".join, zip(pieces, values, strict=True))))
        fixed = tuple(i for i, raw in enumerate(raws) if raw not in samples.values())
        known = facts.get(template, TemplateFacts(fixed, is_never_late=False))
        if len(fixed) < len(known.fixed):
            known = known.with_parameters({*known.fixed} - {*fixed})
        if known.fixed == fixed:
            results = {**known.results, tuple(raws[i] for i in fixed): attribute.type}
            facts[template] = replace(known, results=results)
    for attribute in attributes:
        if attribute.is_late or attribute.is_flag:
            continue
        template, raws = split_expression(attribute.name)
        known = facts.get(template, TemplateFacts(tuple(range(len(raws)))))
        results = {**known.results, tuple(raws[i] for i in known.fixed): attribute.type}
        facts[template] = replace(known, results=results, attributes=known.attributes | {raws})
    return facts


def _choose_samples(text: str) -> dict[str, str]:
    """Return by letter a literal that does not occur in a text."""
    for number in count():
        digits = f"13579{number:05}"
        if digits not in text:
            break
    return {
        "s": f"'{digits}'", "i": digits, "l": f"{digits}13579", "d": f"{digits}.25D",
        "m": f"{digits}.25",
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class MissingExpression:
    """Expression whose type is missing, with references to the literals of a predicate.

    The expression is `pieces[0]`, the literal of slot `slots[0]`, `pieces[1]`, and so on. The
    literals of `raw_slots` are raw strings without their prefix.
    """

    pieces: tuple[str, ...]
    slots: tuple[int, ...]
    raw_slots: frozenset[int] = frozenset()

    def fill(self, literals: Sequence[str]) -> str:
        """Return the expression with the literals of its slots, in the order of `slots`."""
        values = [
            quote_string(raw[1:-1]) if slot in self.raw_slots else raw
            for slot, raw in zip(self.slots, literals, strict=True)
        ]
        return "".join(map("".join, zip(self.pieces, [*values, ""], strict=True)))


class NotAnalysedError(Exception):
    """Raised with the expressions whose types are missing.

    The compiler catches the error and reports the expressions in `missing_types`.
    """

    def __init__(self, expressions: Sequence[MissingExpression]) -> None:
        super().__init__(", ".join("…".join(each.pieces) for each in expressions))
        self.expressions = tuple(expressions)
