"""Admission: what a predicate may consist of, and what it may ask Spark to compute.

Conditions look only at what they need to know. Here every node of the tree is looked at, wherever
it stands: a node or a part of a node that `canonical` does not write would be dropped, a function
that is no row function would change other people's results, and some expressions would take all
memory or time of a worker.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from typing import NamedTuple

from sqlglot import exp

from covey.language.diagnostics import common_mistakes
from covey.language.semantics import regex_risk
from covey.language.semantics.name_resolver import NameResolver
from covey.language.semantics.row_functions import ROW_FUNCTIONS, find_refusal_reason
from covey.language.syntax.ast_utils import (
    ARITHMETIC,
    COMPARISONS,
    LIKES,
    call_name,
    unwrap_parentheses,
)
from covey.language.values import literals
from covey.language.values.literals import LiteralError
from covey.space.types import SMALLINT, TINYINT

__all__ = ["check_admitted", "check_call"]

_UNARY, _BINARY = frozenset({"this"}), frozenset({"this", "expression"})
_NODES: dict[type[exp.Expr], frozenset[str]] = {
    **dict.fromkeys([exp.Paren, exp.Not, exp.Neg, exp.RawString, exp.Boolean], _UNARY),
    **dict.fromkeys([*ARITHMETIC, exp.DPipe], _BINARY | {"safe", "typed"}),
    **dict.fromkeys([*COMPARISONS, exp.And, exp.Or, exp.Is, exp.Escape, exp.NullSafeNEQ], _BINARY),
    **dict.fromkeys(LIKES, _BINARY | {"negate"}),
    exp.Null: frozenset(),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Column: frozenset({"this", "table", "db", "catalog"}),
    exp.Dot: _BINARY,
    exp.Concat: frozenset({"expressions"}),
    exp.Between: frozenset({"this", "low", "high"}),
    exp.In: frozenset({"this", "expressions"}),
    exp.Bracket: frozenset({"this", "expressions"}),
    exp.If: frozenset({"this", "true", "false"}),
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.Cast: frozenset({"this", "to"}),
    exp.TryCast: frozenset({"this", "to", "safe"}),
    exp.DataType: frozenset({"this", "expressions", "nested"}),
    exp.DataTypeParam: _UNARY,
    exp.Anonymous: frozenset({"this", "expressions"}),
}
"""The nodes that predicates consist of, and the parts of each that are written back."""

_NEEDS_ARGUMENT = frozenset({"unix_timestamp", "to_unix_timestamp"})
"""Functions that take the current time where they are given none."""

_PATTERNS = {
    "regexp": (1,), "regexp_count": (1,), "regexp_extract": (1,), "regexp_extract_all": (1,),
    "regexp_instr": (1,), "regexp_like": (1,), "regexp_replace": (1,), "regexp_substr": (1,),
    "rlike": (1,), "split": (1,),
}  # fmt: skip
"""Functions that take regular expressions, and at which places."""

_SIZES = {
    "repeat": (1,), "space": (0,), "lpad": (1,), "rpad": (1,), "array_repeat": (1,),
    "array_insert": (1,), "format_number": (1,), "sequence": (0, 1, 2), "round": (1,),
    "bround": (1,), "ceil": (1,), "ceiling": (1,), "floor": (1,),
}  # fmt: skip
"""Functions whose result is as long as an argument says, and the places of such arguments."""

_POSITIONS = {"element_at": 1, "try_element_at": 1, "split_part": 2}
"""Functions that take a position, and where: the smallest int makes Spark read outside an array."""

_FORMATS = frozenset({"format_string", "printf"})
"""Functions whose result is as long as a literal of theirs says."""

_GROWTH_FACTORS = {
    "hex": 2, "base64": 2, "url_encode": 3, "quote": 2, "to_json": 2, "to_csv": 2, "to_xml": 6,
    "encode": 4, "decode": 4, "sentences": 2, "from_json": 2,
}  # fmt: skip
"""Functions whose result may be so many times as long as their arguments."""

_QUADRATIC_FUNCTIONS = frozenset({*_PATTERNS, "levenshtein"})
"""Functions that may take the square of the length of their arguments."""

_LONG = 400  # characters of a literal that are as much as a text of an event

_COPIES, _MAX_COPIES = 3, 50_000  # of the arguments of a function in what Spark makes of it

_INSERTING_FUNCTIONS = frozenset({"replace", "regexp_replace", "array_join", "concat_ws"})
"""Functions whose result may have a literal of theirs after every character or element."""


def check_admitted(names: NameResolver) -> None:
    """Raise PredicateError unless every node and every call of a tree is admitted."""
    for node in names.tree.root.walk():
        known = _NODES.get(type(node))
        if known is None:
            raise names.unsupported_error(node)
        if dropped := [part for part, value in node.args.items() if value and part not in known]:
            raise names.tree.error(
                f"{dropped[0].replace('_', ' ').upper()} is outside the language here", node
            )
        if isinstance(node, exp.Anonymous):
            check_call(names, node)
            _check_sizes(names, node)
            _check_position(names, node)
        _check_patterns(names, node)
    _check_growth(names, names.tree.root)
    _check_copies(names, names.tree.root)


def check_call(names: NameResolver, node: exp.Expr) -> None:
    """Raise PredicateError unless the function that is called is a row function."""
    name = call_name(node)
    if name in names.space.limits.functions or (
        name in ROW_FUNCTIONS and (node.expressions or name not in _NEEDS_ARGUMENT)
    ):
        return
    if called := node.find(exp.Lambda):
        raise names.unsupported_error(called)
    if name in _NEEDS_ARGUMENT:
        raise names.tree.error(
            f"{name}() is not a function of the event alone", node, f"write {name}(a_column)"
        )
    if (reason := find_refusal_reason(name)) is not None:
        raise names.tree.error(
            f"{name}() {reason}", node, "write a literal, or add a column to the events"
        )
    near = get_close_matches(name, sorted(ROW_FUNCTIONS), 1, 0.8)
    raise names.tree.error(
        f"no function {name!r} is known", node,
        common_mistakes.suggest_for_function(name) or (f"did you mean {near[0]}?" if near else "")
        or "functions of your own must be named in functions=[…]",
    )  # fmt: skip


def _check_sizes(names: NameResolver, node: exp.Anonymous) -> None:
    """Raise PredicateError where a result could be as long as a number says that is no literal."""
    name = call_name(node)
    if name in _FORMATS:
        _check_format(names, node)
    if name not in _SIZES:
        return
    arguments = _read_arguments(names, node)
    for place in _SIZES[name]:
        size = arguments[place].value if place < len(arguments) else 0
        if not isinstance(size, int | Decimal):
            raise names.tree.error(
                f"how long the result of {name} is must be a literal number", node,
                "write the number",
            )  # fmt: skip
        _check_size(names, node, size)


def _check_size(names: NameResolver, node: exp.Anonymous, size: int | Decimal) -> None:
    most = names.space.limits.max_growth
    if not -most <= size <= most:
        raise names.tree.error(
            f"the result of {call_name(node)} may have {most:,} elements at most", node,
            "write a smaller number",
        )  # fmt: skip


def _check_position(names: NameResolver, node: exp.Anonymous) -> None:
    """Raise PredicateError where a position may be the smallest int, which ends Spark's process."""
    place = _POSITIONS.get(call_name(node))
    arguments = _read_arguments(names, node) if place is not None else []
    if place is None or place >= len(arguments):
        return
    position = arguments[place]
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


