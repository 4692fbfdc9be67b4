"""Subscriptions of a DataFrame into a store: one pass over them, then one task.

Workers parse and index in parallel, each its part, and write what they have; a single task then
makes one segment of it. The driver sees names of files.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from uuid import uuid4

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType, StructType

from covey.errors import PredicateError, ValueRefused
from covey.space import Attribute, Space, Type
from covey.spark.analysis import SparkTypes
from covey.spark.encode import Encoding, EncodingAgain
from covey.spark.fitted import Fitted
from covey.spark.ids import IdType
from covey.spark.lifetimes import LIFETIME, lifetime_range
from covey.spark.outcomes import ASKED, PUT, REMOVED, WAITING, outcome_schema
from covey.spark.params import MatcherParams
from covey.spark.places import spark_path
from covey.spark.ranges import Range, holds
from covey.spark.schemas import attribute_type, column_named
from covey.spark.task import in_a_task, told
from covey.store import Prepared, Store
from covey.store.spaces import space_from_json, space_to_json

__all__ = ["subscribe", "type_of"]

Load = Callable[[int, Space, Sequence[Prepared]], dict[str, Any] | None]
"""From a version, the space of predicates and what was prepared, to what `_load` would say."""

_DEFAULT_PARALLELISM = 8
"""Tasks where a plan does not tell how many run at once."""
_MAX_PARALLELISM = 1000
_MAX_TURNS = 5
_MAX_ASKED = 10_000
"""How often Spark is asked about expressions during a fit, and about how many each time."""


def subscribe(
    frame: DataFrame,
    params: MatcherParams,
    place: str,
    space: Space,
    base: int,
    removed: Column | None = None,
    refused: Column | None = None,
    load: Load | None = None,
    known: Sequence[Attribute] = (),
) -> Fitted:
    """Puts the subscriptions of a DataFrame to those of version `base`, as the next version.

    Those for which `removed` is true are taken away instead, and those for which `refused` says why
    are rejected. `load` makes the version where that
    is not to be one segment, if it finds so. `known` are the derived attributes of the version.

    Cost: a shuffle of the subscriptions, parsing and indexing in parallel, and a merge in one task.
    Subscriptions with expressions that are not known wait until Spark has analysed these, and are
    parsed again then.
    """
    spark, started = frame.sparkSession, time.perf_counter()
    id_name = params.given(params.idCol)
    id_type = type_of(frame, id_name, "idCol")
    ranges = _ranges(params)
    has_predicates = not params.isDefined(params.rangeCols)
    is_removed = (F.lit(False) if removed is None else removed).alias("removed")
    why_refused = (F.lit(None).cast("string") if refused is None else refused).alias("refused")
    chosen = frame.select(is_removed, why_refused, *_columns(frame, params, space, ranges))
    # What becomes one segment is prepared in few large parts, and zones out of as many as Spark
    # makes of its own accord: a worker then never needs room for more than one of them.
    if load is None:
        parts = chosen.repartition(2 * _parallelism(spark), "id")
    else:
        parts = chosen.repartition("id")
    rejected = f"rejected/{uuid4().hex}"
    path = spark_path(f"{place}/{rejected}")
    encoding = Encoding(place, base, space, IdType.of(id_name, id_type), ranges, has_predicates)
    schema = outcome_schema(id_type)
    types = SparkTypes(spark, params.given_schema() or StructType(), known, space.max_derived)
    encoded = parts.mapInArrow(encoding.with_types(types), schema)
    for turn in range(_MAX_TURNS):
        with told():
            encoded.write.parquet(f"{path}/turn={turn}")
        outcomes = spark.read.schema(schema).parquet(f"{path}/turn={turn}")
        asked = outcomes.where(F.col("kind") == ASKED)
        if not (expressions := _most_wanted(asked)):
            break
        types.ask(expressions)
        is_last = turn == _MAX_TURNS - 2
        again = EncodingAgain(encoding.with_types(types, is_last))
        waiting = outcomes.where(F.col("kind") == WAITING).select("rows")
        encoded = waiting.repartition(2 * _parallelism(spark)).mapInArrow(again, schema)
    outcomes = spark.read.schema(schema).parquet(path)
    if params.given(params.onError) == "fail":
        _raise_first(outcomes)
    rows = outcomes.where("file IS NOT NULL").drop("id").collect()
    encoded_s = time.perf_counter() - started
    put, gone = _prepared(rows, PUT), _prepared(rows, REMOVED)
    loaded = None if load is None else load(base, space, put)
    if loaded is None:
        loaded = in_a_task(spark, partial(_load, place, base, put, gone, uuid4().hex))
    return Fitted(
        place,
        loaded["version"],
        loaded["label"],
        loaded["subscriptions"],
        space_from_json(loaded["space"]),
        tuple(loaded["constrained"]),
        id_type,
        rejected,
        {**_spent(rows), "encode": round(encoded_s, 2), "merge": loaded["seconds"],
         "total": round(time.perf_counter() - started, 2)},
        loaded.get("routing"),
    )  # fmt: skip


def _most_wanted(asked: DataFrame) -> list[str]:
    """Return the expressions that most subscriptions compare, of which there may be any number."""
    by_use = asked.groupBy("predicate").agg(F.sum("subscriptions").alias("uses"))
    chosen = by_use.orderBy(F.desc("uses"), "predicate").limit(_MAX_ASKED)
    return [row["predicate"] for row in chosen.collect()]


def type_of(frame: DataFrame, column: str, param: str) -> DataType:
    """The type of a column, which must be there."""
    for field in frame.schema.fields:
        if field.name.lower() == column.lower():
            return field.dataType
    raise ValueRefused(
        f"there is no column {column!r}, there is: {', '.join(frame.columns)}; name it with {param}"
    )


def _columns(
    frame: DataFrame, params: MatcherParams, space: Space, ranges: Sequence[Range]
) -> list[Column]:
    """The columns that `Encoding` takes, as it calls them."""
    chosen = [column_named(params.given(params.idCol)).alias("id")]
    if not params.isDefined(params.rangeCols):
        name = params.given(params.predicateCol)
        if not isinstance(type_ := type_of(frame, name, "predicateCol"), StringType):
            raise ValueRefused(f"predicates are texts, but {name!r} is {type_.simpleString()}")
        chosen.append(column_named(name).alias("predicate"))
    ends = _ends(params)
    for one in ranges:
        wanted = space[one.attribute].type
        for name, given in zip((one.lower, one.upper), ends[one.attribute], strict=True):
            end = F.lit(None) if given is None else _end(frame, given, one.attribute, wanted)
            chosen.append(end.cast(str(wanted)).alias(name))
    return chosen


def _end(frame: DataFrame, column: str, attribute: str, type_: Type) -> Column:
    """The column of an end, whose values must all be values of the attribute's type."""
    found = attribute_type(type_of(frame, column, "rangeCols, validFromCol or validToCol"))
    if not holds(type_, found):
        of = "the time of events" if attribute == LIFETIME else f"{attribute!r}"
        raise ValueRefused(
            f"column {column!r} is {found}, but {of} is {type_}, which does not hold all of its "
            "values: cast it, so that it is you who says how to round"
        )
    return column_named(column)


