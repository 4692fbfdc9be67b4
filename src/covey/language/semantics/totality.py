"""Detection of total expressions: those for which Spark never raises an exception.

An expression counts as total only if this is certain: none of its functions ever raises an
exception, and the arguments have the types that the functions take, because Spark casts arguments
of other types, and a cast may raise an exception.

Many other expressions have a try form: the same expression with `TRY_CAST` in place of `CAST`,
`try_divide` in place of `/`, and so on. It is total, and null where the expression would raise an
exception. An expression without a try form is guarded (`covey.space.guard`), which costs more.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from covey.errors import PredicateError
from covey.language.semantics.name_resolver import NameResolver
from covey.language.syntax.ast_utils import (
    ARITHMETIC,
    COMPARISONS,
    LIKES,
    call_name,
    unwrap_parentheses,
)
from covey.space.types import BIGINT, DATE, STRING, Type

__all__ = ["TotalityChecker"]

_ARGUMENT_KINDS: dict[str, Callable[[Type], bool]] = {
    "s": lambda type_: type_ == STRING,
    "i": lambda type_: type_.is_integral and type_ != BIGINT,
    "d": lambda type_: type_.is_datetime,
    "t": lambda type_: type_.is_datetime and type_ != DATE,
    "f": lambda type_: type_.is_fractional,
    "a": lambda type_: type_.name == "array",
    "*": lambda type_: type_.is_scalar,
}
"""Kinds of arguments: text, int, date or time, time, float or double, array, any scalar.

