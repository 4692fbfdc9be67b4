"""Row functions: the functions of Spark that a predicate may call.

A row function is deterministic and computes one value from the values of one row. Besides these
values, it may depend on the session settings, but on no other row, no clock, no user and no file.
Functions that are not listed are refused, so a function that a later version of Spark adds cannot
be called before it has been reviewed. A test compares the list with the functions of the installed
Spark.

Some arguments are programs themselves, such as patterns and formats, or set the length of a result.
`CHECKED_ARGUMENTS` lists all of them, and `covey.language.semantics.arguments` checks them. Other
arguments are not plain data either, but Spark itself restricts their values: charsets, collations,
units of time, padding modes, formats of `to_binary`, and characters of `mask`. A map of options
cannot be written, because the function `map` is refused.
"""

from __future__ import annotations

from enum import Enum

__all__ = [
    "CHECKED_ARGUMENTS",
    "CLOCK_FUNCTIONS",
    "CODE_DEPENDENT_FUNCTIONS",
    "GRAMMAR_FUNCTIONS",
    "NEEDS_ARGUMENT",
    "REFUSED_FUNCTIONS",
    "ROW_FUNCTIONS",
    "ArgumentKind",
    "find_refusal_reason",
]

_BY_GROUP = {
    "array_funcs": """
        array array_append array_compact array_contains array_distinct array_except array_insert
        array_intersect array_join array_max array_min array_position array_prepend array_remove
        array_repeat array_size array_union arrays_overlap arrays_zip flatten get sequence slice
        sort_array
    """,
    "bitwise_funcs": """
        bit_count bit_get getbit shiftleft shiftright shiftrightunsigned
    """,
    "collection_funcs": """
        cardinality concat element_at reverse size try_element_at
    """,
    "conditional_funcs": """
        coalesce if ifnull nanvl nullif nullifzero nvl nvl2 when zeroifnull
    """,
    "conversion_funcs": """
        bigint binary boolean date decimal double float int smallint string time timestamp
        tinyint
    """,
    "csv_funcs": """
        from_csv schema_of_csv to_csv
    """,
    "datetime_funcs": """
        add_months convert_timezone date_add date_diff date_format date_from_unix_date date_part
        date_sub date_trunc dateadd datediff datepart day dayname dayofmonth dayofweek dayofyear
        extract from_unixtime from_utc_timestamp hour last_day make_date make_dt_interval
        make_interval make_time make_timestamp make_timestamp_ltz make_timestamp_ntz
        make_ym_interval minute month monthname months_between next_day quarter second
        time_bucket time_diff time_from_micros time_from_millis time_from_seconds time_to_micros
        time_to_millis time_to_seconds time_trunc timestamp_micros timestamp_millis
        timestamp_seconds to_date to_time to_timestamp to_timestamp_ltz to_timestamp_ntz
        to_unix_timestamp to_utc_timestamp trunc try_make_interval try_make_timestamp
        try_make_timestamp_ltz try_make_timestamp_ntz try_to_date try_to_time try_to_timestamp
        unix_date unix_micros unix_millis unix_seconds unix_timestamp weekday weekofyear year
    """,
    "lambda_funcs": """
        aggregate array_sort exists filter forall map_filter map_zip_with reduce transform
        transform_values zip_with
    """,
    "hash_funcs": """
        crc32 hash md5 sha sha1 sha2 xxhash64
    """,
    "json_funcs": """
        from_json get_json_object json_array_length json_object_keys schema_of_json to_json
    """,
    "map_funcs": """
        map_contains_key map_entries map_keys map_values
    """,
    "math_funcs": """
        abs acos acosh asin asinh atan atan2 atanh bin bround cbrt ceil ceiling conv cos cosh
        cot csc degrees div e exp expm1 factorial floor greatest hex hypot least ln log log10
        log1p log2 mod negative pi pmod positive pow power radians rint round sec sign signum
        sin sinh sqrt tan tanh try_add try_divide try_mod try_multiply try_subtract unhex
        width_bucket
    """,
    "misc_funcs": """
        aes_decrypt bitmap_bit_position bitmap_bucket_number bitmap_count try_aes_decrypt typeof
    """,
    "predicate_funcs": """
        and between equal_null ilike in isnan isnotnull isnull like not or regexp regexp_like rlike
    """,
    "st_funcs": """
        st_asbinary st_setsrid st_srid
    """,
    "string_funcs": """
        ascii base64 bit_length btrim char char_length character_length chr collate collation
        concat_ws contains decode elt encode endswith find_in_set format_number format_string
        initcap instr is_valid_utf8 lcase left len length levenshtein locate lower lpad ltrim
        luhn_check make_valid_utf8 mask octet_length overlay position printf quote regexp_count
        regexp_extract regexp_extract_all regexp_instr regexp_replace regexp_substr repeat
        replace right rpad rtrim sentences soundex space split split_part startswith substr
        substring substring_index to_binary to_char to_number to_varchar translate trim
        try_to_binary try_to_number try_validate_utf8 ucase unbase64 upper validate_utf8
    """,
    "struct_funcs": """
        named_struct struct
    """,
    "url_funcs": """
        parse_url try_parse_url try_url_decode url_decode url_encode
    """,
    "variant_funcs": """
        is_valid_variant is_variant_null parse_json schema_of_variant to_variant_object
        try_parse_json try_variant_get variant_get
    """,
    "vector_funcs": """
        vector_cosine_similarity vector_inner_product vector_l2_distance vector_norm
        vector_normalize
    """,
    "xml_funcs": """
        from_xml schema_of_xml to_xml
    """,
}
"""Names of the row functions, by the groups of Spark's documentation."""

