"""Result types of Spark's functions and operators, for derived attributes.

All functions in `FUNCTIONS` are row functions. Other row functions (the module `row_functions`
lists all) can be used if their result is cast: the type of `CAST(f(x) AS DOUBLE)` does not depend
on `f`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from covey.language.values.coercion import as_decimal_type, common_type_of_list, common_type_of_pair
from covey.space.space import SessionSettings
from covey.space.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    TAGS,
    TIMESTAMP,
    VOID,
    Type,
    array_type,
    decimal_type,
    vector_type,
)

__all__ = ["FUNCTIONS", "arithmetic_type", "common_branch_type"]

TypeRule = Callable[[Sequence[Type], SessionSettings], Type | None]
"""Function from argument types to the result type, or to None if the types do not fit."""


def common_branch_type(types: Sequence[Type], settings: SessionSettings) -> Type | None:
    """Return the common type of the branches of an expression, or None if there is none.

    If the branches differ in type, all of them must be numbers, dates or times, so that none is
    cast to or from text.
    """
    branch_types = [t for t in types if t != VOID] or [VOID]
    if len(set(branch_types)) > 1 and any(
        t == STRING or not (t.is_numeric or t.is_datetime) for t in branch_types
    ):
        return None
    return common_type_of_list(branch_types, settings)


def arithmetic_type(op: str, a: Type, b: Type, settings: SessionSettings) -> Type | None:
    """Return the type of `a op b`, or None if the operator does not take these types.

    Precision and scale of decimals follow Spark's rules.
    """
    if not (a.is_numeric and b.is_numeric):
        return None
    if op == "div":
        return None if a.is_fractional or b.is_fractional else BIGINT
    if a.is_fractional or b.is_fractional or (op == "/" and a.is_integral and b.is_integral):
        return DOUBLE if op == "/" else common_type_of_pair(a, b, settings)
    if a.is_integral and b.is_integral:
        return common_type_of_pair(a, b, settings)
    p, q = as_decimal_type(a), as_decimal_type(b)
    scale = max(p.scale, q.scale)
    whole_digits = max(p.precision - p.scale, q.precision - q.scale)
    if op in "+-":
        return _adjust_decimal(whole_digits + scale + 1, scale)
    if op == "*":
        return _adjust_decimal(p.precision + q.precision + 1, p.scale + q.scale)
    if op == "%":
        return _adjust_decimal(min(p.precision - p.scale, q.precision - q.scale) + scale, scale)
    scale = max(6, p.scale + q.precision + 1)
    return _adjust_decimal(p.precision - p.scale + q.scale + scale, scale)


def _adjust_decimal(precision: int, scale: int) -> Type:
    """Return the decimal type of a result.

    If the result has more than 38 digits, Spark reduces its scale, but not below 6.
    """
    if precision <= 38:
        return decimal_type(precision, scale)
    return decimal_type(38, max(38 - (precision - scale), min(scale, 6)))


def _always_returns(result: Type) -> TypeRule:
    """Return the rule that the result type is `result` for arguments of any types."""
    return lambda types, _: result


def _text_rule(result: Type) -> TypeRule:
    """Return the rule that the result type is `result` for scalars, which Spark casts to text."""
    return lambda types, _: (
        result if types and all(t.is_scalar or t == VOID for t in types) else None
    )


def _number_rule(result: Type) -> TypeRule:
    """Return the rule that the result type is `result` for numbers."""
    return lambda types, _: result if types and all(t.is_numeric for t in types) else None


def _date_rule(result: Type) -> TypeRule:
    """Return the rule that the result type is `result` if a date, a time or a text comes first.

    Further arguments may have any type.
    """
    return lambda types, _: (
        result if types and (types[0].is_datetime or types[0] == STRING) else None
    )


def _array_rule(result: Type) -> TypeRule:
    """Return the rule that the result type is `result` if the first argument is an array."""
    return lambda types, _: result if types and types[0].name == "array" else None


def _vectors_type(types: Sequence[Type], settings: SessionSettings) -> Type | None:
    return FLOAT if types and all(t.element == FLOAT for t in types) else None


def _same_number_type(types: Sequence[Type], settings: SessionSettings) -> Type | None:
    return types[0] if types and types[0].is_numeric else None


def _same_array_type(types: Sequence[Type], settings: SessionSettings) -> Type | None:
    return array_type(types[0].element) if types and types[0].element is not None else None


def _element_type(types: Sequence[Type], settings: SessionSettings) -> Type | None:
    return types[0].element if types and types[0].name == "array" else None


def _rounded_type(types: Sequence[Type], settings: SessionSettings) -> Type | None:
    return types[0] if types and (types[0].is_integral or types[0].is_fractional) else None


def _contains_type(types: Sequence[Type], settings: SessionSettings) -> Type | None:
    return BOOLEAN if len(types) == 2 and types[0].element == types[1] else None


def _overlap_type(types: Sequence[Type], settings: SessionSettings) -> Type | None:
    fits = len(types) == 2 and types[0].name == "array" and types[0].element == types[1].element
    return BOOLEAN if fits else None


def _floored_type(types: Sequence[Type], settings: SessionSettings) -> Type | None:
    if len(types) != 1 or not types[0].is_numeric:
        return None
    type_ = types[0]
    if not type_.is_decimal:
        return BIGINT
    return type_ if type_.scale == 0 else decimal_type(type_.precision - type_.scale + 1, 0)


def _array_literal_type(types: Sequence[Type], settings: SessionSettings) -> Type | None:
    element = common_branch_type(types, settings)
    if element == FLOAT:
        return vector_type(len(types))
    return array_type(element) if element is not None else None


def _concat_type(types: Sequence[Type], settings: SessionSettings) -> Type | None:
    if types and all(t.name == "array" for t in types):
        return _same_array_type(types, settings) if len(set(types)) == 1 else None
    return _text_rule(STRING)(types, settings)


def _if_type(types: Sequence[Type], settings: SessionSettings) -> Type | None:
    return (
        common_branch_type(types[1:], settings) if len(types) == 3 and types[0] == BOOLEAN else None
    )


def _truncated_time_type(types: Sequence[Type], settings: SessionSettings) -> Type | None:
    return TIMESTAMP if len(types) == 2 and (types[1].is_datetime or types[1] == STRING) else None


def _build_rules(rule: TypeRule, names: str) -> dict[str, TypeRule]:
    """Return a mapping from the names of functions to the rule that these functions share.

    `names` lists the functions, each with its number of arguments, such as `f/2` or `f/1-3`.
    """
    rules = {}
    for word in names.split():
        name, _, arity = word.partition("/")
        min_arguments, _, max_arguments = arity.partition("-")
        rules[name] = _limit_arity(rule, int(min_arguments), int(max_arguments or min_arguments))
    return rules


def _limit_arity(rule: TypeRule, min_arguments: int, max_arguments: int) -> TypeRule:
    """Return a rule that also refuses calls with too few or too many arguments."""
    return lambda types, settings: (
        rule(types, settings) if min_arguments <= len(types) <= max_arguments else None
    )


_ANY_ARITY = 9999

FUNCTIONS: dict[str, TypeRule] = {
    **_build_rules(
        _text_rule(STRING),
        "lower/1 lcase/1 upper/1 ucase/1 trim/1 ltrim/1 rtrim/1 btrim/1-2"
        " initcap/1 substring/2-3 substr/2-3 left/2 right/2 lpad/2-3 rpad/2-3 replace/2-3"
        " regexp_replace/3-4 regexp_extract/2-3 translate/3 repeat/2 get_json_object/2"
        f" split_part/3 concat_ws/2-{_ANY_ARITY} soundex/1 substring_index/3",
    ),
    **_build_rules(
        _text_rule(INT),
        "length/1 char_length/1 character_length/1 ascii/1 instr/2 locate/2-3"
        " levenshtein/2-3 bit_length/1 octet_length/1",
    ),
    **_build_rules(_text_rule(BOOLEAN), "startswith/2 endswith/2 contains/2 rlike/2 regexp_like/2"),
    **_build_rules(_text_rule(TAGS), "split/2-3"),
    **_build_rules(_concat_type, f"concat/1-{_ANY_ARITY}"),
    **_build_rules(
        _number_rule(DOUBLE),
        "sqrt/1 exp/1 ln/1 log/1-2 log10/1 log2/1 log1p/1 expm1/1 pow/2"
        " power/2 sin/1 cos/1 tan/1 asin/1 acos/1 atan/1 atan2/2 sinh/1 cosh/1 tanh/1"
        " radians/1 degrees/1 hypot/2 cbrt/1",
    ),
    **_build_rules(_same_number_type, "abs/1 negative/1 positive/1"),
    **_build_rules(_rounded_type, "round/1-2 bround/1-2"),
    **_build_rules(_floored_type, "floor/1 ceil/1 ceiling/1"),
    **_build_rules(_number_rule(BOOLEAN), "isnan/1"),
    **_build_rules(
        _date_rule(INT),
        "year/1 month/1 day/1 dayofmonth/1 dayofweek/1 dayofyear/1"
        " weekofyear/1 weekday/1 quarter/1 hour/1 minute/1 second/1 datediff/2 date_diff/2",
    ),
    **_build_rules(_date_rule(DATE), "to_date/1-2 date_add/2 date_sub/2 last_day/1 add_months/2"),
    **_build_rules(_truncated_time_type, "date_trunc/2"),
    **_build_rules(_always_returns(BOOLEAN), "isnull/1 isnotnull/1"),
    **_build_rules(_always_returns(INT), f"hash/1-{_ANY_ARITY}"),
    **_build_rules(_always_returns(BIGINT), f"xxhash64/1-{_ANY_ARITY}"),
    **_build_rules(_array_rule(INT), "size/1 cardinality/1 array_size/1"),
    **_build_rules(_array_rule(BIGINT), "array_position/2"),
    **_build_rules(_contains_type, "array_contains/2"),
    **_build_rules(_overlap_type, "arrays_overlap/2"),
    **_build_rules(
        _vectors_type, "vector_l2_distance/2 vector_cosine_similarity/2 vector_inner_product/2"
    ),
    **_build_rules(
        _same_array_type,
        "array_distinct/1 sort_array/1-2 array_remove/2 array_compact/1"
        " array_union/2 array_intersect/2 array_except/2 slice/3",
    ),
    **_build_rules(_element_type, "element_at/2 get/2 array_min/1 array_max/1"),
    **_build_rules(_array_literal_type, f"array/1-{_ANY_ARITY}"),
    **_build_rules(
        common_branch_type,
        f"coalesce/1-{_ANY_ARITY} ifnull/2 nvl/2 greatest/2-{_ANY_ARITY} least/2-{_ANY_ARITY}",
    ),
    **_build_rules(_if_type, "if/3"),
}
"""The rule of each function, by the function's name in lower case."""
