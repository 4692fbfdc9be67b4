"""The result types of Spark's functions and operators, for derived attributes.

Only functions whose value is a function of the event stand here. A function that is missing works
when its result is cast: `CAST(f(x) AS DOUBLE)` has a type whatever `f` is.
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

__all__ = ["CHANGING", "FUNCTIONS", "arithmetic", "common"]

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
    return dict.fromkeys(names.split(), rule)


FUNCTIONS: dict[str, Rule] = {
    **_names(_of_text(STRING), "lower lcase upper ucase trim ltrim rtrim btrim initcap substring"
             " substr left right lpad rpad replace regexp_replace regexp_extract translate repeat"
             " get_json_object split_part concat_ws soundex substring_index"),
    **_names(_of_text(INT), "length char_length character_length ascii instr locate levenshtein"
             " bit_length octet_length"),
    **_names(_of_text(BOOLEAN), "startswith endswith contains rlike regexp_like"),
    **_names(_of_text(TAGS), "split"),
    **_names(_concat, "concat"),
    **_names(_of_number(DOUBLE), "sqrt exp ln log log10 log2 log1p expm1 pow power sin cos tan"
             " asin acos atan atan2 sinh cosh tanh radians degrees hypot cbrt"),
    **_names(_same, "abs negative positive"),
    **_names(_rounded, "round bround"),
    **_names(_floored, "floor ceil ceiling"),
    **_names(_of_number(BOOLEAN), "isnan"),
    **_names(_of_date(INT), "year month day dayofmonth dayofweek dayofyear weekofyear weekday"
             " quarter hour minute second datediff date_diff"),
    **_names(_of_date(DATE), "to_date date_add date_sub last_day add_months"),
    **_names(_truncated_time, "date_trunc"),
    **_names(_always(BOOLEAN), "isnull isnotnull"),
    **_names(_always(INT), "hash"),
    **_names(_always(BIGINT), "xxhash64"),
    **_names(_of_array(INT), "size cardinality array_size"),
    **_names(_of_array(BIGINT), "array_position"),
    **_names(_contains, "array_contains"),
    **_names(_overlap, "arrays_overlap"),
    **_names(_of_array(FLOAT), "vector_l2_distance vector_cosine_similarity vector_inner_product"),
    **_names(_same_array, "array_distinct sort_array array_remove array_compact array_union"
             " array_intersect array_except slice"),
    **_names(_element, "element_at get array_min array_max"),
    **_names(_made_array, "array"),
    **_names(common, "coalesce ifnull nvl greatest least"),
    **_names(_chosen, "if"),
}  # fmt: skip

CHANGING = frozenset(
    [
        "rand",
        "randn",
        "random",
        "uuid",
        "shuffle",
        "now",
        "current_date",
        "curdate",
        "current_timestamp",
        "localtimestamp",
        "current_time",
        "current_user",
        "user",
        "session_user",
        "current_timezone",
        "monotonically_increasing_id",
        "input_file_name",
        "spark_partition_id",
        "count",
        "sum",
        "avg",
        "mean",
        "min",
        "max",
        "first",
        "last",
        "collect_list",
        "collect_set",
        "row_number",
        "rank",
        "lag",
        "lead",
    ]
)
"""Functions whose value is not one of the event alone."""