CLOCK_FUNCTIONS = {
    "curdate": "current_date", "current_date": "current_date",
    "current_timestamp": "current_timestamp", "now": "current_timestamp",
    "localtimestamp": "localtimestamp",
}  # fmt: skip
"""Functions of the time at which events are matched, which is the same for a whole batch; for each
of them, its canonical name."""

GRAMMAR_FUNCTIONS = frozenset({"timestampadd", "timestampdiff"})
"""Functions that Spark's grammar has, but its registry has not."""

NEEDS_ARGUMENT = frozenset({"unix_timestamp", "to_unix_timestamp"})
"""Functions that use the current time if they are called without an argument."""

ROW_FUNCTIONS = GRAMMAR_FUNCTIONS.union(
    CLOCK_FUNCTIONS, *(names.split() for names in _BY_GROUP.values())
)
"""The functions that a predicate may call."""


class ArgumentKind(Enum):
    """Kind of an argument that is checked. The value of a member is the word that messages use."""

    PATTERN = "pattern"
    LIKE_PATTERN = "pattern of LIKE"
    URL_KEY = "key"
    TIME_FORMAT = "format"
    NUMBER_FORMAT = "number format"
    TEXT_FORMAT = "text format"
    SCHEMA = "schema"
    SAMPLE = "sample"
    PATH = "path"
    LOCALE = "language"
    SIZE = "size"
    POSITION = "position"


_CHECKED_PLACES: dict[ArgumentKind, dict[str, tuple[int, ...]]] = {
    # Must be a literal that Java matches in bounded time, unless any_regex is allowed.
    ArgumentKind.PATTERN: {
        "regexp": (1,), "regexp_count": (1,), "regexp_extract": (1,), "regexp_extract_all": (1,),
        "regexp_instr": (1,), "regexp_like": (1,), "regexp_replace": (1,), "regexp_substr": (1,),
        "rlike": (1,), "split": (1,),
    },
    # Must be a literal that Java matches in bounded time, unless any_regex is allowed.
    ArgumentKind.LIKE_PATTERN: {
        "ilike": (1,), "like": (1,),
    },
    # Spark puts the key into a pattern, which must be a literal that Java matches in bounded time.
    ArgumentKind.URL_KEY: {"parse_url": (2,), "try_parse_url": (2,)},
    # Must be a short literal with few nested brackets: Java compiles and runs it recursively.
    ArgumentKind.TIME_FORMAT: {
        "date_format": (1,), "from_unixtime": (1,), "to_char": (1,), "to_date": (1,),
        "to_time": (1,), "to_timestamp": (1,), "to_timestamp_ltz": (1,), "to_timestamp_ntz": (1,),
        "to_unix_timestamp": (1,), "to_varchar": (1,), "try_to_date": (1,), "try_to_time": (1,),
        "try_to_timestamp": (1,), "unix_timestamp": (1,),
    },
    # Must be a short literal.
    ArgumentKind.NUMBER_FORMAT: {"to_number": (1,), "try_to_number": (1,)},
    ArgumentKind.LOCALE: {"sentences": (1, 2)},
    # Must be a literal whose numbers, which are widths, are at most max_growth.
    ArgumentKind.TEXT_FORMAT: {"format_string": (0,), "printf": (0,)},
    # Must be a literal, or a call of schema_of_…() with one, with few nested brackets: Spark parses
    # both recursively, and sends types to workers.
    ArgumentKind.SCHEMA: {
        "from_csv": (1,), "from_json": (1,), "from_xml": (1,), "try_variant_get": (2,),
        "variant_get": (2,),
    },
    ArgumentKind.SAMPLE: {"schema_of_csv": (0,), "schema_of_json": (0,), "schema_of_xml": (0,)},
    # Must be a literal of few steps.
    ArgumentKind.PATH: {"get_json_object": (1,), "try_variant_get": (1,), "variant_get": (1,)},
    # Must be a literal number of at most max_growth: it sets the length of the result.
    ArgumentKind.SIZE: {
        "repeat": (1,), "space": (0,), "lpad": (1,), "rpad": (1,), "array_repeat": (1,),
        "array_insert": (1,), "format_number": (1,), "sequence": (0, 1, 2), "round": (1,),
        "bround": (1,), "ceil": (1,), "ceiling": (1,), "floor": (1,),
    },
    # Must not be the smallest int: Spark would read outside of the array.
    ArgumentKind.POSITION: {"element_at": (1,), "split_part": (2,), "try_element_at": (1,)},
}  # fmt: skip


