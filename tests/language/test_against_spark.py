"""Spark is the oracle: regions contain exactly the rows that `where` keeps.

The full comparison (5,000 predicates in five sessions) is `python -m benchmarks language`.
"""

from __future__ import annotations

import random
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from covey import Events, SessionSettings, Space, parse
from covey.geometry.distances import Metric, score_rows
from covey.index import BruteForceIndex
from covey.testing.random_cases import random_events, random_predicate, random_space
from covey.testing.spark_oracle import compare_with_spark, configure_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.integration


@pytest.mark.usefixtures("code_generation")
def test_random_predicates_match_like_compiled_ones_of_spark(spark: SparkSession) -> None:
    compare_random_predicates(spark, SessionSettings("UTC", True), seed=11)


@pytest.mark.parametrize(
    ("settings", "seed"),
    [
        (SessionSettings("America/New_York", True), 12),
        (SessionSettings("Europe/Berlin", False), 13),
    ],
    ids=str,
)
def test_random_predicates_match_like_spark(
    spark: SparkSession, settings: SessionSettings, seed: int
) -> None:
    compare_random_predicates(spark, settings, seed)


def compare_random_predicates(spark: SparkSession, settings: SessionSettings, seed: int) -> None:
    rng = random.Random(seed)
    space = random_space(settings)
    table = random_events(rng, space, 100)
    texts = [random_predicate(rng, space) for _ in range(200)]
    report = compare_with_spark(spark, space, table, texts)
    assert report.disagreements == []
    assert report.parsed_count >= 0.95 * len(texts)


def test_integers_beside_decimals_have_the_precision_of_spark(
    spark: SparkSession,
) -> None:
    small = Decimal("0.00000000000000000000000000000000000001")
    values = {
        "d": (pa.decimal128(38, 38), [Decimal(0), small, -small, Decimal("0.5"), None]),
        "e": (pa.decimal128(38, 0), [Decimal(0), Decimal(10**37), Decimal(-1), Decimal(1), None]),
        "f": (pa.decimal128(20, 10), [Decimal(0), Decimal(1), Decimal("1E-10"), Decimal(-1), None]),
    }
    table = pa.table({name: pa.array(numbers, type_) for name, (type_, numbers) in values.items()})
    texts = [
        f"{name} {op} {literal}"
        for name in values
        for op in ("=", "<>", "<", ">=", "<=>")
        for literal in ("0Y", "1Y", "-1Y", "0S", "0", "0L", "100", "1S", "127Y")
    ]
    texts += ["d IN (0Y, 1Y)", "d IN (0, 1)", "d + 0Y > 0", "e * 1Y = 1", "f - 1Y < 0"]
    report = compare_with_spark(spark, Space.from_arrow(table.schema), table, texts)
    assert report.disagreements == []
    assert report.parsed_count == len(texts)


def test_a_minus_binds_more_tightly_than_a_cast_before_numbers(spark: SparkSession) -> None:
    table = pa.table(
        {
            "b": pa.array([-128, -1, 1, 127, None], pa.int8()),
            "i": pa.array([-128, -1, 1, 2, None], pa.int32()),
            "t": pa.array(["-1", "2020-1-1", "-1.5", "2020-01-01", "-1a"], pa.string()),
            "d": pa.array([-1.0, 1.0, -1.5, -0.5, None], pa.float64()),
            "e": pa.array([Decimal(-1), Decimal(1), Decimal("-1.5"), Decimal(0), None]).cast(
                pa.decimal128(38, 37)
            ),
        }
    )
    values = [
        "-128::TINYINT", "- 128::TINYINT", "-128Y::TINYINT", "-1::STRING", "-1::STRING || 'a'",
        "'-' || 1::STRING", "-i::STRING", "- 1::STRING", "-(1)::STRING", "1::INT::STRING",
        "-1::INT::STRING", "- -1::INT", "-1.5::STRING", "-1.5D::STRING", "-1e0::STRING",
        "i -1::INT", "2*-1::INT", "-i::STRING::INT", "-(1::INT)", "-(-1)::INT", "-/* x */1::INT",
        "-\n1::INT", "-128::TINYINT + 1", "-.5::DOUBLE", "-1.::DOUBLE", "-1::DECIMAL(3,1)",
        "-1L::INT", "-abs(i)::INT", "CASE WHEN i > 0 THEN -1::INT END", "-2147483648::INT", "+1",
        "+ 1", "-1", "- 1", "+0", "+1Y", "-+1", "- - 1", "i::INT - -1::INT", "'a' 'b'::STRING",
        "DATE '2020-01-01'::STRING", "(DATE '2020-01-01')::STRING",
        "(TIMESTAMP '2020-01-01')::DATE",
    ]  # fmt: skip
    texts = [f"{name} = {value}" for name in "bte" for value in values]
    texts += ["i IN (-1::INT, - 2::INT, i)", "i BETWEEN -1::INT AND -(-1)::INT", "NOT -1::INT = i"]
    texts += ["t LIKE -1::STRING", "t LIKE -1::STRING || '%'", "e IN (+1, 0)", "e > +0 OR e < + 0"]
    for ansi in (True, False):
        settings = SessionSettings("UTC", ansi)
        space = Space.from_arrow(table.schema, settings=settings)
        report = compare_with_spark(spark, space, table, texts)
        assert report.disagreements == []
        assert report.parsed_count >= 0.8 * len(texts)


