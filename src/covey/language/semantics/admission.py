"""Admission: checks of the nodes of a predicate's tree and of the work that they cause in Spark.

The compiler of conditions reads only the nodes that it needs; this module checks every node of the
tree. A part of a node that `canonical_form` does not write would be dropped silently, a function
that is not a row function could change the results of other subscriptions, and some expressions
could use up the memory or the time of a Spark executor.
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
from covey.language.semantics.expression_types import find_letter
from covey.language.semantics.name_resolver import NameResolver
from covey.language.semantics.row_functions import (
    CHECKED_ARGUMENTS,
    ROW_FUNCTIONS,
    ArgumentKind,
    find_refusal_reason,
)
from covey.language.syntax.ast_utils import (
    ARITHMETIC,
    BITWISE,
    COMPARISONS,
    LIKES,
    call_name,
    unwrap_parentheses,
)
from covey.language.values import literals
from covey.language.values.literal_columns import LiteralRef
from covey.language.values.literals import LiteralError

__all__ = ["check_admitted", "check_call"]

_UNARY, _BINARY = frozenset({"this"}), frozenset({"this", "expression"})
_NODES: dict[type[exp.Expr], frozenset[str]] = {
    **dict.fromkeys(
        [
            exp.Paren,
            exp.Not,
            exp.Neg,
            exp.BitwiseNot,
            exp.RawString,
            exp.HexString,
            exp.Boolean,
            exp.Any,
            exp.All,
            exp.Var,
        ],
        _UNARY,
    ),
    **dict.fromkeys([*ARITHMETIC, exp.DPipe], _BINARY | {"safe", "typed"}),
    **dict.fromkeys([*BITWISE, exp.Collate, exp.Extract], _BINARY),
    **dict.fromkeys([*COMPARISONS, exp.And, exp.Or, exp.Is, exp.Escape, exp.NullSafeNEQ], _BINARY),
    **dict.fromkeys(LIKES, _BINARY | {"negate"}),
    exp.Null: frozenset(),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Column: frozenset({"this", "table", "db", "catalog"}),
    exp.Dot: _BINARY,
    **dict.fromkeys([exp.Concat, exp.Tuple], frozenset({"expressions"})),
    exp.Lambda: frozenset({"this", "expressions"}),
    exp.Interval: frozenset({"this", "unit"}),
    exp.IntervalSpan: _BINARY,
    exp.ColumnDef: frozenset({"this", "kind"}),
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
"""The admitted types of nodes, and the parts of each that `canonical_form` writes."""

_HINTS = dict.fromkeys(["any", "some"], "use IN for several values, or LIKE ANY for patterns") | {
    "map": "read a column that is a map, or compare its values one by one",
}
"""Suggestions for functions that are refused."""

_GROWTH_FACTORS = {
    "hex": 2, "base64": 2, "url_encode": 3, "quote": 2, "to_json": 2, "to_csv": 2, "to_xml": 6,
    "encode": 4, "decode": 4, "sentences": 2, "from_json": 2,
}  # fmt: skip
"""By function, the largest factor by which its result can be longer than its arguments."""

_QUADRATIC_FUNCTIONS = frozenset(
    {name for name, kinds in CHECKED_ARGUMENTS.items()
     if {ArgumentKind.PATTERN, ArgumentKind.LIKE_PATTERN, ArgumentKind.URL_KEY} & {*kinds.values()}}
    | {"levenshtein"}
)  # fmt: skip
"""Functions whose time can be quadratic in the length of their arguments."""

_ELEMENTS = 1_000
"""The assumed number of elements for which a lambda function is called."""

_LONG = 400  # a literal of this many characters counts as much as one text of an event

_COPIES, _MAX_COPIES = 3, 50_000
"""The assumed number of copies of an argument after Spark has expanded a call, and the largest
number of nodes that an expression may have after Spark has expanded all calls."""

_UNCOPYING_FUNCTIONS = frozenset(
    {"array_join", "concat", "exists", "filter", "length", "lower", "lpad", "ltrim", "rpad",
     "rtrim", "size", "split", "split_part", "substring", "transform", "upper"}
)  # fmt: skip
"""Functions that Spark certainly does not replace by an expression with copies of an argument."""

_INSERTING_FUNCTIONS = frozenset({"replace", "regexp_replace", "array_join", "concat_ws"})
"""Functions whose result can contain a literal argument after every character or element."""


def check_admitted(names: NameResolver) -> None:
    """Raise PredicateError unless every node and every call of a tree is admitted."""
    for node in names.tree.root.walk():
        admitted_parts = _NODES.get(type(node))
        if admitted_parts is None:
            raise names.unsupported_error(node)
        if dropped := [
            part for part, value in node.args.items() if value and part not in admitted_parts
        ]:
            part_name = dropped[0].replace("_", " ").upper()
            raise names.tree.error(
                f"{part_name} is not supported in this expression", node, "remove it"
            )
        if isinstance(node, exp.In) and not node.expressions:
            raise names.unsupported_error(node)
        if isinstance(node, exp.Tuple) and not node.expressions:
            raise names.tree.error_at_pattern(
                r"\(\s*\)", "a value is missing in ( )", hint="write the value"
            )
        if isinstance(node, exp.Is) and not isinstance(node.expression, exp.Null | exp.Boolean):
            raise names.unsupported_error(node)
        if isinstance(node, exp.Any | exp.All) and not isinstance(
            node.parent, exp.Like | exp.ILike
        ):
            raise names.unsupported_error(node)
        if isinstance(node, exp.Neg) or (
            isinstance(node, exp.Literal) and not isinstance(node.parent, exp.Neg)
        ):
            _check_number(names, node)
        elif isinstance(node, exp.Anonymous):
            check_call(names, node)
            check_arguments(names, node)
        elif isinstance(node, exp.RegexpLike | exp.Like | exp.ILike):
            check_pattern_operator(names, node)
        elif names.is_typed_literal(node):
            _check_typed_literal(names, node)
    _check_growth(names, names.tree.root)
    _check_copies(names, names.tree.root)


def _check_typed_literal(names: NameResolver, node: exp.Expr) -> None:
    """Raise PredicateError for a literal such as `DATE '2024-02-30'` or `DATE 'today'`.

    Spark replaces 'today' by the day on which it reads the literal.
    """
    type_ = names.resolve_type(node.to)  # type: ignore[attr-defined]
    if not type_.is_datetime:
        return  # Spark reads a wrong one as covey does
    ref = LiteralRef(names.tree.slot_of(node.this), cast_type=type_)
    try:
        ref.decode(names.tree.raws, names.space.settings)
    except LiteralError as error:
        raise names.tree.error(str(error), node) from None


def _check_number(names: NameResolver, node: exp.Expr) -> None:
    """Raise PredicateError if a number, with its minus sign if there is one, is out of range.

    Numbers that may be parameters are in range, as `find_letter` makes sure.
    """
    literal = node.this if isinstance(node, exp.Neg) else node
    if not isinstance(literal, exp.Literal) or literal.is_string:
        return
    raw = names.tree.raws[names.tree.slot_of(literal)]
    if raw[0] == "(" and "," not in raw:
        raw = literals.split_list(raw)[0]
    if raw[0] in "('\"" or find_letter(raw) != "x":
        return
    try:
        literals.decode_literal(raw if literal is node else f"-{raw}")
    except LiteralError as error:
        raise names.tree.error(str(error), node) from None


def check_call(names: NameResolver, node: exp.Expr) -> None:
    """Raise PredicateError if a called function is neither a row function nor user-defined.

    The user-defined functions are those in `PredicateLimits.functions`.
    """
    name = call_name(node)
    if name in names.space.limits.functions or name in ROW_FUNCTIONS:
        if name in ("aggregate", "reduce"):
            _check_accumulator(names, node)
        return
    if (reason := find_refusal_reason(name)) is not None:
        raise names.tree.error(
            f"{name}() {reason}", node,
            _HINTS.get(name, "write a literal, or add a column to the events"),
        )  # fmt: skip
    similar = get_close_matches(name, sorted(ROW_FUNCTIONS), 1, 0.8)
    raise names.tree.error(
        f"no function {name!r} is known", node,
        common_mistakes.suggest_for_function(name)
        or (f"did you mean {similar[0]}?" if similar else "")
        or "write a function of Spark; a function of your own must be named in the limits of a "
        "Matcher, or in [limits] functions of a stream",
    )  # fmt: skip


def _check_accumulator(names: NameResolver, node: exp.Expr) -> None:
    """Raise PredicateError if the value that `aggregate` accumulates may become longer.

    A text or an array could double its length with each element.
    """
    start = unwrap_parentheses(node.expressions[1]) if len(node.expressions) > 1 else None
    is_fixed = isinstance(start, exp.Boolean | exp.Neg)
    if start is not None and names.is_literal_list(start):
        values = [argument.value for argument in read_arguments(names, [start])]
        is_fixed = len(values) == 1 and not isinstance(values[0], str | None)
    elif isinstance(start, exp.Literal):
        is_fixed = not start.is_string
    type_ = names.resolve_type(start.to) if isinstance(start, exp.Cast) else None
    if start is not None and names.is_path(start):
        type_ = names.resolve_path(start)[0]
    is_fixed = is_fixed or (type_ is not None and type_.is_scalar and not type_.is_text)
    if not is_fixed and node.find(exp.Lambda):
        raise names.tree.error(
            f"{call_name(node)}() must begin with a number, a boolean or a time",
            node, "write the number, such as 0 or 0D, or CAST the value",
        )  # fmt: skip


def _check_growth(names: NameResolver, node: exp.Expr, is_grown: bool = False) -> float:
    """Return the largest factor by which an expression's result can be longer than its columns.

    For a function of quadratic time, the square of the factor is returned. `is_grown` says whether
    an expression around this one makes its arguments longer. The length of a literal counts only in
    that case.

    Raises:
        PredicateError: the factor exceeds the limit `max_growth`.
    """
    if isinstance(node, exp.Var | exp.Interval):
        return 0.0
    if isinstance(node, exp.Lambda):
        return _check_growth(names, node.this, is_grown)
    if names.is_variable(node):
        return 1 / _ELEMENTS
    if isinstance(node, exp.Literal | exp.RawString | exp.HexString):
        return len(names.fix_literal(node)) / _LONG if is_grown else 0.0
    name = call_name(node) if isinstance(node, exp.Anonymous) else ""
    positions = CHECKED_ARGUMENTS.get(name, {})
    size_positions = [i for i, kind in positions.items() if kind is ArgumentKind.SIZE]
    is_format = ArgumentKind.TEXT_FORMAT in positions.values()
    reads_values = bool(size_positions) or is_format or name in _INSERTING_FUNCTIONS
    grows = reads_values or name in _GROWTH_FACTORS
    growths: list[float] = []
    lambda_growths: list[float] = []
    for child in node.iter_expressions():
        child_growth = _check_growth(names, child, is_grown or grows)
        (lambda_growths if isinstance(child, exp.Lambda) else growths).append(child_growth)
    is_combined = isinstance(node, exp.Anonymous | exp.DPipe | exp.Concat)
    growth = sum(growths) if is_combined else max(growths, default=1.0)
    if lambda_growths:
        growth *= _ELEMENTS * max(lambda_growths)
    if grows:
        least = 1 / _ELEMENTS if node.find_ancestor(exp.Lambda) else 1.0
        growth = max(least, growth if growth < 1 else int(growth)) * _GROWTH_FACTORS.get(name, 1)
    values = (
        [argument.value for argument in read_arguments(names, node.expressions)]
        if reads_values
        else []
    )
    for i in size_positions:
        size = values[i] if i < len(values) else None
        growth *= max(1, abs(int(size))) if isinstance(size, int | Decimal) else 1
    if name in _INSERTING_FUNCTIONS:
        growth *= max([1, *(len(value) for value in values if isinstance(value, str))])
    if is_format and values:
        growth *= 1 + str(values[0]).count("%")
    if name in _QUADRATIC_FUNCTIONS or isinstance(node, exp.RegexpLike | exp.Like | exp.ILike):
        growth *= growth
    if growth > (max_growth := names.space.limits.max_growth):
        raise names.tree.error(
            "the result, or the work to compute it, could be more than "
            f"{max_growth:,} times larger than the arguments",
            node, "simplify the expression, or raise the limit max_growth",
        )  # fmt: skip
    return growth


def _check_copies(names: NameResolver, node: exp.Expr) -> int:
    """Return the estimated number of nodes of an expression after Spark has expanded its calls.

    Spark replaces `right(a, n)` by an expression that contains `a` three times, and
    `right(right(a, n), n)` by one that contains `a` nine times.

    Raises:
        PredicateError: the number exceeds `_MAX_COPIES`.
    """
    size = 1 + sum(_check_copies(names, child) for child in node.iter_expressions())
    if isinstance(node, exp.Anonymous) and call_name(node) not in _UNCOPYING_FUNCTIONS:
        size *= _COPIES
        if size > _MAX_COPIES:
            raise names.tree.error(
                "calls of functions are nested too deeply",
                node,
                "add a column with the value to the events",
            )
    return size