def _ranges(params: MatcherParams) -> tuple[Range, ...]:
    given: dict[str, Any] = params.given(params.rangeCols) or {}
    ranges = [Range(name, f"lower{i}", f"upper{i}") for i, name in enumerate(given)]
    return (*ranges, *([lifetime_range()] if params.has_lifetimes() else []))


def _ends(params: MatcherParams) -> dict[str, Sequence[str | None]]:
    """By attribute, the columns of the two ends."""
    lifetime = [params.given(params.validFromCol), params.given(params.validToCol)]
    return {**(params.given(params.rangeCols) or {}), lifetime_range().attribute: lifetime}


def _parallelism(spark: SparkSession) -> int:
    """Return how many tasks run at once, as Spark plans them: without a context, and no job."""
    plan = spark.sql("EXPLAIN SELECT * FROM range(1)").collect()[0][0]
    splits = re.search(r"splits=(?:Some\()?(\d+)", plan)
    return min(int(splits[1]), _MAX_PARALLELISM) if splits else _DEFAULT_PARALLELISM


def _raise_first(outcomes: DataFrame) -> None:
    wrong = outcomes.where("error IS NOT NULL").orderBy("id").limit(1).collect()
    for row in wrong:
        problem = f"subscription {row['id']!r}: {row['error']}"
        place = (row["line"] or 1, row["column"] or 1)
        raise PredicateError.at(problem, row["predicate"] or "", *place)


def _prepared(rows: Sequence[Row], kind: str) -> list[Prepared]:
    return [
        Prepared(row["file"], row["size_bytes"], row["subscriptions"])
        for row in rows
        if row["kind"] == kind
    ]


def _spent(rows: Sequence[Row]) -> dict[str, float]:
    """Seconds of all tasks together, by part."""
    spent = [json.loads(row["seconds"]) for row in rows]
    return {part: round(sum(one.get(part, 0.0) for one in spent), 2) for part in ("parse", "index")}


def _load(
    place: str, base: int, put: Sequence[Prepared], removed: Sequence[Prepared], label: str
) -> dict[str, Any]:
    """Makes the version, in a task; segments are merged where there have become many."""
    started = time.perf_counter()
    with Store.open(place) as store:
        version = store.load(put, removed, label, base)
        while (merged := store.merge()) is not None:
            version = merged
        snapshot = store.snapshot(version.number)
        return {
            "version": version.number,
            "label": version.label,
            "subscriptions": version.subscriptions,
            "space": space_to_json(version.space),
            "constrained": snapshot.constrained,
            "seconds": round(time.perf_counter() - started, 2),
        }
