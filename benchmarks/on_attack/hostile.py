"""Hostile predicates: they try to change, stop or delay the results of others, or to run code."""

from __future__ import annotations

from pathlib import Path

__all__ = ["PROPERTY", "hostile_predicates"]

PROPERTY = "covey.attacked"
"""The JVM property that some hostile subscriptions try to set."""

_VALUES = ("i", "l", "d", "p", "t", "u", "tags", "m", "ts", "day", "x", "o", "st", "nums")


def hostile_predicates(folder: Path) -> list[str]:
    """Return all hostile predicates; some try to write a file into `folder`."""
    code = [
        f"CAST({call}('java.lang.System', 'setProperty', '{PROPERTY}', {value}) AS STRING) IS NULL"
        for call in ("reflect", "java_method", "try_reflect")
        for value in ("'yes'", "t", "CAST(i AS STRING)")
    ]
    code += [
        f"{call}('java.lang.System', 'setProperty', '{PROPERTY}', t) = 'a'"
        for call in ("reflect", "`reflect`", "REFLECT", "system.builtin.reflect", "java_method")
    ]
    code += [
        f"t || reflect('java.io.File', 'createTempFile', 'a', 'b', '{folder}') = 'x'",
        f"t LIKE java_method('java.lang.System', 'setProperty', '{PROPERTY}', 'yes')",
        f"tags[reflect('java.lang.System', 'setProperty', '{PROPERTY}', 'yes')] = 'a'",
        "raise_error(t) IS NULL", "assert_true(i > 0) IS NULL",
        "CAST(raise_error('x') AS INT) = 1",
        "current_user() = 'root'", "CAST(current_database() AS STRING) = 'default'",
        "CAST(input_file_name() AS STRING) = ''", "CAST(version() AS STRING) > ''",
        "CAST(session_user() AS STRING) = 'root'", "(SELECT 1) = 1", "i IN (SELECT 1)",
        "EXISTS (SELECT 1)", "i = 1; DROP TABLE x", "i = 1 UNION SELECT 1", "1 = 1) OR (1 = 1",
        "i = 1 -- ", "true /* ", "*", "SELECT true", "WITH a AS (SELECT 1) SELECT true",
    ]  # fmt: skip
    rows = [
        form.format(call)
        for call in (
            "explode(tags)", "explode_outer(tags)", "posexplode(tags)", "inline(array(st))",
            "stack(2, 1, 2)", "window(ts, '1 hour')", "window(ts, '1 hour', '20 minutes')",
            "session_window(ts, '5 minutes')", "json_tuple(t, 'a')", "variant_explode(t)",
            "count(*)", "count(i)", "max(d)", "sum(l)", "collect_list(t)", "first(t)",
            "any_value(t)",
            "row_number() OVER (ORDER BY i)", "lag(i) OVER (ORDER BY l)",
            "rank() OVER (ORDER BY i)",
            "grouping(i)", "approx_percentile(d, 0.5)",
            "percentile_cont(0.5) WITHIN GROUP (ORDER BY d)",
        )
        for form in ("CAST({} AS STRING) = 'x'", "{} = 1", "t || CAST({} AS STRING) = 'x'")
    ]  # fmt: skip
    chance = [
        form.format(call)
        for call in (
            "rand()", "randn()", "uuid()", "random()", "shuffle(tags)", "uniform(1, 10)",
            "randstr(5)", "monotonically_increasing_id()", "spark_partition_id()",
            "current_timestamp()", "now()", "current_date()", "curdate()", "localtimestamp()",
            "unix_timestamp()", "current_time()", "input_file_block_start()",
        )
        for form in ("CAST({} AS STRING) > 'a'", "t || {} = 'a'", "t LIKE CAST({} AS STRING)")
    ]  # fmt: skip
    refused = [
        "medain(d) > 1", "d div 10 = 12", "tags['a'] = 'x'", "t LIKE 'a' ESCAPE 'ab'",
        "t RLIKE '('",
        "lower(t, t) = 'a'", "md5(d, i) = 'a'", "CAST(tags AS INT) = 1",
        "date_format(ts, 'bad') = 'x'",
        "t LIKE 'a\\\\'", "from_utc_timestamp(ts, 'No/Where') > ts", "nosuchcolumn = 1",
        "st.z = 1",
        "st = 1", "m = m", "m > 1", "tags > 1", "x > 1", "array_contains(i, 1)",
        "element_at(i, 1) = 1",
        "CAST(t AS NOTYPE) = 1", "CAST(t AS ARRAY<INT>) IS NULL", "t COLLATE NOSUCH = 'a'",
        "to_date(t, 'QQQQQQ') = day", "from_json(t, 'not a schema') IS NULL", "d IN (t, m)",
        "extract(NOSUCH FROM ts) = 1", "INTERVAL 1 NOSUCH = d", "sha2(t, 999) = 'a'", "t = X'4'",
        "aes_decrypt(x, x) = x", "zstd_decompress(x) = x", "i = i.i", "a.b.c.d = 1", "`a`.`b` = 1",
        "encode(t, 'no charset') = x", "conv(t, 99, 99) = 'a'", "format_string('%Q', i) = 'a'",
        "date_trunc('NOSUCH', ts) = ts", "parse_json('{') IS NULL", "to_number(t, 'Z') = 1",
    ]  # fmt: skip
    raising = [
        form.format(call)
        for call in (
            "i / 0", "d / i", "l % s", "p / p", "CAST(t AS INT)", "CAST(t AS DATE)",
            "CAST(d AS INT)",
            "CAST(l AS TINYINT)", "tags[5]", "nums[i]", "element_at(nums, 9)",
            "element_at(m, 'zz')", "try_element_at(nums, i)", "element_at(nums, -2147483648)",
            "split_part(t, ',', i)", "get(nums, i)", "hash(i / s)", "(i <=> t)",
            "i * 2147483647", "l + 9223372036854775807", "-s - 32768Y", "abs(b)", "negative(l)",
            "to_date(t, 'yyyy')", "to_timestamp(t, 'yyyy')", "make_date(i, s, b)",
            "date_add(day, i)",
            "sequence(i, l)", "array_repeat(t, 10)", "conv(t, 10, 36)", "elt(i, t, u)",
            "unhex(t)", "decode(x, 'UTF-8')", "url_decode(t)", "map_from_arrays(tags, tags)",
            "from_utc_timestamp(ts, t)", "to_number(t, '999')", "bround(p, i)", "next_day(day, t)",
            "add_months(day, i)", "timestamp_seconds(l)", "chr(l)", "substring(t, i, s)",
            "format_string(t, i)", "regexp_extract(t, '(a)', 5)", "split_part(t, ',', 0)",
        )
        for form in ("{} IS NULL", "CAST({} AS STRING) > '1' OR n % 2 = 0")
    ]  # fmt: skip
    large = [
        "repeat(t, 2000000000) = 'a'", "space(2147483647) = t", "lpad(t, 2000000000, 'x') = 'a'",
        "rpad(t, i, 'x') = 'a'", "size(array_repeat(t, 1000000000)) = 1",
        "sequence(1, 1000000000)[0] = 1",
        "length(repeat(repeat(repeat(t, 9999), 9999), 9999)) > 1", "hex(hex(hex(hex(t)))) = 'a'",
        "t RLIKE '(a+)+$'", "t RLIKE '(a|a)*b'", "t RLIKE '(.*)*x'", "t RLIKE '(a*)*\\\\1'",
        "regexp_replace(t, '(x+x+)+y', '') = 'a'", "t RLIKE u", "t LIKE u",
        "split(t, '(a+)+b')[0] = 'a'",
        "/*" * 2_000, "i IN (" + " " * 4_000 + "1)", "(" * 2_000 + "i = 1" + ")" * 2_000,
        "NOT " * 1_000 + "o", "i = " + "-" * 3_000 + "1", " OR ".join(["i = 1"] * 600),
        "i IN (" + ", ".join(map(str, range(20_000))) + ")", "'" * 3_001,
        "t = '" + "a" * 100_000 + "'",
        "CASE " + "WHEN i = 1 THEN true " * 190 + "END", "coalesce(" + "i, " * 1_000 + "1) = 1",
    ]  # fmt: skip
    costly = [
        "xpath_string(t, '/a') = 'b'", "xpath_boolean(t, u)", "size(xpath(t, '//a')) > 0",
        "hll_sketch_estimate(x) > 1", "theta_sketch_estimate(x) > 1",
        "kll_sketch_get_n_bigint(x) > 1", "kll_sketch_to_string_bigint(x) = 'a'",
        "bitmap_count(x) > 0", "format_string('%999999999d', i) = 'a'",
        "format_string('%2$999999999s', i, t) = 'a'", "printf('%.999999999f', d) = 'a'",
        "array_insert(nums, 2000000000, 1)[0] = 1", "size(array_insert(nums, i, 1)) > 2",
        "round(p, -2000000000) = 1", "bround(d, 2147483647) = 1", "ceil(p, -999999999) = 1",
        "floor(p, 999999999) = 1", "t LIKE '%a%a%a%a%a%b'", "t LIKE concat('%', u, '%', u, '%b')",
        "t ILIKE '%a_%a_%a_%b'", "t LIKE ALL ('%a%a%a%b', 'a%')", "t LIKE ANY ('%', u)",
        "t RLIKE 'a*a*a*a*b'", "t RLIKE '.*.*.*=.*'", "t RLIKE '(?x) a + a + b'",
        "t RLIKE '^(([a-z])+.)+[A-Z]([a-z])+$'", "t RLIKE '(a|ab)(c|bcd)(d*)*'",
        "t RLIKE '[a[b]]+[a&&[a]]+$'", "t RLIKE '(?<x>a)\\\\k<x>'", "t RLIKE 'a{1,9999}{1,9999}'",
        "regexp_count(t, '(a{0,30}){0,30}b') = 1", "regexp_extract_all(t, '(.+)+$')[0] = 'a'",
        "levenshtein(repeat(t, 9999), repeat(u, 9999)) > 1", "soundex(repeat(t, 99999999)) = 'a'",
        "concat(" + ", ".join(["repeat(t, 9999)"] * 90) + ") = 'a'",
        " || ".join(["repeat(t, 9999)"] * 90) + " = 'a'",
        "reverse(" * 60 + "t" + ")" * 60 + " = 'a'",
        "replace(" * 9 + "t" + ", 'a', 'aaaaaaaaaa')" * 9 + " = 'a'",
        "translate(repeat(t, 9999), 'a', 'b') = 'a'",
        "regexp_replace(t, '', repeat(u, 9999)) = 'a'",
        "overlay(t, repeat(u, 2000000000), 1) = 'a'", "mask(repeat(t, 999999999)) = 'a'",
        "to_json(named_struct('a', repeat(t, 999999999))) = 'a'",
        "array_join(array_repeat(t, 999999999), u) = 'a'", "bin(l) = repeat(t, l)",
        "substring(t, l, 2) = 'a'", "left(t, l) = 'a'", "right(t, l) = 'a'",
        "hour(day) = 1", "minute(day) = 1", "second(day) = 1",
        "try_cast(day AS TIMESTAMP) > ts", "CAST(CAST(day AS TIMESTAMP) AS STRING) > 'a'",
        "date_add(day, 2147483647) > day", "make_interval(i, l) = make_interval(1)",
        "timestampadd(YEAR, i, ts) > ts", "timestampdiff(SECOND, day, ts) > l",
        "CAST(t AS INT8) = 1", "i::STRING::NUMBER = 1", "d = 1e400", "p = 1e-400BD",
        "`reflect`(t) = 'a'", "`t``` = 'a'", "t = '\\u0000'", "t = '\\ud800'", "i = 0x1F",
        "transform(tags, y -> reflect('java.lang.System', 'setProperty', 'a', y))[0] = 'a'",
        "exists(tags, y -> y RLIKE '(a+)+$')", "aggregate(nums, 0L, (a, b) -> a * b + b) > 1",
        "filter(tags, y -> rand() > 0.5)[0] = 'a'", "zip_with(nums, tags, (a, b) -> a)[0] = 1",
    ]  # fmt: skip
    odd = [
        form.format(value)
        for value in _VALUES
        for form in (
            "{0} <=> NULL", "{0} = {0}", "NOT ({0} IS NULL) OR {0} IS NULL", "hash({0}) % 3 = 1",
            "CAST({0} AS STRING) = ''", "coalesce({0}, {0}) IS NULL",
        )
    ]  # fmt: skip
    many = [f"length(t) * {n} > {n}" for n in range(20)]
    deep = [
        "o AND (o OR (" * 20 + "o" + "))" * 20, "length(t)" + " + 1" * 200 + " = 5",
        "i = " + "0" * 5_000 + "1", "i IN (1, " + "0" * 5_000 + "1)",
        "CAST(i AS DECIMAL(" + "0" * 5_000 + "5, 2)) = 1",
        "element_at(tags, '1e1000000') = 'a'", "split_part(t, ',', '1e1000000') = 'a'",
        "l IN (" + ", ".join(f"{9_000 + n}e15" for n in range(200)) + ")",
        "from_json(t, 'a " + "ARRAY<" * 350 + "INT" + ">" * 350 + "') IS NULL",
        "schema_of_json('" + "[" * 5_000 + "]" * 5_000 + "') = t",
        "get_json_object(t, '$" + ".a" * 5_000 + "') = 'a'",
        "date_format(ts, '" + "[" * 9_000 + "y" + "]" * 9_000 + "') = 'a'",
        "parse_url(t, 'QUERY', '" + "(a?" * 5_000 + ")" * 5_000 + "') = 'a'",
        "try_parse_url(t, 'QUERY', u) = 'a'", "t RLIKE '([^\\w\\W]?){250}'",
        "t RLIKE '" + "a?" * 19 + "b'", "t RLIKE '(" + "a?ba?b" * 500 + "){1000}'",
        "t RLIKE '(a|b)*(a|b)*(a|b)*c'", "t RLIKE '(?:a?){40}a{40}'",
    ]  # fmt: skip
    typed = [
        "q * 5 > 1", "q * 7 > 1", "try_multiply(q, 3) > 1", "q / 7 > 0.1", "p * 3Y <= q",
        "b = -128::TINYINT", "t = -1::STRING", "u = -1::STRING || 'a'", "t IN (-1::STRING, 'b')",
        "u IN (DATE '+10000-01-01', 'a')", "u = CAST(DATE '+10000-01-01' AS STRING)",
        "ts > '1965-06-01 00:00:00 Europe/Oslo'", "ts > '1995-06-01 12:00:00 WET'",
        "ts < '2024-01-01 00:00:00 posix/Europe/Berlin'", "ts < '2024-01-01 SystemV/PST8'",
        "from_utc_timestamp(ts, 'right/Europe/Berlin') > ts",
    ]  # fmt: skip
    return [
        *code, *rows, *chance, *refused, *raising, *large, *costly, *odd, *many, *deep, *typed,
    ]  # fmt: skip