A bigint is not accepted for an int, and a date is not accepted for a time, because the value may be
out of range after the cast.
"""

_TOTAL_FUNCTIONS = {
    **dict.fromkeys(
        ["ascii", "bit_length", "char_length", "character_length", "initcap", "lcase", "length",
         "lower", "ltrim", "md5", "octet_length", "reverse", "rtrim", "soundex", "trim", "ucase",
         "upper"],
        "s",
    ),
    **dict.fromkeys(["contains", "endswith", "instr", "levenshtein", "startswith"], "ss"),
    **dict.fromkeys(["left", "right"], "si"),
    **dict.fromkeys(["substr", "substring"], "sii"),
    **dict.fromkeys(["replace", "translate"], "sss"),
    **dict.fromkeys(
        ["day", "dayofmonth", "dayofweek", "dayofyear", "month", "quarter", "weekday",
         "weekofyear", "year", "to_date"],
        "d",
    ),
    **dict.fromkeys(["hour", "minute"], "t"),
    **dict.fromkeys(
        ["abs", "acos", "asin", "atan", "cbrt", "cos", "degrees", "exp", "expm1", "ln", "log10",
         "log1p", "log2", "radians", "sin", "sqrt", "tan", "tanh", "isnan"],
        "f",
    ),
    **dict.fromkeys(["atan2", "hypot", "pow", "power"], "ff"),
    **dict.fromkeys(["array_size", "cardinality", "size"], "a"),
    **dict.fromkeys(["isnotnull", "isnull"], "*"),
}  # fmt: skip
"""Functions that never raise an exception, with the kinds of their arguments, one letter each. A
call may leave out the last arguments."""

_ANY_NUMBER = {"concat": "s", "concat_ws": "s", "hash": "*", "xxhash64": "*"}
"""Functions of any number of arguments that never raise an exception, with the kind that all
arguments must have."""

_STRICT_OPERATORS: tuple[type[exp.Expr], ...] = (
    exp.Cast, exp.DPipe, exp.Neg, exp.Not, *ARITHMETIC, *LIKES,
    *(operator for operator in COMPARISONS if operator is not exp.NullSafeEQ),
)  # fmt: skip
"""Operators that return null if an operand is null."""
_STRICT_FUNCTIONS = {"concat", *_TOTAL_FUNCTIONS} - {"cardinality", "isnotnull", "isnull", "size"}
"""Functions that return null if an argument is null."""
_TRY_FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.Add: "try_add",
    exp.Div: "try_divide",
    exp.Mul: "try_multiply",
    exp.Sub: "try_subtract",
}
"""Functions that return null where an operator on numbers raises an exception."""


class TotalityChecker:
    """Decides whether Spark might raise an exception when it computes an expression.

    An expression for which Spark certainly never raises an exception is total.

    Args:
        names: the resolver of the names in the predicate.
        static_type: a function that returns the type of an expression without Spark, or raises
            PredicateError.
    """

    def __init__(self, names: NameResolver, static_type: Callable[[exp.Expr], Type]) -> None:
        self._names, self._static_type = names, static_type
        self._ansi = names.space.settings.ansi

    def can_raise(self, node: exp.Expr) -> bool:
        """Return whether Spark might raise an exception when it computes an expression.

        False is always right. True may be wrong.
        """
        try:
            return not self._is_total(node)
        except (PredicateError, RecursionError):
            return True

    def find_try_form(self, node: exp.Expr) -> exp.Expr | None:
        """Return the try form of an expression, or None if none is known.

        Where the expression raises no exception, its try form has the same value and type.
        """
        try:
            return self._to_try_form(node)
        except (PredicateError, RecursionError):
            return None

    def _is_total(self, node: exp.Expr) -> bool:
        """Return whether Spark certainly computes an expression without an exception."""
        node = unwrap_parentheses(node)
        if self._names.is_path(node) or self._names.is_typed_literal(node):
            return True
        if isinstance(node, exp.Literal | exp.RawString | exp.Concat | exp.Boolean | exp.Null):
            return True
        return all(map(self._is_total, _list_operands(node))) and self._is_total_operation(node)

    def _is_total_operation(self, node: exp.Expr) -> bool:
        """Return whether an operator or a function never raises, apart from its operands."""
        if isinstance(node, exp.Cast):
            source, target = self._static_type(node.this), self._names.resolve_type(node.to)
            is_lenient = not self._ansi or isinstance(node, exp.TryCast)
            is_lenient = is_lenient and target.is_scalar and not source.is_datetime
            return source.is_scalar and (is_lenient or target == STRING)
        if isinstance(node, exp.And | exp.Or | exp.Not | exp.Is):
            return True
        if type(node) in LIKES:
            return self._is_plain_pattern(node)
        types = [self._static_type(operand) for operand in _list_operands(node)]
        if type(node) in COMPARISONS or isinstance(node, exp.Between | exp.In):
            return _are_comparable(types)
        if type(node) in ARITHMETIC or isinstance(node, exp.Neg):
            is_total_on_floats = isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Neg)
            return all(t.is_numeric for t in types) and (
                not self._ansi or (is_total_on_floats and any(t.is_fractional for t in types))
            )
        if isinstance(node, exp.DPipe):
            return all(t == STRING for t in types)
        if isinstance(node, exp.Anonymous):
            return _never_raises(call_name(node), types)
        return False

    def _to_try_form(self, node: exp.Expr) -> exp.Expr | None:
        """Return the try form of an expression, or None if none is known.

        The null of an operand has to become the null of the whole expression. So all operators and
        functions around an operand that can raise are strict.
        """
        node = unwrap_parentheses(node)
        if self._is_total(node):
            return node.copy()
        if self._is_total_operation(node):
            return self._replace_operands(node) if self._is_strict(node) else None
        forms = self._find_operand_forms(node)
        if forms is None or not self._ansi:
            return None
        types = [self._static_type(operand) for operand in _list_operands(node)]
        if isinstance(node, exp.Cast):
            is_scalar = types[0].is_scalar and self._names.resolve_type(node.to).is_scalar
            return exp.TryCast(this=forms[0], to=node.to.copy()) if is_scalar else None
        name = _TRY_FUNCTIONS.get(type(node))
        is_numeric = all(type_.is_numeric for type_ in types)
        return exp.Anonymous(this=name, expressions=forms) if name and is_numeric else None

    def _is_strict(self, node: exp.Expr) -> bool:
        """Return whether the result is null if an operand that can raise is null."""
        if isinstance(node, exp.Between | exp.In):
            return all(map(self._is_total, _list_operands(node)[1:]))
        if isinstance(node, exp.Anonymous):
            return call_name(node) in _STRICT_FUNCTIONS
        return isinstance(node, _STRICT_OPERATORS)

    def _replace_operands(self, node: exp.Expr) -> exp.Expr | None:
        """Return a node with the try forms of its operands, or None if one has none."""
        forms = self._find_operand_forms(node)
        if forms is None:
            return None
        copy = node.copy()
        for operand, form in zip(_list_operands(copy), forms, strict=True):
            operand.replace(form)
        return copy

    def _find_operand_forms(self, node: exp.Expr) -> list[exp.Expr] | None:
        """Return the try form of each operand, or None if one has none."""
        forms = [self._to_try_form(operand) for operand in _list_operands(node)]
        found = [form for form in forms if form is not None]
        return found if len(found) == len(forms) else None

    def _is_plain_pattern(self, node: exp.Expr) -> bool:
        """Return whether a node is LIKE or ILIKE on a text, with a literal without backslashes."""
        pattern = unwrap_parentheses(node.expression)
        if isinstance(node, exp.RegexpLike) or not isinstance(pattern, exp.Literal):
            return False
        raw = self._names.tree.raws[self._names.tree.slot_of(pattern)]
        return "\\" not in raw and self._static_type(node.this) == STRING


def _list_operands(node: exp.Expr) -> list[exp.Expr]:
    """Return the operands of an operator, or the arguments of a function."""
    operands = [node.this] if isinstance(node, exp.Cast) else node.iter_expressions()
    return [unwrap_parentheses(operand) for operand in operands]


def _are_comparable(types: list[Type]) -> bool:
    """Return whether Spark certainly compares values of these types without a raising cast."""
    if len(set(types)) == 1:
        return True
    has_fraction = any(t.is_fractional for t in types)
    return all(t.is_numeric and (has_fraction or not t.is_decimal) for t in types)


def _never_raises(name: str, types: list[Type]) -> bool:
    """Return whether a function certainly never raises on arguments of these types."""
    kinds = (
        _ANY_NUMBER[name] * len(types) if name in _ANY_NUMBER else _TOTAL_FUNCTIONS.get(name, "")
    )
    fits = [_ARGUMENT_KINDS[kind](type_) for kind, type_ in zip(kinds, types, strict=False)]
    return bool(fits) and all(fits) and len(types) <= len(kinds)
