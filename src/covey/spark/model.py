"""The model: matches events of a DataFrame, and can be saved, updated and called from SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

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
from covey.spark.matching.match_task import MatchTask
from covey.spark.matching.output import ArrayRows, OutputFormat, PairRows
from covey.spark.matching.table_function import build_table_function
from covey.spark.model_io import ModelReader, ModelWriter
from covey.spark.model_state import ModelState
from covey.spark.params import MatcherParams
from covey.spark.schemas import check_event_columns, select_attribute, select_column
from covey.spark.session_settings import check_session_settings, with_time_zones
from covey.spark.store_location import to_spark_uri
from covey.spark.validity import VALIDITY, select_attribute_or_time
from covey.spark.worker_python import prepare_worker_python
from covey.spark.zones.partitioner import ZonePartitioner
from covey.spark.zones.rebalance import compute_zone_loads, rebalance_model
from covey.spark.zones.smart_tasks import HomeMatchTask, ZoneMatchTask, forwarded_schema

__all__ = ["MatcherModel"]

_MAX_SAMPLE_EVENTS = 20_000  # events


class MatcherModel(Model, MatcherParams, MLWritable, MLReadable["MatcherModel"]):
    """One version of a set of subscriptions, ready to be matched.

    Guarantee: as `Matcher`. A model never changes: `update` gives another one, and both are good.

    Cost of `transform`: one `mapInArrow` without a shuffle, or with zones after a shuffle of the
    events. Only the columns that some predicate constrains and those that are kept go to Python;
    derived attributes are computed by Spark, each once. Memory of a worker does not grow with the
    number of events or of matches; the index, or the zone of it, is mapped, and shared by the
    workers of a machine.
    """

    def __init__(self, state: ModelState) -> None:
        super().__init__()
        self._state = state

    @property
    def storeVersion(self) -> int:
        """The number of its version in its store."""
        return self._state.version

    @property
    def numSubscriptions(self) -> int:
        """How many subscriptions it has, without the rejected ones."""
        return self._state.subscription_count

    @property
    def fitMetrics(self) -> Mapping[str, float]:
        """Where the time of the last fit or update went.

        `parse` and `index` are sums over tasks, `encode` is the time in which they were done,
        `merge` is the one task after them, and `total` is all of it.
        """
        return self._state.fit_seconds

    @property
    def rejectedSubscriptions(self) -> DataFrame:
        """The subscriptions that were not taken by the last fit or update, and why.

        Columns: the id, `predicate`, `error`, and where they are known `line` and `column`.
        """
        spark = SparkSession.active()
        path = to_spark_uri(f"{self._state.location}/{self._state.rejected_path}")
        outcomes = spark.read.parquet(path).where("error IS NOT NULL")
        return outcomes.select(F.col("id").alias(self._param_value(self.idCol)), *REJECTION_COLUMNS)

    @property
    def numZones(self) -> int:
        """How many zones its subscriptions are spread over; 1 if events are not shuffled."""
        return (
            1
            if self._state.partitioner is None
            else len(self._state.partitioner.partitions_per_zone)
        )

    @check_arguments
    def update(self, changes: DataFrame) -> MatcherModel:
        """The model with subscriptions added, replaced and removed: the next version of its store.

        `changes` has the columns of the subscriptions; a null predicate removes its id, and so does
        `delete` in a column `_change_type`. The change feed of a Delta table is taken as it is: the
        last change of an id counts.

        Cost: that of the changes, and a checksum of all that is there. What was changed is indexed
        again some times while changes go on, when segments are merged.
        """
        id_name = self._param_value(self.idCol)
        found, known = find_column_type(changes, id_name, "idCol"), self._state.id_type
        if found != known:
            raise InvalidArgumentError(
                f"column {id_name!r} is {found.simpleString()}, but the ids of the model are "
                f"{known.simpleString()}: cast it"
            )
        prepare_worker_python(changes.sparkSession)
        (changed, removed, refused), mine = classify_changes(changes, self), self._state
        space = with_time_zones(mine.space.without_derived, changes.sparkSession)
        fitted = load_subscriptions(
            changed,
            self,
            mine.location,
            space,
            mine.version,
            removed_column=removed,
            refusal_column=refused,
            known_attributes=mine.space.derived,
        )
        return self._copyValues(MatcherModel(replace(fitted, partitioner=mine.partitioner)))

    @check_arguments
    def errors(self, events: DataFrame) -> DataFrame:
        """Tell which subscriptions do not match events because computing something raises on them.

        Columns: the id, the `reason` and the expression, the `count` of such events, and one
        `event` of them. Only events count on which all else that the subscription asks for is
        there. Where Spark raises, `where` would end the job; a model treats the event as one that
        does not match, and disturbs no other subscription.

        Cost: a pass over the events now, and one job for each expression that raises; another pass
        when the answer is read. None of it if no expression can raise.
        """
        prepare_worker_python(events.sparkSession)
        check_session_settings(self._state.space, events.sparkSession)
        fitted, id_name = self._state, self._param_value(self.idCol)
        names = [name for name in fitted.constrained_attributes if name != VALIDITY]
        check_event_columns(fitted.space, names, events.schema)
        expressions = find_raising_attributes(fitted.space, fitted.constrained_attributes)
        reasons = find_failure_reasons(events, expressions)
        raising = tuple(one for one in expressions if one.name in reasons)
        kept = self._select_event_fields(events.schema)
        columns = [F.struct(*(select_column(name) for name in kept.names))]
        columns += [self._attribute(name) for name in fitted.constrained_attributes]
        flags = [one.flag for one in raising if one.flag.name not in fitted.constrained_attributes]
        columns += [select_attribute(flag) for flag in flags]
        attributes = [*fitted.constrained_attributes, *(flag.name for flag in flags)]
        places = {name: 1 + place for place, name in enumerate(attributes)}
        given = events.select(*(c.alias(f"c{i}") for i, c in enumerate(columns)))
        is_raised = F.lit(False)
        for one in raising:
            is_raised = is_raised | ~select_column(f"c{places[one.flag.name]}")
        work = FindUndecidedTask(
            fitted.location, fitted.version, fitted.label, places, raising,
            IdType.from_spark(id_name, fitted.id_type),
        )  # fmt: skip
        schema = (
            StructType()
            .add("id", fitted.id_type)
            .add("expression", IntegerType())
            .add("event", kept)
        )
        pairs = given.where(is_raised).mapInArrow(work, schema)
        reason = F.lit(None).cast("string")
        for number, one in enumerate(raising):
            said = F.lit(f"{reasons[one.name]} In {one.name}")
            reason = F.when(F.col("expression") == number, said).otherwise(reason)
        found = pairs.withColumn("reason", reason).groupBy(F.col("id").alias(id_name), "reason")
        return found.agg(F.count(F.lit(1)).alias("count"), F.first("event").alias("event"))

    @check_arguments
    def zoneLoad(self, events: DataFrame) -> NDArray[np.float64]:
        """The share of the work that each zone would have of these events, from a sample."""
        return compute_zone_loads(self._state, self._sample_events(events))

    @check_arguments
    def rebalance(self, events: DataFrame) -> MatcherModel:
        """The model with zones that have even work for these events, where they had not.

        Zones with too much are cut in two, neighbours with little are joined; the others stay as
        they are. It must be of the newest version of its store. One with `replication="smart"` is
        to be fitted anew.

        Cost: that of building the zones that change.
        """
        if self._state.partitioner is not None and self._state.partitioner.is_smart:
            raise InvalidArgumentError(
                "zones of replication='smart' lead to each other: fit again with these events"
            )
        moved = rebalance_model(events.sparkSession, self._state, self._sample_events(events))
        return self._copyValues(MatcherModel(moved))

    @check_arguments
    def registerTableFunction(self, name: str) -> None:
        """Makes a table function for SQL: `SELECT * FROM name(TABLE(events))`.

        The table has all columns that are constrained or kept, derived attributes included, as
        columns named by their text. The output is that of `transform`.
        """
        spark = SparkSession.active()
        schema = self._event_schema() or StructType()
        prepare_worker_python(spark)
        check_session_settings(self._state.space, spark)
        kept = self._select_event_fields(schema)
        shape = self._build_output_format(kept)
        names = [
            *kept.names,
            *(n for n in self._state.constrained_attributes if n not in kept.names),
        ]
        attributes = {name: names.index(name) for name in self._state.constrained_attributes}
        function = build_table_function(
            self._build_match_task(attributes, shape), names, self._param_value(self.eventTimeCol),
            shape.output_schema(kept, self._state.id_type),
        )  # fmt: skip
        spark.udtf.register(name, function)

    def write(self) -> ModelWriter:
        """Saves it: `model.write().overwrite().save(path)`."""
        return ModelWriter(self, self._state)

    @classmethod
    def read(cls) -> ModelReader[MatcherModel]:
        """Reads a saved one."""
        return ModelReader(cls)

    @check_arguments
    def _transform(self, dataset: DataFrame) -> DataFrame:
        prepare_worker_python(dataset.sparkSession)
        check_session_settings(self._state.space, dataset.sparkSession)
        kept = self._select_event_fields(dataset.schema)
        names = self._state.constrained_attributes
        check_event_columns(self._state.space, [n for n in names if n != VALIDITY], dataset.schema)
        columns = [select_column(name) for name in kept.names]
        attributes = {}
        for name in names:
            is_kept = name in kept.names and not self._state.space[name].is_derived
            attributes[name] = kept.names.index(name) if is_kept else len(columns)
            if not is_kept:
                columns.append(self._attribute(name))
        shape, routing = self._build_output_format(kept), self._state.partitioner
        matching = self._build_match_task(attributes, shape)
        if routing is None:
            given = dataset.select(*(c.alias(f"c{i}") for i, c in enumerate(columns)))
        else:
            hashed = list(attributes.values())
            given = routing.route_events(dataset, columns, hashed, self._attribute)
            matching = replace(matching, zone_column=len(columns))
            if routing.is_smart:
                return self._match_smart_zones(given, routing, attributes, shape, kept)
        return given.mapInArrow(matching, shape.output_schema(kept, self._state.id_type))

    def _match_smart_zones(
        self,
        routed_events: DataFrame,
        partitioner: ZonePartitioner,
        attribute_columns: Mapping[str, int],
        output_format: OutputFormat,
        event_fields: StructType,
    ) -> DataFrame:
        """Matches in the zone of each event, and then where else it has some."""
        assert isinstance(output_format, PairRows)
        fitted = self._state
        at = fitted.location, fitted.version, fitted.label, attribute_columns
        sending = ZoneMatchTask(*at, tuple(routed_events.columns), output_format.id_type)
        sent = routed_events.mapInArrow(
            sending, forwarded_schema(routed_events.schema, fitted.id_type)
        )
        hashed = [routed_events.columns[place] for place in attribute_columns.values()]
        arrived = partitioner.shuffle_by_zone(sent, hashed)
        return arrived.mapInArrow(
            HomeMatchTask(*at, output_format),
            output_format.output_schema(event_fields, fitted.id_type),
        )

    def _attribute(self, name: str) -> Column:
        """What Spark computes of an event for an attribute."""
        return select_attribute_or_time(
            self._state.space, name, self._param_value(self.eventTimeCol)
        )

    def _sample_events(self, events: DataFrame) -> Events:
        """Some of the events that zones are to be looked at by."""
        fitted = self._state
        if fitted.partitioner is None:
            raise InvalidArgumentError("the model has no zones: fit with zones")
        return sample_events(
            events, fitted.space, fitted.constrained_attributes, self._attribute, _MAX_SAMPLE_EVENTS
        )

    def _build_match_task(
        self, attribute_columns: Mapping[str, int], output_format: OutputFormat
    ) -> MatchTask:
        fitted = self._state
        return MatchTask(
            fitted.location, fitted.version, fitted.label, attribute_columns, output_format
        )

    def _select_event_fields(self, schema: StructType) -> StructType:
        """The fields of the output that are the event's."""
        asked = self._param_value(self.eventCols)
        by_name = {field.name.lower(): field for field in schema.fields}
        missing = [name for name in asked or () if name.lower() not in by_name]
        if missing:
            raise InvalidArgumentError(
                f"eventCols names {', '.join(map(repr, missing))}, but the events have "
                f"{', '.join(schema.names)}"
            )
        fields = schema.fields if asked is None else [by_name[name.lower()] for name in asked]
        return StructType(list(fields))

    def _build_output_format(self, event_fields: StructType) -> OutputFormat:
        name = self._output_col_name()
        if name.lower() in (field.lower() for field in event_fields.names):
            raise InvalidArgumentError(
                f"the output would have two columns {name!r}: name that of the matched ids with "
                "outputCol, or leave the event's out of eventCols"
            )
        kind = ArrayRows if self._param_value(self.outputMode) == "arrays" else PairRows
        id_type = IdType.from_spark(name, self._state.id_type)
        return kind(tuple(event_fields.names), name, id_type)
