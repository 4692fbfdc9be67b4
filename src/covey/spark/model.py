"""Model of a fitted `Matcher`: it matches events, and can be saved, updated and used in SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from pyspark.ml.base import Model
from pyspark.ml.util import MLReadable, MLWritable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StructType

from covey._argument_checks import check_arguments
from covey.errors import InvalidArgumentError
from covey.space import Events
from covey.spark.event_sample import sample_events
from covey.spark.fitting.change_feed import classify_changes
from covey.spark.fitting.expression_analysis import find_failure_reasons
from covey.spark.fitting.subscription_loader import find_column_type, load_subscriptions
from covey.spark.fitting.task_results import REJECTION_COLUMNS
from covey.spark.id_types import IdType
from covey.spark.matching.evaluation_errors import FindUndecidedTask, find_raising_attributes
from covey.spark.matching.late_errors import find_late_errors
from covey.spark.matching.late_evaluation import CANDIDATES_COLUMN, LateEvaluation
from covey.spark.matching.late_output import (
    LateOutput,
    LatePairRows,
    choose_pair_format,
    decide_candidates,
)
from covey.spark.matching.match_task import MatchTask
from covey.spark.matching.output import ArrayRows, OutputFormat, PairRows
from covey.spark.matching.table_function import build_table_function
from covey.spark.model_io import ModelReader, ModelWriter
from covey.spark.model_state import ModelState
from covey.spark.params import MatcherParams
from covey.spark.schemas import check_event_columns, select_attribute, select_column
from covey.spark.session_settings import (
    check_session_settings,
    read_setting_values,
    with_time_zones,
)
from covey.spark.store_location import to_spark_uri
from covey.spark.validity import VALIDITY, select_attribute_or_time
from covey.spark.workers import prepare_worker_python
from covey.spark.zones.partitioner import ZonePartitioner
from covey.spark.zones.rebalance import compute_zone_loads, rebalance_model
from covey.spark.zones.smart_tasks import HomeMatchTask, ZoneMatchTask

__all__ = ["MatcherModel"]

_MAX_SAMPLE_EVENTS = 20_000  # events from which the work of zones is estimated


@dataclass(frozen=True, slots=True)
class _PreparedTransform:
    """Columns, task and output schema of `transform`, which the next call may use again.

    Args:
        key: the session, the schema of events, and the values of settings and parameters. A call
            with another key prepares again.
        columns: columns of events that the task receives.
        task: the task; without its zone column.
        output_schema: schema of the rows that the task returns.
        event_names: names of the columns of events in the output.
        copied_fields: fields of events that the task returns; the first are those of the output.
        late: the evaluation of late conditions.
    """

    key: tuple[object, ...]
    columns: Sequence[Column]
    task: MatchTask
    output_schema: StructType
    event_names: Sequence[str]
    copied_fields: StructType
    late: LateEvaluation


class MatcherModel(Model, MatcherParams, MLWritable, MLReadable["MatcherModel"]):
    """One version of a set of subscriptions, with which `transform` matches events.

    Guarantee: the same as that of `Matcher`. The subscriptions of a model never change: `update`
    returns a new model, and both models can be used.

    Cost of `transform`: without zones, one `mapInArrow` and no shuffle. With zones, events are
    shuffled first; with `replication="smart"` there are two shuffles and two `mapInArrow`. Spark
    sends only two kinds of columns to Python: those that some subscription constrains, and those of
    the output. It computes each derived attribute once per event. The memory of a worker does not
    grow with the numbers of events and matches, except for the matches of one event. The index, or
    its part for one zone, is mapped from files, and the workers of a machine share the mapped
    memory.
    """

    def __init__(self, state: ModelState) -> None:
        super().__init__()
        self._state = state
        self._last_prepared: _PreparedTransform | None = None

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_last_prepared": None}  # columns of Spark cannot be pickled

    @property
    def storeVersion(self) -> int:
        """Number of the model's version in its store."""
        return self._state.version

    @property
    def numSubscriptions(self) -> int:
        """Number of subscriptions of the model, without the rejected ones."""
        return self._state.subscription_count

    @property
    def fitMetrics(self) -> Mapping[str, float]:
        """Seconds that each step of the last fit or update took.

        `parse` and `index` are sums over all tasks, `encode` is the elapsed time until these tasks
        ended, and `total` is the elapsed time of all steps. `merge` is the time in which the staged
        segments were committed and merged or, with zones, spread over the zones and committed.
        """
        return self._state.fit_seconds

    @property
    def rejectedSubscriptions(self) -> DataFrame:
        """Subscriptions that the last fit or update rejected, with the reasons.

        Columns: the id, `predicate`, `error`, and the `line` and `column` of the error in the
        predicate; both are null if the position is unknown.
        """
        spark = SparkSession.active()
        path = to_spark_uri(f"{self._state.location}/{self._state.rejected_path}")
        outcomes = spark.read.parquet(path).where("error IS NOT NULL")
        return outcomes.select(F.col("id").alias(self._param_value(self.idCol)), *REJECTION_COLUMNS)

    @property
    def numZones(self) -> int:
        """Number of zones over which subscriptions are spread; 1 if the model has no zones."""
        return (
            1
            if self._state.partitioner is None
            else len(self._state.partitioner.partitions_per_zone)
        )

    @check_arguments
    def update(self, changes: DataFrame) -> MatcherModel:
        """Commit changes of subscriptions to the store, and return a model of the new version.

        Args:
            changes: subscriptions to add or replace, with the columns that `fit` reads. A null
                predicate removes the subscription with this id, and so does `delete` in a column
                `_change_type`. The change feed of a Delta table can be passed unchanged; only the
                last change that it contains for an id has an effect.

        Raises:
            InvalidArgumentError: a column is missing, or the ids have another type than those of
                the model.
            PredicateError: a change is rejected, and `handleInvalid` is `"error"`.

        Cost: parsing and indexing of the changes, and a checksum over the whole version. After
        several updates, segments are merged, and their subscriptions are indexed again.
        """
        id_name = self._param_value(self.idCol)
        id_type, model_id_type = find_column_type(changes, id_name, "idCol"), self._state.id_type
        if id_type != model_id_type:
            raise InvalidArgumentError(
                f"column {id_name!r} is {id_type.simpleString()}, but the ids of the model are "
                f"{model_id_type.simpleString()}: cast the column"
            )
        prepare_worker_python(changes.sparkSession)
        (changed, removed, refused), state = classify_changes(changes, self), self._state
        space = with_time_zones(state.space.without_derived, changes.sparkSession)
        updated = load_subscriptions(
            changed,
            self,
            state.location,
            space,
            state.version,
            removed_column=removed,
            refusal_column=refused,
            known_attributes=state.space.derived,
            known_count=state.subscription_count,
        )
        return self._copyValues(MatcherModel(replace(updated, partitioner=state.partitioner)))

    @check_arguments
    def errors(self, events: DataFrame) -> DataFrame:
        """Return the subscriptions that cannot be decided for some events, with the reasons.

        A pair of an event and a subscription is undecided if an expression raises an error on the
        event, and the event satisfies the conditions that do not depend on such an expression.
        Spark's `where` would fail with this error. In covey the event does not match the
        subscription, and other subscriptions are not affected.

        Columns of the result: the id, the `reason` with the expression, the `count` of undecided
        events, and one of them as `event`.

        Args:
            events: the events, with the columns that `transform` needs.

        Raises:
            SchemaError: the session settings or the columns do not fit the model.

        Cost: the call makes a pass over the events, and runs a job for each expression that
        raises. Reading the result makes another pass. If no expression can raise an error, the call
        runs no job.
        """
        prepare_worker_python(events.sparkSession)
        check_session_settings(self._state.space, events.sparkSession)
        state, id_name = self._state, self._param_value(self.idCol)
        names = [name for name in state.constrained_attributes if name != VALIDITY]
        check_event_columns(state.space, names, events.schema)
        expressions = find_raising_attributes(state.space, state.constrained_attributes)
        reasons = find_failure_reasons(events, expressions)
        raising = tuple(expression for expression in expressions if expression.name in reasons)
        event_fields = self._select_event_fields(events.schema)
        columns = [F.struct(*(select_column(name) for name in event_fields.names))]
        columns += [self._attribute(name) for name in state.constrained_attributes]
        flags = [
            expression.flag
            for expression in raising
            if expression.flag.name not in state.constrained_attributes
        ]
        columns += [select_attribute(flag) for flag in flags]
        attributes = [*state.constrained_attributes, *(flag.name for flag in flags)]
        attribute_columns = {name: column for column, name in enumerate(attributes, start=1)}
        selected = events.select(*(c.alias(f"c{i}") for i, c in enumerate(columns)))
        is_raised = F.lit(False)
        for expression in raising:
            flag_column = select_column(f"c{attribute_columns[expression.flag.name]}")
            is_raised = is_raised | ~flag_column
        task = FindUndecidedTask(
            state.location, state.version, state.label, attribute_columns, raising,
            IdType.from_spark(id_name, state.id_type),
        )  # fmt: skip
        schema = (
            StructType()
            .add("id", state.id_type)
            .add("expression", IntegerType())
            .add("event", event_fields)
        )
        pairs = selected.where(is_raised).mapInArrow(task, schema)
        reason = F.lit(None).cast("string")
        for number, expression in enumerate(raising):
            text = F.lit(f"{reasons[expression.name]} In {expression.name}")
            reason = F.when(F.col("expression") == number, text).otherwise(reason)
        groups = pairs.withColumn("reason", reason).groupBy(F.col("id").alias(id_name), "reason")
        errors = groups.agg(F.count(F.lit(1)).alias("count"), F.first("event").alias("event"))
        late_errors = self._find_late_errors(events, event_fields)
        return errors if late_errors is None else errors.unionByName(late_errors)

    @check_arguments
    def zoneLoad(self, events: DataFrame) -> NDArray[np.float64]:
        """Return for each zone its share of the work of matching these events, from 0 to 1.

        The shares are estimated from a sample of at most 20,000 events.

        Raises:
            InvalidArgumentError: the model has no zones.
        """
        return compute_zone_loads(self._state, self._sample_events(events))

    @check_arguments
    def rebalance(self, events: DataFrame) -> MatcherModel:
        """Return a model whose zones have nearly equal work for these events.

        Zones with too much work are split, and neighbouring zones with little work are joined.
        Other zones stay unchanged. The model must have the newest version of its store.

        Args:
            events: typical events, of which at most 20,000 are used.

        Raises:
            InvalidArgumentError: the model has no zones, or was fitted with `replication="smart"`.
            StoreError: the store has a newer version than the model.

        Cost: the segments of changed zones are built again.
        """
        if self._state.partitioner is not None and self._state.partitioner.is_smart:
            raise InvalidArgumentError(
                "zones cannot be rebalanced with replication='smart', because they forward events "
                "to each other: fit a new model, and pass the events to fit"
            )
        rebalanced = rebalance_model(events.sparkSession, self._state, self._sample_events(events))
        return self._copyValues(MatcherModel(rebalanced))

    @check_arguments
    def registerTableFunction(self, name: str) -> None:
        """Register a table function for SQL: `SELECT * FROM name(TABLE(events))`.

        The table must have all columns of the output and all constrained attributes as columns; the
        column of a derived attribute has the text of its expression as its name. The function
        returns the same rows as `transform`.

        Args:
            name: name of the function in the active session.

        Raises:
            InvalidArgumentError: subscriptions have late conditions, which Spark evaluates.
            SchemaError: the session settings do not fit the model.
        """
        spark = SparkSession.active()
        schema = self._event_schema() or StructType()
        if LateEvaluation.for_space(self._state.space).templates:
            raise InvalidArgumentError(
                "subscriptions have late conditions, which a table function cannot evaluate: use "
                "transform"
            )
        prepare_worker_python(spark)
        check_session_settings(self._state.space, spark)
        event_fields = self._select_event_fields(schema)
        output_format = self._build_output_format(event_fields)
        names = [
            *event_fields.names,
            *(n for n in self._state.constrained_attributes if n not in event_fields.names),
        ]
        attribute_columns = {name: names.index(name) for name in self._state.constrained_attributes}
        function = build_table_function(
            self._build_match_task(attribute_columns, output_format),
            names,
            self._param_value(self.eventTimeCol),
            output_format.output_schema(event_fields, self._state.id_type),
        )
        spark.udtf.register(name, function)

    def write(self) -> ModelWriter:
        """Return a writer of the model: `model.write().overwrite().save(path)`."""
        return ModelWriter(self, self._state)

    @classmethod
    def read(cls) -> ModelReader[MatcherModel]:
        """Return a reader of saved models: `MatcherModel.read().load(path)`."""
        return ModelReader(cls)

    @check_arguments
    def _transform(self, dataset: DataFrame) -> DataFrame:
        spark, schema = dataset.sparkSession, dataset.schema
        values = read_setting_values(spark)
        key = spark, schema, values, str(self.extractParamMap())
        prepared, partitioner = self._last_prepared, self._state.partitioner
        if prepared is None or prepared.key != key:
            prepare_worker_python(spark)
            check_session_settings(self._state.space, spark, values=values)
            self._last_prepared = prepared = self._prepare_transform(schema, key)
        task, late = prepared.task, prepared.late
        if partitioner is None:
            selected = dataset.select(*(c.alias(f"c{i}") for i, c in enumerate(prepared.columns)))
        else:
            hash_columns = list(task.attribute_columns.values())
            selected = partitioner.route_events(
                dataset, prepared.columns, hash_columns, self._attribute
            )
            task = replace(task, zone_column=len(prepared.columns))
            if partitioner.is_smart:
                matches = self._match_smart_zones(selected, partitioner, prepared)
                columns = [select_column(name) for name in prepared.event_names]
                ids = select_column(matches.columns[len(prepared.copied_fields)])
                return matches.select(*columns, ids.alias(self._output_col_name()))
        rows = selected.mapInArrow(task, prepared.output_schema)
        if not late.templates:
            return rows
        as_arrays = self._param_value(self.outputMode) == "arrays"
        return decide_candidates(
            rows,
            late.build_matched_ids(has_several_conditions=self._state.has_several_conditions),
            prepared.event_names,
            self._output_col_name(),
            as_arrays=as_arrays,
        )

    def _prepare_transform(self, schema: StructType, key: tuple[object, ...]) -> _PreparedTransform:
        """Check the columns of events, and prepare `transform` for them."""
        event_fields = self._select_event_fields(schema)
        names = self._state.constrained_attributes
        space, late = self._state.space, LateEvaluation.for_space(self._state.space)
        read_columns = late.find_columns([column.name for column in space.columns])
        checked_names = dict.fromkeys([*(n for n in names if n != VALIDITY), *read_columns])
        check_event_columns(space, list(checked_names), schema)
        if late.templates:
            late.check_names(schema.names)
        copied_fields = late.add_fields(event_fields, schema, space)
        columns, attribute_columns = self._select_task_columns(copied_fields.names)
        output_format = self._build_output_format(event_fields)
        if late.templates:
            id_type = IdType.from_spark("id", self._state.id_type)
            keeps_all = isinstance(output_format, ArrayRows)
            output_format = LateOutput(
                tuple(copied_fields.names),
                id_type,
                late,
                keeps_all=keeps_all,
                has_several_conditions=self._state.has_several_conditions,
            )
        return _PreparedTransform(
            key,
            columns,
            self._build_match_task(attribute_columns, output_format),
            output_format.output_schema(copied_fields, self._state.id_type),
            event_fields.names,
            copied_fields,
            late,
        )

    def _select_task_columns(
        self, copied_names: Sequence[str]
    ) -> tuple[list[Column], dict[str, int]]:
        """Return the columns that a task needs, and the number of the column of each attribute.

        The columns that are copied to the output come first.
        """
        columns, attribute_columns = [select_column(name) for name in copied_names], {}
        for name in self._state.constrained_attributes:
            is_copied = name in copied_names and not self._state.space[name].is_derived
            attribute_columns[name] = copied_names.index(name) if is_copied else len(columns)
            if not is_copied:
                columns.append(self._attribute(name))
        return columns, attribute_columns

    def _find_late_errors(self, events: DataFrame, event_fields: StructType) -> DataFrame | None:
        """Return the subscriptions whose late conditions raise errors, or None if none can raise.

        The result is a part of the result of `errors`.
        """
        late = LateEvaluation.for_space(self._state.space)
        if not any(template.can_raise for template in late.templates):
            return None
        id_name = self._param_value(self.idCol)
        id_type = IdType.from_spark(id_name, self._state.id_type)
        late.check_names(events.columns)
        copied_fields = late.add_fields(event_fields, events.schema, self._state.space)
        columns, attribute_columns = self._select_task_columns(copied_fields.names)
        pair_rows = PairRows(tuple(copied_fields.names), CANDIDATES_COLUMN, id_type)
        output_format = LatePairRows(pair_rows, late)
        rows = events.select(*(c.alias(f"c{i}") for i, c in enumerate(columns))).mapInArrow(
            self._build_match_task(attribute_columns, output_format),
            output_format.output_schema(copied_fields, self._state.id_type),
        )
        return find_late_errors(rows, late, copied_fields, event_fields, id_name)

    def _match_smart_zones(
        self,
        routed_events: DataFrame,
        partitioner: ZonePartitioner,
        prepared: _PreparedTransform,
    ) -> DataFrame:
        """Return the matches of events in their own zones and in zones to which they are forwarded.

        Events are forwarded to the home zones of covered subscriptions. The result has the columns
        of `copied_fields`, and then the column with ids.
        """
        state = self._state
        attribute_columns = prepared.task.attribute_columns
        copied_fields, late = prepared.copied_fields, prepared.late
        # Late conditions may read a column that has the name of the output column.
        name = CANDIDATES_COLUMN if late.templates else self._output_col_name()
        version = state.location, state.version, state.label, attribute_columns
        id_type = IdType.from_spark(name, state.id_type)
        zone_task = ZoneMatchTask(*version, tuple(routed_events.columns), id_type, late)
        forwarded = routed_events.mapInArrow(
            zone_task, zone_task.output_format.output_schema(routed_events.schema, state.id_type)
        )
        hash_columns = [routed_events.columns[column] for column in attribute_columns.values()]
        shuffled = partitioner.shuffle_by_zone(zone_task.rename_outputs(forwarded), hash_columns)
        home_task = HomeMatchTask(
            *version, choose_pair_format(PairRows(tuple(copied_fields.names), name, id_type), late)
        )
        rows = shuffled.mapInArrow(
            home_task, home_task.output_format.output_schema(copied_fields, state.id_type)
        )
        return late.filter_rows(rows) if late.templates else rows

    def _attribute(self, name: str) -> Column:
        """Return the expression with which Spark computes an attribute or the time of an event."""
        return select_attribute_or_time(
            self._state.space, name, self._param_value(self.eventTimeCol)
        )

    def _sample_events(self, events: DataFrame) -> Events:
        """Return a sample of events for estimates of the work of zones."""
        state = self._state
        if state.partitioner is None:
            raise InvalidArgumentError("the model has no zones: fit with zones='auto' or a number")
        return sample_events(
            events, state.space, state.constrained_attributes, self._attribute, _MAX_SAMPLE_EVENTS
        )

    def _build_match_task(
        self, attribute_columns: Mapping[str, int], output_format: OutputFormat
    ) -> MatchTask:
        state = self._state
        return MatchTask(
            state.location, state.version, state.label, attribute_columns, output_format
        )

    def _select_event_fields(self, schema: StructType) -> StructType:
        """Return the fields of events that `transform` copies to its output."""
        event_cols = self._param_value(self.eventCols)
        by_name = {field.name.lower(): field for field in schema.fields}
        missing = [name for name in event_cols or () if name.lower() not in by_name]
        if missing:
            raise InvalidArgumentError(
                f"eventCols contains {', '.join(map(repr, missing))}, but the columns of the "
                f"events are {', '.join(schema.names)}"
            )
        if event_cols is None:
            return StructType(list(schema.fields))
        return StructType([by_name[name.lower()] for name in event_cols])

    def _build_output_format(self, event_fields: StructType) -> OutputFormat:
        name = self._output_col_name()
        if name.lower() in (field.lower() for field in event_fields.names):
            raise InvalidArgumentError(
                f"the output would have two columns {name!r}: set another name for the column of "
                "matched ids with outputCol, or leave the column of the events out of eventCols"
            )
        output_format = ArrayRows if self._param_value(self.outputMode) == "arrays" else PairRows
        id_type = IdType.from_spark(name, self._state.id_type)
        return output_format(tuple(event_fields.names), name, id_type)
