"""Arguments that are programs of their own, or that say how long a result becomes.

Spark compiles patterns, formats, schemas and paths, and runs many of them recursively: one that is
too deep is an error of the stack, which ends Spark and is caught by nothing. An argument that is no
literal could be anything, since whoever sends an event says what it is. Which arguments these are
is in `row_functions.CHECKED_ARGUMENTS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from sqlglot import exp

from covey.language.semantics import regex_risk
from covey.language.semantics.name_resolver import NameResolver
from covey.language.semantics.row_functions import CHECKED_ARGUMENTS, ArgumentKind
from covey.language.syntax.ast_utils import call_name, unwrap_parentheses
from covey.language.values import literals
from covey.language.values.literals import LiteralError
from covey.space.types import SMALLINT, TINYINT

__all__ = ["Argument", "check_arguments", "check_pattern_operator", "read_arguments"]

_MAX_LENGTHS = {
    ArgumentKind.TIME_FORMAT: 200,
    ArgumentKind.NUMBER_FORMAT: 200,
    ArgumentKind.SCHEMA: 4_000,
    ArgumentKind.SAMPLE: 4_000,
    ArgumentKind.PATH: 1_000,
    ArgumentKind.LOCALE: 20,
}
"""Characters of literals."""

_MAX_NESTING = 16  # Spark takes a minute to read a schema of 60
_MAX_STEPS = 60  # of a path
_MAX_ELEMENTS = 100  # of a sample of XML, any of which may be inside the one before
_SAMPLE_FUNCTIONS = frozenset({"schema_of_csv", "schema_of_json", "schema_of_xml"})


class Argument(NamedTuple):
    """An argument: its node, and its value if it is a literal."""

    node: exp.Expr
    value: object


def check_arguments(names: NameResolver, node: exp.Anonymous) -> None:
    """Raise PredicateError where an argument could take all of a worker, or end it."""
    checked = CHECKED_ARGUMENTS.get(call_name(node), {})
    arguments = read_arguments(names, node) if checked else []
    for place, kind in checked.items():
        if place >= len(arguments):
            continue
        argument = arguments[place]
        if kind is ArgumentKind.PATTERN:
            _check_pattern(names, argument)
        elif kind is ArgumentKind.URL_KEY:
            _check_url_key(names, argument)
        elif kind is ArgumentKind.SIZE:
            _check_size(names, node, argument.value)
        elif kind is ArgumentKind.POSITION:
            _check_position(names, node, argument)
        elif kind is ArgumentKind.TEXT_FORMAT:
            _check_text_format(names, node, argument)
        else:
            _check_short_literal(names, node, argument, kind)


def check_pattern_operator(names: NameResolver, node: exp.Expr) -> None:
    """Raise PredicateError where RLIKE or LIKE could take very long."""
    pattern = unwrap_parentheses(node.expression)
    if isinstance(node, exp.RegexpLike):
        _check_pattern(names, _read_argument(names, pattern))
    else:
        argument = _read_like_pattern(names, pattern)
        if isinstance(argument.value, str):
            _refuse_risk(names, argument, regex_risk.find_like_risk)
        else:
            _check_pattern(names, argument)


def read_arguments(names: NameResolver, node: exp.Expr) -> list[Argument]:
    """Return the arguments of a call; literals in a row are one node of the tree.

    Whoever looks at the value of a literal makes it part of the plan: predicates that differ in it
    are planned one by one.
    """
    found: list[Argument] = []
    for argument in map(unwrap_parentheses, node.expressions):
        if names.is_literal_list(argument):
            raws = literals.split_list(names.fix_literal(argument))
            found += [Argument(argument, _read_value(raw)) for raw in raws]
        else:
            found.append(_read_argument(names, argument))
    return found


def _check_pattern(names: NameResolver, argument: Argument) -> None:
    """Raise PredicateError unless an argument is a pattern that is decided in bounded time."""
    if not names.space.limits.any_regex and not isinstance(argument.value, str):
        raise names.tree.error(
            "a pattern that is no literal may take very long", argument.node,
            "write the pattern itself, or allow any_regex",
        )  # fmt: skip
    _refuse_risk(names, argument, regex_risk.find_regex_risk)


def _check_url_key(names: NameResolver, argument: Argument) -> None:
    """Raise PredicateError unless the pattern that Spark makes of a key is decided in time."""
    key = argument.value
    pattern = f"(&|^){key}=([^&]*)" if isinstance(key, str) else None
    _check_pattern(names, Argument(argument.node, pattern))


def _refuse_risk(
    names: NameResolver, argument: Argument, find_risk: Callable[[str], str | None]
) -> None:
    limits, pattern = names.space.limits, argument.value
    if limits.any_regex or not isinstance(pattern, str):
        return
    is_long = len(pattern) > limits.max_template
    problem = "it is very long" if is_long else find_risk(pattern)
    if problem is not None:
        raise names.tree.error(
            f"this pattern may take very long: {problem}", argument.node,
            "simplify it, or allow any_regex",
        )  # fmt: skip


def _check_size(names: NameResolver, node: exp.Anonymous, size: object) -> None:
    """Raise PredicateError where a result could be as long as a number says that is no literal."""
    if not isinstance(size, int | Decimal):
        raise names.tree.error(
            f"how long the result of {call_name(node)} is must be a literal number", node,
            "write the number",
        )  # fmt: skip
    most = names.space.limits.max_growth
    if not -most <= size <= most:
        raise names.tree.error(
            f"the result of {call_name(node)} may have {most:,} elements at most", node,
            "write a smaller number",
        )  # fmt: skip


def _check_position(names: NameResolver, node: exp.Anonymous, position: Argument) -> None:
    """Raise PredicateError where a position may be the smallest int, which ends Spark's process."""
    if isinstance(position.node, exp.Column | exp.Dot):
        is_safe = names.resolve_path(position.node)[0] in (TINYINT, SMALLINT)
    else:
        is_safe = isinstance(position.node, exp.Null) or not _may_be_smallest(position.value)
    if not is_safe:
        raise names.tree.error(
            f"the position in {call_name(node)} must be a literal", position.node,
            "write the number, or get(array, position - 1), or map[key]",
        )  # fmt: skip