@pytest.mark.parametrize("time_zone", ["UTC", "Europe/Berlin", "America/New_York"])
def test_literals_become_the_same_texts_as_in_spark(spark: SparkSession, time_zone: str) -> None:
    literals = [
        *(f"DATE '{day}'" for day in DAYS),
        *(f"{kind} '{day} {clock}'" for day in DAYS for kind in KINDS for clock in CLOCKS),
        "TIMESTAMP '294247-01-10 04:00:54.775807Z'", "TIMESTAMP '-290308-12-21 19:59:05.224192Z'",
        "0.0", "-0.0", "-0.00", "1e-10BD", "-1e-7BD", "0.000001", "0e-7BD", "0e5BD", "1e3BD",
        "100BD", "1e37BD", "00012.50", "123456789012345678901234567890.12345678", "1Y", "-5",
        "- 5S", "-0", "-5L", "+5", "9223372036854775808", "-0.0000000",
    ]  # fmt: skip
    configure_session(spark, settings := SessionSettings(time_zone, False))
    shown = spark.range(1).selectExpr(*(f"CAST({one} AS STRING)" for one in literals)).collect()[0]
    words = sorted({*shown, *(word.lstrip("+") for word in shown), "a", "-0", "0", "0.0"})
    space = Space.from_types({"u": pa.string()}, settings=settings)
    texts = [f"u IN ({one}, 'a')" for one in literals]
    texts += [f"u NOT IN ('b', {one})" for one in literals]
    report = compare_with_spark(spark, space, pa.table({"u": words}), texts)
    assert report.disagreements == []
    assert report.parsed_count == len(texts)


DAYS = (
    "+10000-01-01", "+99999-12-31", "-0001-01-01", "-0044-03-15", "0000-01-01", "0001-01-01",
    "1582-10-10", "1970-01-01", "9999-12-31", "-10000-02-29",
)  # fmt: skip
KINDS = ("TIMESTAMP", "TIMESTAMP_NTZ")
CLOCKS = ("00:00:00", "01:02:03.4", "23:59:59.000001", "12:00:00.120")


EMBEDDED = Space.from_types({"n": pa.int32(), "v": pa.list_(pa.float32())}, vectors={"v": 2})


@pytest.mark.parametrize(
    "text",
    [
        "vector_l2_distance(v, array(0F, 0F)) < 5",
        "NOT (vector_l2_distance(v, array(0F, 0F)) < 5)",
        "n = 1 OR vector_l2_distance(v, array(0F, 0F)) < 5",
        "vector_l2_distance(v, array(0F, 0F)) < 5 OR n = 1",
        "NOT (n <> 1 AND vector_l2_distance(v, array(0F, 0F)) < 5)",
        "(n = 1 AND vector_cosine_similarity(v, array(1F, 1F)) > 0.5) OR n = 2",
        "(n = 2 OR vector_cosine_similarity(v, array(1F, 1F)) > 0.5) AND n IS NOT NULL",
        "v IS NULL OR vector_cosine_similarity(v, array(1F, 1F)) <= 0.5 OR n = 2",
        "vector_l2_distance(v, array(0F, 0F)) BETWEEN 1 AND 5 OR v IS NULL",
        "vector_l2_distance(v, array(0F, 0F)) < 5 OR 1 = 1",
        "(vector_l2_distance(v, array(0F, 0F)) < 5 AND false) OR n = 2",
        "vector_l2_distance(v, array(0F, 0F)) < NULL OR n = 2",
    ],
)
def test_rows_on_which_spark_raises_do_not_match(spark: SparkSession, text: str) -> None:
    from pyspark.errors import PySparkException

    configure_session(spark, EMBEDDED.settings)
    vectors = [
        [3.0, 4.0],
        [0.0, 0.0],
        [1.0],
        [],
        None,
        [1.0, None],
        [1.0, float("nan")],
        [1.0, 2.0, 3.0],
    ]
    rows = [(n, v) for n in (1, 2, None) for v in vectors]
    table = pa.table(
        {
            "n": pa.array([n for n, _ in rows], pa.int32()),
            "v": pa.array([v for _, v in rows], pa.list_(pa.float32())),
        }
    )
    # Not a local relation: Spark would decide its rows before it simplifies the predicate.
    numbered = table.append_column("i", pa.array(range(len(rows)), pa.int32()))
    frame = spark.createDataFrame(numbered, "n int, v array<float>, i int").coalesce(1).cache()
    theirs = []
    for i in range(len(rows)):
        try:
            theirs.append(frame.where(f"i = {i}").where(text).count() == 1)
        except PySparkException:
            theirs.append(False)
    frame.unpersist()
    ours = BruteForceIndex(parse(EMBEDDED, [text]).regions).match(
        Events.from_arrow(table, EMBEDDED)
    )
    assert [i in set(ours.query_rows.tolist()) for i in range(len(rows))] == theirs


