"""Load the subscriptions of a DataFrame into a store.

Workers parse and index their partitions in parallel and write staged segments. A single task then
commits and merges the segments. With zones, further tasks spread them over the zones first. The
driver receives only names and sizes of files, and the expressions that Spark must analyse.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import uuid4

from pyspark.sql import Column, DataFrame, Row, SparkSession, Window
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
from covey.spark.store_location import to_spark_uri
from covey.spark.validity import VALIDITY, validity_range_columns
from covey.spark.workers import ATTEMPT_S, open_shared_store, reraise_worker_errors, run_in_task
from covey.store import StagedSegment
from covey.store.manifest import space_from_json, space_to_json

__all__ = ["find_column_type", "load_subscriptions"]

CommitStaged = Callable[[int, Space, Sequence[StagedSegment]], Mapping[str, object] | None]
"""Function that commits a version.

Its arguments are the base version, the space and the staged segments. It returns the same facts
about the new version as `_commit_and_merge`, or None if it committed nothing.
"""

_DEFAULT_PARALLELISM = 8
"""Number of parallel tasks that is assumed if Spark's plan does not contain it."""
_MAX_PARALLELISM = 1000
_MAX_ANALYSIS_ROUNDS = 5
"""Largest number of passes over subscriptions; between two passes, Spark analyses expressions."""
_EXPRESSIONS_PER_TEMPLATE = 10
_MAX_EXPRESSIONS_PER_ROUND = 10_000
"""Largest number of expressions that Spark analyses between two passes."""


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
    known_count: int = 0,
) -> ModelState:
    """Add the subscriptions of a DataFrame to a version, and commit the result as a new version.

    Args:
        subscriptions: the subscriptions.
        params: parameters of the matcher.
        location: location of the store.
        space: space of the subscriptions, without derived attributes.
        base_version: version to which the subscriptions are added.
        removed_column: column that is true for rows whose subscription is removed; None if no row
            removes one.
        refusal_column: column with the reason why a row is rejected, null for other rows; None if
            no row is rejected beforehand.
        commit_staged: function that spreads the staged segments over zones and commits them; by
            default, and if it returns None, a single task commits them without zones.
        known_attributes: derived attributes of the base version.
        known_count: number of subscriptions of the base version.

    Returns:
        The state of a model of the new version.

    Raises:
        InvalidArgumentError: a column is missing or has a wrong type.
        PredicateError: a subscription is rejected, and `handleInvalid` is `"error"`.

    Cost: a shuffle of the subscriptions, parsing and indexing in parallel, and a merge in one task.
    Subscriptions with expressions of unknown type wait until Spark has analysed the expressions,
    and are then parsed again.
    """
    spark, started = subscriptions.sparkSession, time.perf_counter()
    id_name = params._param_value(params.idCol)
    id_type = find_column_type(subscriptions, id_name, "idCol")
    ranges = _list_range_columns(params)
    has_predicates = not params.isDefined(params.rangeCols)
    is_removed = (F.lit(False) if removed_column is None else removed_column).alias("removed")
    refusal = (F.lit(None).cast("string") if refusal_column is None else refusal_column).alias(
        "refused"
    )
    selected = subscriptions.select(
        is_removed, refusal, *_select_columns(subscriptions, params, space, ranges)
    )
    # Without zones, few large segments are staged, because they are merged into one. With zones,
    # Spark chooses the number of partitions, so that one partition fits the memory of a worker.
    if commit_staged is None:
        partitioned = selected.repartition(2 * _estimate_parallelism(spark), "id")
    else:
        partitioned = selected.repartition("id")
    rejected_path = f"rejected/{uuid4().hex}"
    path = to_spark_uri(f"{location}/{rejected_path}")
    task = EncodeTask(
        location, base_version, space, IdType.from_spark(id_name, id_type), ranges, has_predicates
    )
    schema = task_result_schema(id_type)
    types = SparkExpressionTypes(spark, params._event_schema() or StructType(), known_attributes)
    encoded = partitioned.mapInArrow(task.with_expression_types(types), schema)
    for turn in range(_MAX_ANALYSIS_ROUNDS):
        with reraise_worker_errors():
            encoded.write.parquet(f"{path}/turn={turn}")
        results = spark.read.schema(schema).parquet(f"{path}/turn={turn}")
        expression_rows = results.where(F.col("kind") == EXPRESSION_KIND)
        if not (expressions := _find_most_used(expression_rows)):
            break
        types.ask(expressions, known_count + _count_subscriptions(results))
        is_last = turn == _MAX_ANALYSIS_ROUNDS - 2
        reencode_task = ReencodeTask(task.with_expression_types(types, is_last_round=is_last))
        waiting = results.where(F.col("kind") == WAITING_KIND).select("rows")
        repartitioned = waiting.repartition(2 * _estimate_parallelism(spark))
        encoded = repartitioned.mapInArrow(reencode_task, schema)
    results = spark.read.schema(schema).parquet(path)
    if params._param_value(params.handleInvalid) == "error":
        _raise_first_error(results)
    rows = results.where("file IS NOT NULL").drop("id").collect()
    encode_s = time.perf_counter() - started
    upserts, removals = _collect_staged(rows, UPSERT_KIND), _collect_staged(rows, REMOVAL_KIND)
    committed = None if commit_staged is None else commit_staged(base_version, space, upserts)
    loaded: Mapping[str, Any] = (
        run_in_task(
            spark,
            partial(_commit_and_merge, location, base_version, upserts, removals, uuid4().hex),
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
        tuple(loaded["constrained_attributes"]),
        loaded["has_several_conditions"],
        id_type,
        rejected_path,
        {**_sum_task_seconds(rows), "encode": round(encode_s, 2), "merge": loaded["seconds"],
         "total": round(time.perf_counter() - started, 2)},
        loaded.get("partitioner"),
    )  # fmt: skip


def _find_most_used(expression_rows: DataFrame) -> dict[str, int]:
    """Return at most 10,000 expressions, each with the number of subscriptions that use it.

    They are the most used ones, but each template is represented by its most used expressions.

    Args:
        expression_rows: task results of kind `EXPRESSION_KIND`.
    """
    counts = expression_rows.groupBy("template", "predicate").agg(
        F.sum("subscriptions").alias("uses")
    )
    by_use = [F.desc("uses"), F.col("predicate")]
    rank = F.row_number().over(Window.partitionBy("template").orderBy(*by_use))
    ranked = counts.withColumn("is_common", rank > _EXPRESSIONS_PER_TEMPLATE)
    most_used = ranked.orderBy("is_common", *by_use).limit(_MAX_EXPRESSIONS_PER_ROUND)
    return {row["predicate"]: row["uses"] for row in most_used.collect()}


def _count_subscriptions(results: DataFrame) -> int:
    """Return the number of subscriptions that were accepted or wait for types of expressions."""
    counted = results.where(F.col("kind").isin(UPSERT_KIND, WAITING_KIND))
    row = counted.agg(F.sum("subscriptions").alias("count")).first()
    return int((row and row["count"]) or 0)


def find_column_type(frame: DataFrame, column: str, param_name: str) -> DataType:
    """Return Spark's type of a column; its name may differ from `column` in upper and lower case.

    Args:
        frame: the DataFrame.
        column: name of the column.
        param_name: parameter of the matcher that names the column, for the error message.

    Raises:
        InvalidArgumentError: there is no such column.
    """
    for field in frame.schema.fields:
        if field.name.lower() == column.lower():
            return field.dataType
    raise InvalidArgumentError(
        f"the DataFrame has no column {column!r}, which is the value of {param_name}: its columns "
        f"are {', '.join(frame.columns)}"
    )


def _select_columns(
    subscriptions: DataFrame,
    params: MatcherParams,
    space: Space,
    range_columns: Sequence[RangeColumns],
) -> list[Column]:
    """Return the columns that `EncodeTask` reads, renamed to the names that the task expects."""
    selected = [select_column(params._param_value(params.idCol)).alias("id")]
    if not params.isDefined(params.rangeCols):
        name = params._param_value(params.predicateCol)
        if not isinstance(
            type_ := find_column_type(subscriptions, name, "predicateCol"), StringType
        ):
            raise InvalidArgumentError(
                f"predicates must be strings, but column {name!r} is {type_.simpleString()}: set "
                "predicateCol to the column with predicates"
            )
        selected.append(select_column(name).alias("predicate"))
    ends = _range_ends_by_attribute(params)
    for ranges in range_columns:
        attribute, end_names = ranges.attribute, (ranges.lower_col, ranges.upper_col)
        type_of_ends = space[attribute].type
        for end_name, column in zip(end_names, ends[attribute], strict=True):
            end = (
                F.lit(None)
                if column is None
                else _select_range_end(subscriptions, column, attribute, type_of_ends)
            )
            selected.append(end.cast(str(type_of_ends)).alias(end_name))
    return selected


def _select_range_end(
    subscriptions: DataFrame, column: str, attribute: str, target_type: Type
) -> Column:
    """Return the column of a range's end, after a check that its type fits the attribute.

    Raises:
        InvalidArgumentError: the attribute's type cannot represent all values of the column's type.
    """
    column_type = to_attribute_type(
        find_column_type(subscriptions, column, "rangeCols, validFromCol or validToCol")
    )
    if not can_hold(target_type, column_type):
        name = "the time of events" if attribute == VALIDITY else f"attribute {attribute!r}"
        raise InvalidArgumentError(
            f"column {column!r} is {column_type}, but {name} is {target_type}, which cannot "
            f"represent all values of {column_type}: cast the column, so that you decide how "
            "values are rounded"
        )
    return select_column(column)


def _list_range_columns(params: MatcherParams) -> tuple[RangeColumns, ...]:
    range_cols: dict[str, Any] = params._param_value(params.rangeCols) or {}
    ranges = [RangeColumns(name, f"lower{i}", f"upper{i}") for i, name in enumerate(range_cols)]
    return (*ranges, *([validity_range_columns()] if params._has_validity() else []))


def _range_ends_by_attribute(params: MatcherParams) -> dict[str, Sequence[str | None]]:
    """Return for each attribute the names of the two columns with its ends, as the user set them.

    A name is None if `validFromCol` or `validToCol` is not set.
    """
    validity = [params._param_value(params.validFromCol), params._param_value(params.validToCol)]
    return {
        **(params._param_value(params.rangeCols) or {}),
        validity_range_columns().attribute: validity,
    }


def _estimate_parallelism(spark: SparkSession) -> int:
    """Return an estimate of the number of tasks that Spark runs at once, from the plan of a query.

    The plan is available without a job, also through Spark Connect.
    """
    plan = spark.sql("EXPLAIN SELECT * FROM range(1)").collect()[0][0]
    splits = re.search(r"splits=(?:Some\()?(\d+)", plan)
    return min(int(splits[1]), _MAX_PARALLELISM) if splits else _DEFAULT_PARALLELISM


def _raise_first_error(results: DataFrame) -> None:
    first_rejected = results.where("error IS NOT NULL").orderBy("id").limit(1).collect()
    for row in first_rejected:
        name = "without an id" if row["id"] is None else repr(row["id"])
        problem = f"subscription {name}: {row['error']}"
        position = (row["line"] or 1, row["column"] or 1)
        raise PredicateError.from_position(problem, row["predicate"] or "", *position)


def _collect_staged(rows: Sequence[Row], kind: str) -> list[StagedSegment]:
    return [
        StagedSegment(row["file"], row["size_bytes"], row["subscriptions"])
        for row in rows
        if row["kind"] == kind
    ]


def _sum_task_seconds(rows: Sequence[Row]) -> dict[str, float]:
    """Return the seconds of the steps `parse` and `index`, summed over all tasks."""
    by_task = [json.loads(row["seconds"]) for row in rows]
    return {
        step: round(sum(seconds.get(step, 0.0) for seconds in by_task), 2)
        for step in ("parse", "index")
    }


def _commit_and_merge(
    location: str,
    base_version: int,
    staged_upserts: Sequence[StagedSegment],
    staged_removals: Sequence[StagedSegment],
    label: str,
) -> dict[str, Any]:
    """Commit staged segments, merge by the merge policy, and return facts about the version.

    The function runs in a task. The facts are the version's number, label, count of subscriptions,
    space, constrained attributes, whether a subscription has several late conditions, and the
    elapsed seconds.
    """
    started = time.perf_counter()
    with open_shared_store(location) as store:
        store.lock(ATTEMPT_S)
        manifest = store.commit_staged(
            staged_upserts, staged_removals, label=label, base_version=base_version
        )
        while (merged := store.merge()) is not None:
            manifest = merged
        snapshot = store.snapshot(manifest.version)
        return {
            "version": manifest.version,
            "label": manifest.label,
            "subscriptions": manifest.subscriptions,
            "space": space_to_json(manifest.space),
            "constrained_attributes": snapshot.constrained_attributes,
            "has_several_conditions": snapshot.has_several_conditions,
            "seconds": round(time.perf_counter() - started, 2),
        }