def _check_format(names: NameResolver, node: exp.Anonymous) -> None:
    """Raise PredicateError unless a format is a literal, with numbers that are not too large."""
    arguments = _read_arguments(names, node)
    if arguments and not isinstance(arguments[0].value, str):
        raise names.tree.error(
            f"the format of {call_name(node)} must be a literal", node, "write the format itself"
        )
    for number in re.findall(r"[0-9]+", str(arguments[0].value) if arguments else ""):
        _check_size(names, node, Decimal(number))


def _check_patterns(names: NameResolver, node: exp.Expr) -> None:
    """Raise PredicateError where matching with a pattern may never end."""
    find_risk = regex_risk.find_regex_risk
    if isinstance(node, exp.RegexpLike):
        patterns = [_read_argument(names, unwrap_parentheses(node.expression))]
    elif isinstance(node, exp.Like | exp.ILike):
        find_risk = regex_risk.find_like_risk
        patterns = [_read_like_pattern(names, unwrap_parentheses(node.expression))]
    elif isinstance(node, exp.Anonymous) and call_name(node) in _PATTERNS:
        places = _PATTERNS[call_name(node)]
        patterns = [one for i, one in enumerate(_read_arguments(names, node)) if i in places]
    else:
        return
    limits = names.space.limits
    for pattern in patterns if not limits.any_regex else ():
        if not isinstance(pattern.value, str):
            raise names.tree.error(
                "a pattern that is no literal may take very long", pattern.node,
                "write the pattern itself, or allow any_regex",
            )  # fmt: skip
        is_long = len(pattern.value) > limits.max_template
        problem = "it is very long" if is_long else find_risk(pattern.value)
        if problem is not None:
            raise names.tree.error(
                f"this pattern may take very long: {problem}", pattern.node,
                "simplify it, or allow any_regex",
            )  # fmt: skip


