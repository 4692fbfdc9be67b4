"""The result types of Spark's functions and operators, for derived attributes.

Only functions whose value is a function of the event stand here. A row function that is missing
(`covey.language.row_functions` has all) works when its result is cast: `CAST(f(x) AS DOUBLE)` has a
type whatever `f` is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from covey.language.coerce import as_decimal, common_of_list, common_of_pair
from covey.space.space import Settings
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
    array,
    decimal,
    vector,
)  # fmt: skip

__all__ = ["FUNCTIONS", "arithmetic", "common"]

Rule = Callable[[Sequence[Type], Settings], Type | None]
"""Types of the arguments → type of the result, or `None` where they do not fit."""


def common(types: Sequence[Type], settings: Settings) -> Type | None:
    """The one type of several alternatives of which none is cast to or from text."""
    known = [t for t in types if t != VOID] or [VOID]
    if len(set(known)) > 1 and any(
        t == STRING or not (t.is_numeric or t.is_datetime) for t in known
    ):
        return None
    return common_of_list(known, settings)


def arithmetic(op: str, a: Type, b: Type, settings: Settings) -> Type | None:
    """The type of `a op b`; decimals by Spark's rules of precision."""
    if not (a.is_numeric and b.is_numeric):
        return None
    if op == "div":
        return BIGINT
    if a.is_fractional or b.is_fractional or (op == "/" and a.is_integral and b.is_integral):
        return DOUBLE if op == "/" else common_of_pair(a, b, settings)
    if a.is_integral and b.is_integral:
        return common_of_pair(a, b, settings)
    p, q = as_decimal(a), as_decimal(b)
    scale = max(p.scale, q.scale)
    whole = max(p.precision - p.scale, q.precision - q.scale)
    if op in "+-":
        return _adjusted(whole + scale + 1, scale)
    if op == "*":
        return _adjusted(p.precision + q.precision + 1, p.scale + q.scale)
    if op == "%":
        return _adjusted(min(p.precision - p.scale, q.precision - q.scale) + scale, scale)
    scale = max(6, p.scale + q.precision + 1)
    return _adjusted(p.precision - p.scale + q.scale + scale, scale)


def _adjusted(precision: int, scale: int) -> Type:
    if precision <= 38:
        return decimal(precision, scale)
    return decimal(38, max(38 - (precision - scale), min(scale, 6)))


def _always(result: Type) -> Rule:
    return lambda types, _: result


def _of_text(result: Type) -> Rule:
    return lambda types, _: (
        result if types and all(t.is_scalar or t == VOID for t in types) else None
    )


def _of_number(result: Type) -> Rule:
    return lambda types, _: result if types and all(t.is_numeric for t in types) else None


def _of_date(result: Type) -> Rule:
    return lambda types, _: (
        result if types and (types[0].is_datetime or types[0] == STRING) else None
    )


def _of_array(result: Type) -> Rule:
    return lambda types, _: result if types and types[0].name == "array" else None


def _of_vectors(types: Sequence[Type], settings: Settings) -> Type | None:
    return FLOAT if types and all(t.element == FLOAT for t in types) else None


def _same(types: Sequence[Type], settings: Settings) -> Type | None:
    return types[0] if types and types[0].is_numeric else None


def _same_array(types: Sequence[Type], settings: Settings) -> Type | None:
    return array(types[0].element) if types and types[0].element is not None else None


def _element(types: Sequence[Type], settings: Settings) -> Type | None:
    return types[0].element if types and types[0].name == "array" else None


def _rounded(types: Sequence[Type], settings: Settings) -> Type | None:
    return types[0] if types and (types[0].is_integral or types[0].is_fractional) else None


def _contains(types: Sequence[Type], settings: Settings) -> Type | None:
    return BOOLEAN if len(types) == 2 and types[0].element == types[1] else None


def _overlap(types: Sequence[Type], settings: Settings) -> Type | None:
    same = len(types) == 2 and types[0].name == "array" and types[0].element == types[1].element
    return BOOLEAN if same else None


def _floored(types: Sequence[Type], settings: Settings) -> Type | None:
    if len(types) != 1 or not types[0].is_numeric:
        return None
    one = types[0]
    if not one.is_decimal:
        return BIGINT
    return one if one.scale == 0 else decimal(one.precision - one.scale + 1, 0)


def _made_array(types: Sequence[Type], settings: Settings) -> Type | None:
    element = common(types, settings)
    if element == FLOAT:
        return vector(len(types))
    return array(element) if element is not None else None


