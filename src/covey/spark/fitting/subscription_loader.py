"""Subscriptions of a DataFrame into a store: one pass over them, then one task.

Workers parse and index in parallel, each its part, and write what they have; a single task then
makes one segment of it. The driver sees names of files.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import uuid4

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType, StructType

from covey.errors import InvalidArgumentError, PredicateError
from covey.space import Attribute, Space, Type
from covey.spark.fitting.encode_task import EncodeTask, ReencodeTask
from covey.spark.fitting.expression_analysis import SparkExpressionTypes
from covey.spark.fitting.range_columns import RangeColumns, can_hold
from covey.spark.fitting.task_results import (
    EXPRESSION_KIND,
    REMOVAL_KIND,
    UPSERT_KIND,
    WAITING_KIND,
    task_result_schema,
)
from covey.spark.id_types import IdType
from covey.spark.model_state import ModelState
from covey.spark.params import MatcherParams
from covey.spark.schemas import select_column, to_attribute_type
from covey.spark.single_task import run_in_task
from covey.spark.store_location import to_spark_uri
from covey.spark.validity import VALIDITY, validity_range_columns
from covey.spark.worker_errors import reraise_worker_errors
from covey.store import StagedSegment, Store
from covey.store.manifest import space_from_json, space_to_json

__all__ = ["find_column_type", "load_subscriptions"]

CommitStaged = Callable[[int, Space, Sequence[StagedSegment]], Mapping[str, object] | None]
"""From a version, the space of predicates and what was prepared, to what `_load` would say."""

_DEFAULT_PARALLELISM = 8
"""Tasks where a plan does not tell how many run at once."""
_MAX_PARALLELISM = 1000
_MAX_ANALYSIS_ROUNDS = 5
_MAX_EXPRESSIONS_PER_ROUND = 10_000
"""How often Spark is asked about expressions during a fit, and about how many each time."""


def load_subscriptions(
    subscriptions: DataFrame,
    params: MatcherParams,
    location: str,
    space: Space,
    base_version: int,
    *,
    removed_column: Column | None = None,
    refusal_column: Column | None = None,
    commit_staged: CommitStaged | None = None,
    known_attributes: Sequence[Attribute] = (),
) -> ModelState:
    """Puts the subscriptions of a DataFrame to those of version `base`, as the next version.

    Those for which `removed` is true are taken away instead, and those for which `refused` says why
    are rejected. `load` makes the version where that
    is not to be one segment, if it finds so. `known` are the derived attributes of the version.

    Cost: a shuffle of the subscriptions, parsing and indexing in parallel, and a merge in one task.
    Subscriptions with expressions that are not known wait until Spark has analysed these, and are
    parsed again then.
    """
    spark, started = subscriptions.sparkSession, time.perf_counter()
    id_name = params._param_value(params.idCol)
    id_type = find_column_type(subscriptions, id_name, "idCol")
    ranges = _list_range_columns(params)
    has_predicates = not params.isDefined(params.rangeCols)
    is_removed = (F.lit(False) if removed_column is None else removed_column).alias("removed")
    why_refused = (F.lit(None).cast("string") if refusal_column is None else refusal_column).alias(
        "refused"
    )
    chosen = subscriptions.select(
        is_removed, why_refused, *_select_columns(subscriptions, params, space, ranges)
    )
    # What becomes one segment is prepared in few large parts, and zones out of as many as Spark
    # makes of its own accord: a worker then never needs room for more than one of them.
    if commit_staged is None:
        parts = chosen.repartition(2 * _estimate_parallelism(spark), "id")
    else:
        parts = chosen.repartition("id")
    rejected = f"rejected/{uuid4().hex}"
    path = to_spark_uri(f"{location}/{rejected}")
    encoding = EncodeTask(
        location, base_version, space, IdType.from_spark(id_name, id_type), ranges, has_predicates
    )
    schema = task_result_schema(id_type)
    types = SparkExpressionTypes(
        spark, params._event_schema() or StructType(), known_attributes, space.max_derived
    )
    encoded = parts.mapInArrow(encoding.with_expression_types(types), schema)
    for turn in range(_MAX_ANALYSIS_ROUNDS):
        with reraise_worker_errors():
            encoded.write.parquet(f"{path}/turn={turn}")
        outcomes = spark.read.schema(schema).parquet(f"{path}/turn={turn}")
        asked = outcomes.where(F.col("kind") == EXPRESSION_KIND)
        if not (expressions := _find_most_used(asked)):
            break
        types.ask(expressions)
        is_last = turn == _MAX_ANALYSIS_ROUNDS - 2
        again = ReencodeTask(encoding.with_expression_types(types, is_last_round=is_last))
        waiting = outcomes.where(F.col("kind") == WAITING_KIND).select("rows")
        encoded = waiting.repartition(2 * _estimate_parallelism(spark)).mapInArrow(again, schema)
    outcomes = spark.read.schema(schema).parquet(path)
    if params._param_value(params.handleInvalid) == "error":
        _raise_first_error(outcomes)
    rows = outcomes.where("file IS NOT NULL").drop("id").collect()
    encoded_s = time.perf_counter() - started
    put, gone = _collect_staged(rows, UPSERT_KIND), _collect_staged(rows, REMOVAL_KIND)
    committed = None if commit_staged is None else commit_staged(base_version, space, put)
    loaded: Mapping[str, Any] = (
        run_in_task(
            spark, partial(_commit_and_merge, location, base_version, put, gone, uuid4().hex)
        )
        if committed is None
        else committed
    )
    return ModelState(
        location,
        loaded["version"],
        loaded["label"],
        loaded["subscriptions"],
        space_from_json(loaded["space"]),
        tuple(loaded["constrained"]),
        id_type,
        rejected,
        {**_sum_task_seconds(rows), "encode": round(encoded_s, 2), "merge": loaded["seconds"],
         "total": round(time.perf_counter() - started, 2)},
        loaded.get("routing"),
    )  # fmt: skip


def _find_most_used(expression_rows: DataFrame) -> list[str]:
    """Return the expressions that most subscriptions compare, of which there may be any number."""
    by_use = expression_rows.groupBy("predicate").agg(F.sum("subscriptions").alias("uses"))
    chosen = by_use.orderBy(F.desc("uses"), "predicate").limit(_MAX_EXPRESSIONS_PER_ROUND)
    return [row["predicate"] for row in chosen.collect()]


def find_column_type(frame: DataFrame, column: str, param_name: str) -> DataType:
    """The type of a column, which must be there."""
    for field in frame.schema.fields:
        if field.name.lower() == column.lower():
            return field.dataType
    raise InvalidArgumentError(
        f"there is no column {column!r}, there is: {', '.join(frame.columns)}; "
        f"name it with {param_name}"
    )


def _select_columns(
    subscriptions: DataFrame,
    params: MatcherParams,
    space: Space,
    range_columns: Sequence[RangeColumns],
) -> list[Column]:
    """The columns that `EncodeTask` takes, as it calls them."""
    chosen = [select_column(params._param_value(params.idCol)).alias("id")]
    if not params.isDefined(params.rangeCols):
        name = params._param_value(params.predicateCol)
        if not isinstance(
            type_ := find_column_type(subscriptions, name, "predicateCol"), StringType
        ):
            raise InvalidArgumentError(
                f"predicates are texts, but {name!r} is {type_.simpleString()}"
            )
        chosen.append(select_column(name).alias("predicate"))
    ends = _range_ends_by_attribute(params)
    for one in range_columns:
        wanted = space[one.attribute].type
        for name, given in zip((one.lower_col, one.upper_col), ends[one.attribute], strict=True):
            end = (
                F.lit(None)
                if given is None
                else _select_range_end(subscriptions, given, one.attribute, wanted)
            )
            chosen.append(end.cast(str(wanted)).alias(name))
    return chosen


def _select_range_end(
    subscriptions: DataFrame, column: str, attribute: str, target_type: Type
) -> Column:
    """The column of an end, whose values must all be values of the attribute's type."""
    found = to_attribute_type(
        find_column_type(subscriptions, column, "rangeCols, validFromCol or validToCol")
    )
    if not can_hold(target_type, found):
        of = "the time of events" if attribute == VALIDITY else f"{attribute!r}"
        raise InvalidArgumentError(
            f"column {column!r} is {found}, but {of} is {target_type}, which does not hold all "
            "of its values: cast it, so that it is you who says how to round"
        )
    return select_column(column)