def _may_be_smallest(value: object) -> bool:
    """Return whether Spark could read a value as the smallest int; None is not known."""
    if value is None:
        return True
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return False  # a key of a map
    # Only compared: as an int, 1e1000000 would have a million digits.
    return -(1 << 31) - 1 < number <= -(1 << 31) if number.is_finite() else False


def _check_text_format(names: NameResolver, node: exp.Anonymous, text_format: Argument) -> None:
    """Raise PredicateError unless a format is a literal, with numbers that are not too large."""
    if not isinstance(text_format.value, str):
        raise names.tree.error(
            f"the format of {call_name(node)} must be a literal", node, "write the format itself"
        )
    for number in re.findall(r"[0-9]+", text_format.value):
        _check_size(names, node, Decimal(number))


def _check_short_literal(
    names: NameResolver, node: exp.Anonymous, argument: Argument, kind: ArgumentKind
) -> None:
    """Raise PredicateError unless an argument is a literal that Spark reads with little stack.

    A schema may also be made of a sample that is such a literal.
    """
    if isinstance(argument.node, exp.Null):
        return
    if kind is ArgumentKind.SCHEMA and _is_sample(argument.node):
        return  # which is checked by itself
    what = f"the {kind.value} of {call_name(node)}"
    if not isinstance(argument.value, str):
        raise names.tree.error(
            f"{what} must be a literal", argument.node, f"write the {kind.value} itself"
        )
    problem = _find_excess(argument.value, kind, call_name(node))
    if problem is not None:
        raise names.tree.error(f"{what} {problem}", argument.node, "write a simpler one")


def _is_sample(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and call_name(node) in _SAMPLE_FUNCTIONS


def _find_excess(text: str, kind: ArgumentKind, function: str) -> str | None:
    """Return what of a literal is too much, None if nothing is."""
    if len(text) > (most := _MAX_LENGTHS[kind]):
        return f"may have {most:,} characters at most"
    if kind is ArgumentKind.PATH and text.count(".") + text.count("[") > _MAX_STEPS:
        return f"may have {_MAX_STEPS} steps at most"
    if function == "schema_of_xml":
        is_deep = text.count("<") > _MAX_ELEMENTS
        return f"may have {_MAX_ELEMENTS} tags at most" if is_deep else None
    if kind is not ArgumentKind.PATH and _measure_nesting(text) > _MAX_NESTING:
        return f"may have {_MAX_NESTING} brackets inside each other at most"
    return None


def _measure_nesting(text: str) -> int:
    """Return how many brackets are open at once, wherever they stand.

    >>> _measure_nesting("a ARRAY<STRUCT<b: INT>>, c MAP<STRING, INT>")
    2
    """
    depth = most = 0
    for bracket in re.findall(r"[\[({<\])}>]", text):
        depth += 1 if bracket in "[({<" else -1 if depth else 0
        most = max(most, depth)
    return most


def _read_like_pattern(names: NameResolver, node: exp.Expr) -> Argument:
    """Return a pattern of LIKE, which does not become part of the plan by that.

    Whatever is no text and no prefix is part of it anyway, and those are not dangerous.
    """
    if isinstance(node, exp.Null):
        return Argument(node, "")
    if not isinstance(node, exp.Literal):
        return _read_argument(names, node)
    return Argument(node, _read_single_value(names.tree.raws[names.tree.slot_of(node)]))


def _read_argument(names: NameResolver, node: exp.Expr) -> Argument:
    """Return an argument that is no list of literals, but perhaps a literal."""
    if isinstance(node, exp.Concat):
        parts = [_read_value(names.fix_literal(one)) for one in node.expressions]
        return Argument(node, "".join(map(str, parts)))
    if isinstance(node, exp.Neg) and (number := names.fix_number(node)) is not None:
        return Argument(node, _read_value(number))
    if isinstance(node, exp.Literal | exp.RawString):
        return Argument(node, _read_single_value(names.fix_literal(node)))
    return Argument(node, None)


def _read_single_value(raw: str) -> object:
    """Return the value of a literal that may be in parentheses."""
    return _read_value(literals.split_list(raw)[0] if raw[0] == "(" else raw)


def _read_value(raw: str) -> object:
    """Return the value of a literal as written, None if it has none."""
    if raw[0] in "rR":
        return raw[2:-1]
    try:
        return literals.decode_literal(raw).value
    except LiteralError:
        return None