def _concat(types: Sequence[Type], settings: Settings) -> Type | None:
    if types and all(t.name == "array" for t in types):
        return _same_array(types, settings) if len(set(types)) == 1 else None
    return _of_text(STRING)(types, settings)


def _chosen(types: Sequence[Type], settings: Settings) -> Type | None:
    return common(types[1:], settings) if len(types) == 3 and types[0] == BOOLEAN else None


def _truncated_time(types: Sequence[Type], settings: Settings) -> Type | None:
    return TIMESTAMP if len(types) == 2 and (types[1].is_datetime or types[1] == STRING) else None


def _names(rule: Rule, names: str) -> dict[str, Rule]:
    """One rule for several functions, each with how many arguments it takes: `f/2` or `f/1-3`."""
    table = {}
    for word in names.split():
        name, _, arity = word.partition("/")
        least, _, most = arity.partition("-")
        table[name] = _counted(rule, int(least), int(most or least))
    return table


def _counted(rule: Rule, least: int, most: int) -> Rule:
    return lambda types, settings: rule(types, settings) if least <= len(types) <= most else None


_ANY = 9999

FUNCTIONS: dict[str, Rule] = {
    **_names(_of_text(STRING), "lower/1 lcase/1 upper/1 ucase/1 trim/1 ltrim/1 rtrim/1 btrim/1-2"
             " initcap/1 substring/2-3 substr/2-3 left/2 right/2 lpad/2-3 rpad/2-3 replace/2-3"
             " regexp_replace/3-4 regexp_extract/2-3 translate/3 repeat/2 get_json_object/2"
             f" split_part/3 concat_ws/2-{_ANY} soundex/1 substring_index/3"),
    **_names(_of_text(INT), "length/1 char_length/1 character_length/1 ascii/1 instr/2 locate/2-3"
             " levenshtein/2-3 bit_length/1 octet_length/1"),
    **_names(_of_text(BOOLEAN), "startswith/2 endswith/2 contains/2 rlike/2 regexp_like/2"),
    **_names(_of_text(TAGS), "split/2-3"),
    **_names(_concat, f"concat/1-{_ANY}"),
    **_names(_of_number(DOUBLE), "sqrt/1 exp/1 ln/1 log/1-2 log10/1 log2/1 log1p/1 expm1/1 pow/2"
             " power/2 sin/1 cos/1 tan/1 asin/1 acos/1 atan/1 atan2/2 sinh/1 cosh/1 tanh/1"
             " radians/1 degrees/1 hypot/2 cbrt/1"),
    **_names(_same, "abs/1 negative/1 positive/1"),
    **_names(_rounded, "round/1-2 bround/1-2"),
    **_names(_floored, "floor/1 ceil/1 ceiling/1"),
    **_names(_of_number(BOOLEAN), "isnan/1"),
    **_names(_of_date(INT), "year/1 month/1 day/1 dayofmonth/1 dayofweek/1 dayofyear/1"
             " weekofyear/1 weekday/1 quarter/1 hour/1 minute/1 second/1 datediff/2 date_diff/2"),
    **_names(_of_date(DATE), "to_date/1-2 date_add/2 date_sub/2 last_day/1 add_months/2"),
    **_names(_truncated_time, "date_trunc/2"),
    **_names(_always(BOOLEAN), "isnull/1 isnotnull/1"),
    **_names(_always(INT), f"hash/1-{_ANY}"),
    **_names(_always(BIGINT), f"xxhash64/1-{_ANY}"),
    **_names(_of_array(INT), "size/1 cardinality/1 array_size/1"),
    **_names(_of_array(BIGINT), "array_position/2"),
    **_names(_contains, "array_contains/2"),
    **_names(_overlap, "arrays_overlap/2"),
    **_names(_of_vectors, "vector_l2_distance/2 vector_cosine_similarity/2"
             " vector_inner_product/2"),
    **_names(_same_array, "array_distinct/1 sort_array/1-2 array_remove/2 array_compact/1"
             " array_union/2 array_intersect/2 array_except/2 slice/3"),
    **_names(_element, "element_at/2 get/2 array_min/1 array_max/1"),
    **_names(_made_array, f"array/1-{_ANY}"),
    **_names(common, f"coalesce/1-{_ANY} ifnull/2 nvl/2 greatest/2-{_ANY} least/2-{_ANY}"),
    **_names(_chosen, "if/3"),
}  # fmt: skip