@pytest.mark.parametrize("length", [1, 7, 8, 9, 40, 384])
def test_distances_agree_to_the_bit(spark: SparkSession, length: int) -> None:
    rng = np.random.default_rng(length)
    scale = 10.0 ** rng.integers(-12, 12, (300, 1))
    a, b = (
        (rng.normal(size=(300, length)) * scale).astype(np.float32),
        rng.normal(size=(300, length)).astype(np.float32),
    )
    lists = {
        "a": pa.array(a.tolist(), pa.list_(pa.float32())),
        "b": pa.array(b.tolist(), pa.list_(pa.float32())),
    }
    frame = spark.createDataFrame(pa.table(lists))
    computed = frame.selectExpr(
        "vector_l2_distance(a, b)", "vector_cosine_similarity(a, b)"
    ).toArrow()
    for metric in Metric:
        scores, defined = score_rows(metric, a, b)
        theirs = computed.column(int(metric))
        np.testing.assert_array_equal(defined, np.asarray(theirs.is_valid()))
        np.testing.assert_array_equal(scores[defined], np.asarray(theirs.drop_null(), np.float32))


@pytest.mark.parametrize("ansi", [True, False])
def test_derived_attributes_have_the_types_of_spark(spark: SparkSession, ansi: bool) -> None:
    space = random_space(SessionSettings("UTC", ansi))
    configure_session(spark, space.settings)
    schema = ", ".join(f"{c.name} {str(c.type).split('[')[0]}" for c in space.columns)
    frame = spark.createDataFrame([], schema)
    for text in DERIVED:
        derived = parse(space, [f"({text}) IS NULL"]).space.derived
        (attribute,) = [one for one in derived if not one.is_flag]
        for sql in (attribute.name, attribute.sql):
            theirs = frame.selectExpr(sql).schema[0].dataType.simpleString()
            assert theirs == str(attribute.type).split("[")[0], sql


DERIVED = (
    """
i8 + 1; i8 + i16; i32 * i64; i32 / 2; f32 + i32; f32 * 2; f32 / 2; f64 - d10; d10 + 1; d10 *
d10; d10 / 3; d10 % 7; d3818 * d3818; d3818 / d10; d10 + i32; d10 * i64; i32 div 4; i64 % 5; d10
+ (5); d10 * (- 5); d10 - ((50)); -
d10; abs(f32); abs(d18); floor(d10); ceil(f64); floor(d38); round(f32, 2); round(i32);
sqrt(i32); pow(f64, 2); ln(d10); lower(name); concat(name, 'x'); name || 'x'; length(name);
substring(name, 1, 2); split(name, ' '); split(name, ' ')[0]; year(day); hour(ts);
to_date(name); date_add(day, 3); datediff(day, '2020-01-01'); date_trunc('hour', ts);
coalesce(i8, 3); coalesce(d10, 1); coalesce(f32, 1); greatest(i8, i64); least(d10, d38);
if(flag, i8, i64); CASE WHEN flag THEN d10 ELSE 1 END; size(tags); array_position(tags, 'a');
element_at(tags, 1); tags[0]; array_distinct(tags); who.id; who.nick; CAST(name AS DECIMAL(12,
3)); CAST(ts AS DATE); hash(name); xxhash64(i32); vector_inner_product(vec, vec); array(CAST(f64
AS FLOAT), f32); i8 > i16; name LIKE '%x%'; isnan(f64)
""".replace("\n", " ")
    .strip()
    .split("; ")
)
