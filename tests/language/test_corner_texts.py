"""Texts that Spark reads differently from what one may expect, each compared with Spark."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from covey import Parser, SessionSettings
from covey.testing.random_cases import random_events, random_space
from covey.testing.spark_oracle import compare_with_spark, configure_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXTS = r"""
i32 IN (1,2) OR i32 = 5
i32 = -1 OR i32 IN (1, 2)
i32 IN ((1), -1)
name IN (('a'), r'ab')
day IN ('2020-02-29', '1970-01-01') OR day = DATE '2024-03-10'
i32 IN (1 /* , 5 */, 2)
i32 IN (-/**/1)
i32 = 1 /* /* */ OR true -- */
i32 = 5 -- it's
i32 = 5 /* ' */ AND name = 'a'
name = "a" OR name = 'it''s'
day = DATE'2024-03-10' OR name IN('a') OR name LIKE'z%' OR day < DATE"1980-01-01"
name = 'a' 'b' OR name = "a" 'bc'
name = r'x\y' OR name = 'x\\y' OR name = '\u0061'
name = '\U0001F600' OR name LIKE 'z%'
name LIKE 'a\%b' OR name LIKE r'a\%b'
name NOT LIKE 'a%' AND name NOT LIKE '%b'
name LIKE 'a!%b' ESCAPE '!'
`i32`>5 OR `i32`<-1
i32>-1 AND i32<=+5
f64=-.5e0 OR f64=1.5
i64 = -9223372036854775808 OR i64 = 9223372036854775807
i64 > 9223372036854775807.5 OR i64 IS NULL
NOT i64 < 99999999999999999999
i8 BETWEEN -99999999999999999999 AND 3
NOT i8 = 3 AND NOT i8 <=> 5
i32 IS DISTINCT FROM 5
i32 IS NOT DISTINCT FROM NULL
(i32 = 5) = true
(i32 IN (1, 2)) IS NOT TRUE
i32 BETWEEN 1 AND 5 AND name BETWEEN 'a' AND 'b' AND i32 IS NOT NULL
i32 NOT BETWEEN 1 AND 5 OR name NOT BETWEEN 'a' AND 'b'
i64 IN ('9007199254740993', 1.5)
i64 IN (1.5, '9007199254740993')
d38 = 1.5 OR d38 = 2.4
d3818 = 0.1234567890123456789012345678
d38 >= -99999999999999999999999999999999999999BD AND d38 <= 99999999999999999999999999999999999999
d38 = -99999999999999999999999999999999999999BD OR d38 = 99999999999999999999999999999999999998BD
d10 IN (1.5, 1.50, 1.500)
i64 = 9007199254740992D
f32 = 0.1 OR f32 = 0.1F
f32 > 0.1 OR f32 < 16777217
f32 = 1.0000000596046447753906250000000000001F OR f32 < '340282356779733661637539395458142568447'
name IN ('a', '0.0') OR i32 IN (-0.0, 7.5)
f64 = 'nan' OR f64 > '1e308' OR f64 <= '-Infinity'
f64 IN (0, -0.0D) OR f64 <=> -0.0D
flag = 'yes' OR flag = ' F '
flag > false AND flag IN (true, NULL)
NOT (flag AND NULL)
day > '2020' AND day < '2024-3'
day = '2024-03-10 anything' OR day = '2024-03-10T'
day >= TIMESTAMP '2024-03-10 02:30:00'
ts = '2024-11-03 01:30:00' OR ts = '2024-11-03 05:30:00Z'
ts > DATE '2024-03-10' AND ts < TIMESTAMP_NTZ '2024-11-03 01:30:00'
ntz >= TIMESTAMP '2024-03-10 02:30:00' OR ntz = TIMESTAMP '2024-11-03 06:30:00Z'
ntz IN (TIMESTAMP '2024-03-10 02:30:00', TIMESTAMP '2024-11-03 06:30:00Z')
ntz IN (TIMESTAMP '2024-11-03 06:30:00Z')
array_contains(tags, '') OR NOT array_contains(tags, 'a')
NOT arrays_overlap(tags, array('a', 'b', NULL)) OR arrays_overlap(array('c'), tags)
array_contains(tags, 'a') AND array_contains(tags, 'a') AND array_contains(tags, 'b')
vector_l2_distance(vec, array(0.1F, 0F, 1F)) = 0
vector_l2_distance(vec, array(0F, 0F, 0F)) > 1e30
0.5 < vector_cosine_similarity(array(1F, 1F, 1F), vec)
vector_l2_distance(CAST(array(0, 0, 1e0) AS ARRAY<FLOAT>), vec) <= 'Infinity'
startswith(name, '') AND NOT startswith(name, 'a')
1 = 1 AND NOT 2 = 3 AND 'a' < 'b'
true OR name = NULL
""".strip().split("\n")


@pytest.mark.integration
@pytest.mark.parametrize(
    "settings", [SessionSettings("America/New_York"), SessionSettings("UTC", ansi=False)], ids=str
)
def test_spark_agrees_on_corner_texts(spark: SparkSession, settings: SessionSettings) -> None:
    space = random_space(settings)
    table = random_events(random.Random(5), space, 400)
    report = compare_with_spark(spark, space, table, TEXTS)
    assert report.disagreements == []
    refused = [str(error) for error in report.rejected.values()]
    assert not refused, refused


@pytest.mark.integration
@pytest.mark.parametrize("zone", ["America/Toronto", "America/Sao_Paulo", "Asia/Kathmandu"])
def test_days_start_at_the_same_instant_as_in_spark(spark: SparkSession, zone: str) -> None:
    """Midnight may fall into a gap of the time zone: the day then starts at the end of the gap."""
    space = random_space(SessionSettings(zone))
    days = ["1919-03-31", "2018-11-04", "2024-03-10", "1985-12-31", "1986-01-01"]
    texts = [f"ts {op} DATE '{day}'" for day in days for op in ("<", "=", ">=")]
    texts += [f"day {op} TIMESTAMP '{day} 00:10:00'" for day in days for op in ("<", ">=")]
    table = random_events(random.Random(6), space, 50)
    starts = spark.sql(f"SELECT explode(array({', '.join(repr(d) for d in days)})) AS d")
    configure_session(spark, space.settings)
    moments = [
        r[0] for r in starts.selectExpr("unix_micros(CAST(CAST(d AS DATE) AS TIMESTAMP))").collect()
    ]
    nearby_times = [
        m + shift for m in moments for shift in (-1, 0, 1, -1_800_000_000, 1_800_000_000)
    ]
    ts = pa.array(nearby_times * 2, pa.timestamp("us", "UTC"))
    table = table.set_column(table.schema.get_field_index("ts"), "ts", ts)
    assert compare_with_spark(spark, space, table, texts).disagreements == []


def test_a_batch_of_texts_has_the_regions_of_each_text_alone() -> None:
    """Compiled templates are shared between texts; literals of one text must not affect another."""
    space = random_space(SessionSettings())
    together = Parser(space).parse(TEXTS)
    for i, text in enumerate(TEXTS):
        alone = Parser(space).parse([text])
        own_regions = together.regions.take((together.predicate_rows == i).nonzero()[0])
        assert len(own_regions) == len(alone.regions), text
        for name, expected in alone.regions.constraints.items():
            shared = own_regions.constraints[name]
            assert shared.rows.tolist() == expected.rows.tolist(), text
            for k in range(len(expected.rows)):
                assert shared.batch.row(k) == expected.batch.row(k), text


@pytest.mark.parametrize(
    "texts",
    [
        ["i64 IN ('9007199254740992', 1.5)", "i64 IN ('9007199254740992', 1.5, '2')"],
        ["d3818 IN (1.5, 2.5)", "d3818 IN (123456789012345678901234.5, 2.5)"],
        ["name LIKE 'a%'", "name LIKE 'a'", "name LIKE '%a'", "name LIKE 'b%'"],
        ["i32 = 5", "i32 = 5000000000", "i32 = 99999999999999999999999"],
        ["name > 5", "name > 5000000000", "name > 99999999999999999999999"],
        ["f64 > 1", "f64 > 1.5", "f64 > 1e0", "f64 > '1'", "f64 > 1F"],
    ],
)
def test_texts_of_one_template_keep_their_own_meaning(texts: list[str]) -> None:
    space = random_space(SessionSettings())
    together = Parser(space).parse(texts)
    for i, text in enumerate(texts):
        alone = Parser(space).parse([text])
        assert (i in together.rejected) == bool(alone.rejected)
        own_regions = together.regions.take((together.predicate_rows == i).nonzero()[0])
        assert {n: g.batch.row(0) for n, g in own_regions.constraints.items()} == {
            n: g.batch.row(0) for n, g in alone.regions.constraints.items()
        }