def _read_like_pattern(names: NameResolver, node: exp.Expr) -> _Argument:
    """Return a pattern of LIKE, which does not become part of the plan by that.

    Whatever is no text and no prefix is part of it anyway, and those are not dangerous.
    """
    if isinstance(node, exp.Null):
        return _Argument(node, "")
    if not isinstance(node, exp.Literal):
        return _read_argument(names, node)
    return _Argument(node, _read_single_value(names.tree.raws[names.tree.slot_of(node)]))


def _check_growth(names: NameResolver, node: exp.Expr, is_grown: bool = False) -> float:
    """Return how many times as long as its arguments the result of an expression may be.

    The length of a literal counts where something around it makes its arguments longer.
    """
    if isinstance(node, exp.Literal | exp.RawString):
        return len(names.fix_literal(node)) / _LONG if is_grown else 0.0
    name = call_name(node) if isinstance(node, exp.Anonymous) else ""
    is_measured = name in _SIZES or name in _INSERTING_FUNCTIONS or name in _FORMATS
    grows = is_measured or name in _GROWTH_FACTORS
    grown = [_check_growth(names, child, is_grown or grows) for child in node.iter_expressions()]
    is_built = isinstance(node, exp.Anonymous | exp.DPipe | exp.Concat)
    growth = sum(grown) if is_built else max(grown, default=1.0)
    if grows:
        growth = max(1, int(growth)) * _GROWTH_FACTORS.get(name, 1)
    values = [one.value for one in _read_arguments(names, node)] if is_measured else []
    for place in _SIZES.get(name, ()):
        size = values[place] if place < len(values) else None
        growth *= max(1, abs(int(size))) if isinstance(size, int | Decimal) else 1
    if name in _INSERTING_FUNCTIONS:
        growth *= max([1, *(len(value) for value in values if isinstance(value, str))])
    if name in _FORMATS and values:
        growth *= 1 + str(values[0]).count("%")
    if name in _QUADRATIC_FUNCTIONS or isinstance(node, exp.RegexpLike | exp.Like | exp.ILike):
        growth *= growth
    if growth > (most := names.space.limits.max_growth):
        raise names.tree.error(
            f"the result may be more than {most:,} times as long as its arguments",
            node, "compute less",
        )  # fmt: skip
    return growth


def _check_copies(names: NameResolver, node: exp.Expr) -> int:
    """Return how large Spark may make an expression: it writes some calls out as conditions.

    `right(a, n)` has its text three times then, and `right(right(a, n), n)` nine times.
    """
    size = 1 + sum(_check_copies(names, child) for child in node.iter_expressions())
    if isinstance(node, exp.Anonymous):
        size *= _COPIES
        if size > _MAX_COPIES:
            raise names.tree.error(
                "too many functions of functions", node, "add a column to the events"
            )
    return size


class _Argument(NamedTuple):
    """An argument: its node, and its value if it is a literal."""

    node: exp.Expr
    value: object


def _read_arguments(names: NameResolver, node: exp.Expr) -> list[_Argument]:
    """Return the arguments of a call; literals in a row are one node of the tree.

    Whoever looks at the value of a literal makes it part of the plan: predicates that differ in it
    are planned one by one.
    """
    found: list[_Argument] = []
    for argument in map(unwrap_parentheses, node.expressions):
        if names.is_literal_list(argument):
            raws = literals.split_list(names.fix_literal(argument))
            found += [_Argument(argument, _read_value(raw)) for raw in raws]
        else:
            found.append(_read_argument(names, argument))
    return found


def _read_argument(names: NameResolver, node: exp.Expr) -> _Argument:
    """Return an argument that is no list of literals, but perhaps a literal."""
    if isinstance(node, exp.Concat):
        parts = [_read_value(names.fix_literal(one)) for one in node.expressions]
        return _Argument(node, "".join(map(str, parts)))
    if isinstance(node, exp.Neg) and (number := names.fix_number(node)) is not None:
        return _Argument(node, _read_value(number))
    if isinstance(node, exp.Literal | exp.RawString):
        return _Argument(node, _read_single_value(names.fix_literal(node)))
    return _Argument(node, None)


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
