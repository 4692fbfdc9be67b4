"""Checks of arguments that are programs themselves, or that set the length of a result.

Spark compiles patterns, formats, schemas and paths, and runs many of them recursively. If such an
argument is nested too deeply, the stack overflows, which ends Spark's process and cannot be caught.
If it is not a literal, the sender of an event chooses its value. Therefore most of these arguments
must be literals. `row_functions.CHECKED_ARGUMENTS` lists the arguments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
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
"""The largest number of characters of a literal, by the kind of argument."""

_MAX_NESTING = 16  # nested brackets; Spark takes a minute to read a schema with 60
_MAX_STEPS = 60  # steps of a path
_MAX_ELEMENTS = 100  # elements of an XML sample; each may be nested in the one before
_SAMPLE_FUNCTIONS = frozenset({"schema_of_csv", "schema_of_json", "schema_of_xml"})


class Argument(NamedTuple):
    """An argument: its node, and its value, which is None if the argument is not a literal."""

    node: exp.Expr
    value: object


def check_arguments(names: NameResolver, node: exp.Anonymous) -> None:
    """Raise PredicateError if an argument of a call is unsafe for a Spark executor.

    An unsafe argument could use up the time or the memory of an executor, or crash it. Only the
    arguments in `CHECKED_ARGUMENTS` are checked; with the limit `any_argument`, only patterns are.
    """
    checked_positions = CHECKED_ARGUMENTS.get(call_name(node), {})
    arguments = read_arguments(names, node.expressions) if checked_positions else []
    for i, kind in checked_positions.items():
        if i >= len(arguments):
            continue
        argument = arguments[i]
        if kind is ArgumentKind.PATTERN:
            _check_pattern(names, argument)
        elif kind is ArgumentKind.LIKE_PATTERN:
            _check_like_pattern(names, argument)
        elif kind is ArgumentKind.URL_KEY:
            _check_url_key(names, argument)
        elif names.space.limits.any_argument:
            continue
        elif kind is ArgumentKind.SIZE:
            _check_size(names, node, argument.value, f"the size argument of {call_name(node)}")
        elif kind is ArgumentKind.POSITION:
            _check_position(names, node, argument)
        elif kind is ArgumentKind.TEXT_FORMAT:
            _check_text_format(names, node, argument)
        else:
            _check_short_literal(names, node, argument, kind)


def check_pattern_operator(names: NameResolver, node: exp.Expr) -> None:
    """Raise PredicateError if the pattern of RLIKE, LIKE or ILIKE is invalid or a risk.

    A pattern is a risk if matching could take very long or overflow the stack.
    """
    pattern = unwrap_parentheses(node.expression)
    if isinstance(pattern, exp.Any | exp.All):
        patterns = unwrap_parentheses(pattern.this)
        nodes = patterns.expressions if isinstance(patterns, exp.Tuple) else [patterns]
        for argument in read_arguments(names, nodes):
            _check_like_pattern(names, argument)
    elif isinstance(node, exp.RegexpLike):
        _check_pattern(names, _read_argument(names, pattern))
    else:
        _check_like_pattern(names, _read_like_pattern(names, pattern))


def _check_like_pattern(names: NameResolver, argument: Argument) -> None:
    """Raise PredicateError if a pattern of LIKE or ILIKE is a risk."""
    if isinstance(argument.value, str):
        _refuse_risk(names, argument, regex_risk.find_like_risk)
    elif not isinstance(argument.node, exp.Null):
        _check_pattern(names, argument)


def read_arguments(names: NameResolver, nodes: Sequence[exp.Expr]) -> list[Argument]:
    """Return the arguments of a call, given by their nodes.

    A list of literals is one node of the tree, but each of its values is an argument. Literals
    among the arguments become part of the compiled template, so predicates that differ in these
    literals are compiled separately.
    """
    arguments: list[Argument] = []
    for argument in map(unwrap_parentheses, nodes):
        if names.is_literal_list(argument):
            raws = literals.split_list(names.fix_literal(argument))
            arguments += [Argument(argument, _read_value(raw)) for raw in raws]
        else:
            arguments.append(_read_argument(names, argument))
    return arguments


def _check_pattern(names: NameResolver, argument: Argument) -> None:
    """Raise PredicateError if a pattern is not a literal that Java matches in bounded time.

    If `any_regex` is set in the limits, every pattern is accepted.
    """
    if not names.space.limits.any_regex and not isinstance(argument.value, str):
        raise names.tree.error(
            "a pattern that is not a literal could take very long", argument.node,
            "write the pattern itself, or set any_regex in the limits",
        )  # fmt: skip
    _refuse_risk(names, argument, regex_risk.find_regex_risk)


def _check_url_key(names: NameResolver, argument: Argument) -> None:
    """Raise PredicateError if Java might need unbounded time to match Spark's pattern for a key.

    Spark puts the key, which may itself be a pattern, into a pattern for the query of a URL.
    """
    key = argument.value
    pattern = f"(&|^){key}=([^&]*)" if isinstance(key, str) else None
    _check_pattern(names, Argument(argument.node, pattern))


def _refuse_risk(
    names: NameResolver, argument: Argument, find_risk: Callable[[str], str | None]
) -> None:
    """Raise PredicateError if a literal pattern is too long or `find_risk` finds a risk in it."""
    limits, pattern = names.space.limits, argument.value
    if limits.any_regex or not isinstance(pattern, str):
        return
    is_long = len(pattern) > limits.max_template
    too_long = f"has {len(pattern):,} characters, but at most {limits.max_template:,} are allowed"
    problem = too_long if is_long else find_risk(pattern)
    if problem is not None:
        is_invalid = problem.startswith("is not valid")
        hint = "correct it" if is_invalid else "simplify it, or set any_regex in the limits"
        raise names.tree.error(f"this pattern {problem}", argument.node, hint)


def _check_size(names: NameResolver, node: exp.Anonymous, size: object, subject: str) -> None:
    """Raise PredicateError if a number that sets the length of a result is not a small literal.

    A number is small if it is from -`max_growth` to `max_growth`. `subject` is the name of the
    number in messages.
    """
    if not isinstance(size, int | Decimal):
        raise names.tree.error(
            f"{subject} must be a literal number", node,
            "write the number, or set any_argument in the limits",
        )  # fmt: skip
    max_growth = names.space.limits.max_growth
    if not -max_growth <= size <= max_growth:
        raise names.tree.error(
            f"{subject} must be from -{max_growth:,} to {max_growth:,}", node,
            "write a number in this range",
        )  # fmt: skip


def _check_position(names: NameResolver, node: exp.Anonymous, position: Argument) -> None:
    """Raise PredicateError if a position could be the smallest int, which crashes Spark."""
    if names.is_path(position.node):
        is_safe = names.resolve_path(position.node)[0] in (TINYINT, SMALLINT)
    else:
        is_safe = isinstance(position.node, exp.Null) or not _may_be_smallest(position.value)
    if not is_safe:
        raise names.tree.error(
            f"the position in {call_name(node)} must be a literal above -2,147,483,648",
            position.node, "write the number, or get(array, position - 1), or map[key]",
        )  # fmt: skip


def _may_be_smallest(value: object) -> bool:
    """Return whether Spark could cast a value to the smallest int; None means an unknown value."""
    if value is None:
        return True
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return False  # the key of a map
    # Compared as a decimal: as an int, 1e1000000 would have a million digits.
    return -(1 << 31) - 1 < number <= -(1 << 31) if number.is_finite() else False


def _check_text_format(names: NameResolver, node: exp.Anonymous, text_format: Argument) -> None:
    """Raise PredicateError if a format is not a literal, or has a number above `max_growth`."""
    if not isinstance(text_format.value, str):
        raise names.tree.error(
            f"the format of {call_name(node)} must be a literal", node,
            "write the format itself, or set any_argument in the limits",
        )  # fmt: skip
    for number in re.findall(r"[0-9]+", text_format.value):
        _check_size(names, node, Decimal(number), f"a number in the format of {call_name(node)}")


def _check_short_literal(
    names: NameResolver, node: exp.Anonymous, argument: Argument, kind: ArgumentKind
) -> None:
    """Raise PredicateError if an argument is not a short literal with few nested brackets.

    The argument may also be NULL, and a schema may also be a call of `schema_of_csv`,
    `schema_of_json` or `schema_of_xml`.
    """
    if isinstance(argument.node, exp.Null):
        return
    if kind is ArgumentKind.SCHEMA and _is_sample(argument.node):
        return  # the argument of that call is checked separately
    subject = f"the {kind.value} of {call_name(node)}"
    if not isinstance(argument.value, str):
        raise names.tree.error(
            f"{subject} must be a literal",
            argument.node,
            f"write the {kind.value} itself, or set any_argument in the limits",
        )
    problem = _find_excess(argument.value, kind, call_name(node))
    if problem is not None:
        raise names.tree.error(f"{subject} {problem}", argument.node, "simplify it")


def _is_sample(node: exp.Expr) -> bool:
    """Return whether an expression calls a function that derives a schema from a sample."""
    return isinstance(node, exp.Anonymous) and call_name(node) in _SAMPLE_FUNCTIONS


def _find_excess(text: str, kind: ArgumentKind, function: str) -> str | None:
    """Return the limit that a literal exceeds, as the end of a message, or None."""
    if len(text) > (max_length := _MAX_LENGTHS[kind]):
        return f"may have at most {max_length:,} characters"
    if kind is ArgumentKind.PATH and text.count(".") + text.count("[") > _MAX_STEPS:
        return f"may have at most {_MAX_STEPS} steps"
    if function == "schema_of_xml":
        is_deep = text.count("<") > _MAX_ELEMENTS
        return f"may have at most {_MAX_ELEMENTS} tags" if is_deep else None
    if kind is not ArgumentKind.PATH and _measure_nesting(text) > _MAX_NESTING:
        return f"may have at most {_MAX_NESTING} nested brackets"
    return None


def _measure_nesting(text: str) -> int:
    """Return the largest number of brackets that are open at once, including those in quotes.

    >>> _measure_nesting("a ARRAY<STRUCT<b: INT>>, c MAP<STRING, INT>")
    2
    """
    depth = max_depth = 0
    for bracket in re.findall(r"[\[({<\])}>]", text):
        depth += 1 if bracket in "[({<" else -1 if depth else 0
        max_depth = max(max_depth, depth)
    return max_depth


def _read_like_pattern(names: NameResolver, node: exp.Expr) -> Argument:
    """Return the pattern of LIKE; if it is a literal, add its slot to `pattern_slots`.

    Such a pattern is a cache key (see `cache_keys.pattern_key`): patterns that have no risk because
    they match only one text or the texts with one prefix share a compiled template.
    """
    if isinstance(node, exp.Null):
        return Argument(node, "")
    if not isinstance(node, exp.Literal):
        return _read_argument(names, node)
    slot = names.tree.slot_of(node)
    names.pattern_slots.add(slot)
    return Argument(node, _read_single_value(names.tree.raws[slot]))


def _read_argument(names: NameResolver, node: exp.Expr) -> Argument:
    """Return an argument that is not a list of literals.

    If the argument is a literal, it becomes part of the compiled template.
    """
    if isinstance(node, exp.Concat):
        parts = [_read_value(names.fix_literal(part)) for part in node.expressions]
        return Argument(node, "".join(map(str, parts)))
    if isinstance(node, exp.Neg) and (number := names.fix_number(node)) is not None:
        return Argument(node, _read_value(number))
    if isinstance(node, exp.Literal | exp.RawString):
        return Argument(node, _read_single_value(names.fix_literal(node)))
    return Argument(node, None)


def _read_single_value(raw: str) -> object:
    """Return the value of a literal, which may be in parentheses."""
    return _read_value(literals.split_list(raw)[0] if raw[0] == "(" else raw)


def _read_value(raw: str) -> object:
    """Return the value of a literal as written, or None if it cannot be decoded."""
    if raw[0] in "rR":
        return raw[2:-1]
    try:
        return literals.decode_literal(raw).value
    except LiteralError:
        return None