def _list_range_columns(params: MatcherParams) -> tuple[RangeColumns, ...]:
    given: dict[str, Any] = params._param_value(params.rangeCols) or {}
    ranges = [RangeColumns(name, f"lower{i}", f"upper{i}") for i, name in enumerate(given)]
    return (*ranges, *([validity_range_columns()] if params._has_validity() else []))


def _range_ends_by_attribute(params: MatcherParams) -> dict[str, Sequence[str | None]]:
    """By attribute, the columns of the two ends."""
    lifetime = [params._param_value(params.validFromCol), params._param_value(params.validToCol)]
    return {
        **(params._param_value(params.rangeCols) or {}),
        validity_range_columns().attribute: lifetime,
    }


def _estimate_parallelism(spark: SparkSession) -> int:
    """Return how many tasks run at once, as Spark plans them: without a context, and no job."""
    plan = spark.sql("EXPLAIN SELECT * FROM range(1)").collect()[0][0]
    splits = re.search(r"splits=(?:Some\()?(\d+)", plan)
    return min(int(splits[1]), _MAX_PARALLELISM) if splits else _DEFAULT_PARALLELISM


def _raise_first_error(results: DataFrame) -> None:
    wrong = results.where("error IS NOT NULL").orderBy("id").limit(1).collect()
    for row in wrong:
        problem = f"subscription {row['id']!r}: {row['error']}"
        place = (row["line"] or 1, row["column"] or 1)
        raise PredicateError.from_position(problem, row["predicate"] or "", *place)


def _collect_staged(rows: Sequence[Row], kind: str) -> list[StagedSegment]:
    return [
        StagedSegment(row["file"], row["size_bytes"], row["subscriptions"])
        for row in rows
        if row["kind"] == kind
    ]


def _sum_task_seconds(rows: Sequence[Row]) -> dict[str, float]:
    """Seconds of all tasks together, by part."""
    spent = [json.loads(row["seconds"]) for row in rows]
    return {part: round(sum(one.get(part, 0.0) for one in spent), 2) for part in ("parse", "index")}


def _commit_and_merge(
    location: str,
    base_version: int,
    staged_upserts: Sequence[StagedSegment],
    staged_removals: Sequence[StagedSegment],
    label: str,
) -> dict[str, Any]:
    """Makes the version, in a task; segments are merged where there have become many."""
    started = time.perf_counter()
    with Store.open(location) as store:
        version = store.commit_staged(
            staged_upserts, staged_removals, label=label, base_version=base_version
        )
        while (merged := store.merge()) is not None:
            version = merged
        snapshot = store.snapshot(version.version)
        return {
            "version": version.version,
            "label": version.label,
            "subscriptions": version.subscriptions,
            "space": space_to_json(version.space),
            "constrained": snapshot.constrained_attributes,
            "seconds": round(time.perf_counter() - started, 2),
        }
