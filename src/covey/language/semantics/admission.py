"""Admission: what a predicate may consist of, and what it may ask Spark to compute.

Conditions look only at what they need to know. Here every node of the tree is looked at, wherever
it stands: a node or a part of a node that `canonical` does not write would be dropped, a function
that is no row function would change other people's results, and some expressions would take all
memory or time of a worker.
"""

from __future__ import annotations

from decimal import Decimal
from difflib import get_close_matches

from sqlglot import exp

from covey.language.diagnostics import common_mistakes
from covey.language.semantics.arguments import (
    check_arguments,
    check_pattern_operator,
    read_arguments,
)
from covey.language.semantics.name_resolver import NameResolver
from covey.language.semantics.row_functions import (
    CHECKED_ARGUMENTS,
    ROW_FUNCTIONS,
    ArgumentKind,
    find_refusal_reason,
)
from covey.language.syntax.ast_utils import (
    ARITHMETIC,
    COMPARISONS,
    LIKES,
    call_name,
)

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

_GROWTH_FACTORS = {
    "hex": 2, "base64": 2, "url_encode": 3, "quote": 2, "to_json": 2, "to_csv": 2, "to_xml": 6,
    "encode": 4, "decode": 4, "sentences": 2, "from_json": 2,
}  # fmt: skip
"""Functions whose result may be so many times as long as their arguments."""

_QUADRATIC_FUNCTIONS = frozenset(
    {name for name, places in CHECKED_ARGUMENTS.items()
     if {ArgumentKind.PATTERN, ArgumentKind.URL_KEY} & {*places.values()}}
    | {"levenshtein"}
)  # fmt: skip
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
            check_arguments(names, node)
        elif isinstance(node, exp.RegexpLike | exp.Like | exp.ILike):
            check_pattern_operator(names, node)
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


def _check_growth(names: NameResolver, node: exp.Expr, is_grown: bool = False) -> float:
    """Return how many times as long as its arguments the result of an expression may be.

    The length of a literal counts where something around it makes its arguments longer.
    """
    if isinstance(node, exp.Literal | exp.RawString):
        return len(names.fix_literal(node)) / _LONG if is_grown else 0.0
    name = call_name(node) if isinstance(node, exp.Anonymous) else ""
    places = CHECKED_ARGUMENTS.get(name, {})
    sizes = [place for place, kind in places.items() if kind is ArgumentKind.SIZE]
    is_format = ArgumentKind.TEXT_FORMAT in places.values()
    is_measured = bool(sizes) or is_format or name in _INSERTING_FUNCTIONS
    grows = is_measured or name in _GROWTH_FACTORS
    grown = [_check_growth(names, child, is_grown or grows) for child in node.iter_expressions()]
    is_built = isinstance(node, exp.Anonymous | exp.DPipe | exp.Concat)
    growth = sum(grown) if is_built else max(grown, default=1.0)
    if grows:
        growth = max(1, int(growth)) * _GROWTH_FACTORS.get(name, 1)
    values = [one.value for one in read_arguments(names, node)] if is_measured else []
    for place in sizes:
        size = values[place] if place < len(values) else None
        growth *= max(1, abs(int(size))) if isinstance(size, int | Decimal) else 1
    if name in _INSERTING_FUNCTIONS:
        growth *= max([1, *(len(value) for value in values if isinstance(value, str))])
    if is_format and values:
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