def _list_by_function() -> dict[str, dict[int, ArgumentKind]]:
    """Return the content of `_CHECKED_PLACES`, by function instead of by kind."""
    checked: dict[str, dict[int, ArgumentKind]] = {}
    for kind, functions in _CHECKED_PLACES.items():
        for name, positions in functions.items():
            checked.setdefault(name, {}).update(dict.fromkeys(positions, kind))
    return checked


CHECKED_ARGUMENTS = _list_by_function()
"""For each function: the kind of each checked argument, by the argument's position from 0."""

REFUSED_FUNCTIONS = {
    "is not a function of the event alone": """
        current_catalog current_database current_path current_schema current_time current_timezone
        current_user input_file_block_length input_file_block_start input_file_name
        monotonically_increasing_id session_user spark_partition_id user version
    """,
    "returns another value on each call": """
        aes_encrypt rand randn random randstr shuffle uniform uuid
    """,
    "depends on more than the event": """
        any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
        approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg
        bitmap_construct_agg bitmap_or_agg bool_and bool_or collect_list collect_set corr count
        count_if count_min_sketch covar_pop covar_samp cume_dist dense_rank every first first_value
        grouping grouping_id histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint
        kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double
        kll_sketch_agg_float kurtosis lag last last_value lead listagg max max_by mean measure
        median min min_by mode nth_value ntile percent_rank percentile percentile_approx
        percentile_cont percentile_disc rank regr_avgx regr_avgy regr_count regr_intercept regr_r2
        regr_slope regr_sxx regr_sxy regr_syy row_number schema_of_variant_agg skewness some std
        stddev stddev_pop stddev_samp string_agg sum theta_intersection_agg theta_sketch_agg
        theta_union_agg try_avg try_sum tuple_intersection_agg_double
        tuple_intersection_agg_integer tuple_sketch_agg_double tuple_sketch_agg_integer
        tuple_union_agg_double tuple_union_agg_integer var_pop var_samp variance vector_avg
        vector_sum
    """,
    "turns events into other rows": """
        collations explode explode_outer inline inline_outer json_tuple posexplode
        posexplode_outer python_worker_logs range session_window sql_keywords stack
        variant_explode variant_explode_outer window window_time
    """,
    "raises an error on purpose": """
        assert_true raise_error
    """,
    "runs code that is not part of Spark SQL": """
        from_avro from_protobuf java_method reflect schema_of_avro to_avro to_protobuf try_reflect
    """,
    "makes Spark fail on all later events after one null or repeated key": """
        map map_concat map_from_arrays map_from_entries str_to_map transform_keys
    """,
    "may read files and URLs that an XML document names": """
        xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number
        xpath_short xpath_string
    """,
    "can crash Spark if its argument is not a valid sketch": """
        approx_top_k_estimate hll_sketch_estimate hll_union kll_sketch_get_n_bigint
        kll_sketch_get_n_double kll_sketch_get_n_float kll_sketch_get_quantile_bigint
        kll_sketch_get_quantile_double kll_sketch_get_quantile_float kll_sketch_get_rank_bigint
        kll_sketch_get_rank_double kll_sketch_get_rank_float kll_sketch_merge_bigint
        kll_sketch_merge_double kll_sketch_merge_float kll_sketch_to_string_bigint
        kll_sketch_to_string_double kll_sketch_to_string_float theta_difference
        theta_intersection theta_sketch_estimate theta_union tuple_difference_double
        tuple_difference_integer tuple_difference_theta_double tuple_difference_theta_integer
        tuple_intersection_double tuple_intersection_integer tuple_intersection_theta_double
        tuple_intersection_theta_integer tuple_sketch_estimate_double
        tuple_sketch_estimate_integer tuple_sketch_summary_double tuple_sketch_summary_integer
        tuple_sketch_theta_double tuple_sketch_theta_integer tuple_union_double
        tuple_union_integer tuple_union_theta_double tuple_union_theta_integer
    """,
    "can crash Spark if its argument is not a valid geometry": """
        st_geogfromwkb st_geomfromwkb
    """,
}
"""By the reason that messages give: the functions of Spark that a predicate may not call."""

_REASONS = {name: reason for reason, names in REFUSED_FUNCTIONS.items() for name in names.split()}


CODE_DEPENDENT_FUNCTIONS = frozenset(
    {"element_at", "levenshtein", "trunc", "try_make_timestamp", "try_make_timestamp_ltz",
     "try_make_timestamp_ntz"}
)  # fmt: skip
"""Functions for which Spark's generated code and its interpreter have different results, unless the
last argument is a literal. (`levenshtein` differs only with three arguments.)

`where` generates code, but functions with -> are interpreted. So a condition with such a call
cannot be late."""


def find_refusal_reason(name: str) -> str | None:
    """Return the reason why a function of Spark may not be called, as the end of a message.

    Return None for row functions and for unknown names.

    >>> find_refusal_reason("uuid"), find_refusal_reason("lower"), find_refusal_reason("medain")
    ('returns another value on each call', None, None)
    """
    return _REASONS.get(name)
