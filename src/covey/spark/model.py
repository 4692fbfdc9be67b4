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

from covey.errors import ValueRefused
from covey.space import Events
from covey.spark.analysis import reasons_of
from covey.spark.changes import as_changes
from covey.spark.fitted import Fitted
from covey.spark.ids import IdType
from covey.spark.lifetimes import LIFETIME, attribute_column
from covey.spark.matching import Matching
from covey.spark.onwards import AtHome, Sending, sent_schema
from covey.spark.outcomes import REJECTED
from covey.spark.params import MatcherParams
from covey.spark.persist import ModelReader, ModelWriter
from covey.spark.places import spark_path
from covey.spark.raised import Raising, raising_attributes
from covey.spark.rebalancing import loads, rebalance
from covey.spark.routing import Routing
from covey.spark.sampling import sampled
from covey.spark.schemas import check_columns, column_named, derived_or_column
from covey.spark.settings import check_settings
from covey.spark.shapes import Arrays, Pairs, Shape
from covey.spark.sql import table_function
from covey.spark.subscribing import subscribe, type_of

__all__ = ["MatcherModel"]

_SAMPLED = 20_000  # events


class MatcherModel(Model, MatcherParams, MLWritable, MLReadable["MatcherModel"]):
    """One version of a set of subscriptions, ready to be matched.

    Guarantee: as `Matcher`. A model never changes: `update` gives another one, and both are good.

    Cost of `transform`: one `mapInArrow` without a shuffle, or with zones after a shuffle of the
    events. Only the columns that some predicate constrains and those that are kept go to Python;
    derived attributes are computed by Spark, each once. Memory of a worker does not grow with the
    number of events or of matches; the index, or the zone of it, is mapped, and shared by the
    workers of a machine.
    """

    def __init__(self, fitted: Fitted) -> None:
        super().__init__()
        self.fitted = fitted

    @property
    def version(self) -> int:
        """The number of its version in its store."""
        return self.fitted.version

    @property
    def subscriptions(self) -> int:
        """How many subscriptions it has, without the rejected ones."""
        return self.fitted.subscriptions

    @property
    def fitSeconds(self) -> Mapping[str, float]:
        """Where the time of the last fit or update went.

        `parse` and `index` are sums over tasks, `encode` is the time in which they were done,
        `merge` is the one task after them, and `total` is all of it.
        """
        return self.fitted.seconds

    @property
    def rejected(self) -> DataFrame:
        """The subscriptions that were not taken by the last fit or update, and why.

        Columns: the id, `predicate`, `error`, and where they are known `line` and `column`.
        """
        spark = SparkSession.active()
        path = spark_path(f"{self.fitted.place}/{self.fitted.rejected}")
        outcomes = spark.read.parquet(path).where("error IS NOT NULL")
        return outcomes.select(F.col("id").alias(self.given(self.idCol)), *REJECTED)

    @property
    def zoneCount(self) -> int:
        """How many zones its subscriptions are spread over; 1 if events are not shuffled."""
        return 1 if self.fitted.routing is None else len(self.fitted.routing.owners)

    def update(self, changes: DataFrame) -> MatcherModel:
        """The model with subscriptions added, replaced and removed: the next version of its store.

        `changes` has the columns of the subscriptions; a null predicate removes its id, and so does
        `delete` in a column `_change_type`. The change feed of a Delta table is taken as it is: the
        last change of an id counts.

        Cost: that of the changes, and a checksum of all that is there. What was changed is indexed
        again some times while changes go on, when segments are merged.
        """
        id_name = self.given(self.idCol)
        found, known = type_of(changes, id_name, "idCol"), self.fitted.id_type
        if found != known:
            raise ValueRefused(
                f"column {id_name!r} is {found.simpleString()}, but the ids of the model are "
                f"{known.simpleString()}: cast it"
            )
        (changed, removed, refused), mine = as_changes(changes, self), self.fitted
        space = mine.space.without_derived
        fitted = subscribe(
            changed, self, mine.place, space, mine.version, removed, refused,
            known=mine.space.derived,
        )  # fmt: skip
        return self._copyValues(MatcherModel(replace(fitted, routing=mine.routing)))

    def errors(self, events: DataFrame) -> DataFrame:
        """Tell which subscriptions do not match events because computing something raises on them.

        Columns: the id, the `reason` and the expression, the `count` of such events, and one
        `event` of them. Only events count on which all else that the subscription asks for is
        there. Where Spark raises, `where` would end the job; a model treats the event as one that
        does not match, and disturbs no other subscription.

        Cost: a pass over the events now, and one job for each expression that raises; another pass
        when the answer is read. None of it if no expression can raise.
        """
        check_settings(self.fitted.space, events.sparkSession)
        fitted, id_name = self.fitted, self.given(self.idCol)
        names = [name for name in fitted.constrained if name != LIFETIME]
        check_columns(fitted.space, names, events.schema)
        expressions = raising_attributes(fitted.space, fitted.constrained)
        reasons = reasons_of(events, expressions)
        raising = tuple(one for one in expressions if one.name in reasons)
        kept = self._kept(events.schema)
        columns = [F.struct(*(column_named(name) for name in kept.names))]
        columns += [self.attribute(name) for name in fitted.constrained]
        flags = [one.flag for one in raising if one.flag.name not in fitted.constrained]
        columns += [derived_or_column(flag) for flag in flags]
        attributes = [*fitted.constrained, *(flag.name for flag in flags)]
        places = {name: 1 + place for place, name in enumerate(attributes)}
        given = events.select(*(c.alias(f"c{i}") for i, c in enumerate(columns)))
        is_raised = F.lit(False)
        for one in raising:
            is_raised = is_raised | ~column_named(f"c{places[one.flag.name]}")
        work = Raising(
            fitted.place, fitted.version, fitted.label, places, raising,
            IdType.of(id_name, fitted.id_type),
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

    def work(self, events: DataFrame) -> NDArray[np.float64]:
        """The share of the work that each zone would have of these events, from a sample."""
        return loads(self.fitted, self._sampled(events))

    def rebalance(self, events: DataFrame) -> MatcherModel:
        """The model with zones that have even work for these events, where they had not.

        Zones with too much are cut in two, neighbours with little are joined; the others stay as
        they are. It must be of the newest version of its store. One with `replication="smart"` is
        to be fitted anew.

        Cost: that of building the zones that change.
        """
        if self.fitted.routing is not None and self.fitted.routing.is_smart:
            raise ValueRefused(
                "zones of replication='smart' lead to each other: fit again with these events"
            )
        moved = rebalance(events.sparkSession, self.fitted, self._sampled(events))
        return self._copyValues(MatcherModel(moved))

    def register(self, name: str) -> None:
        """Makes a table function for SQL: `SELECT * FROM name(TABLE(events))`.

        The table has all columns that are constrained or kept, derived attributes included, as
        columns named by their text. The output is that of `transform`.
        """
        spark = SparkSession.active()
        schema = self.given_schema() or StructType()
        check_settings(self.fitted.space, spark)
        kept = self._kept(schema)
        shape = self._shape(kept)
        names = [*kept.names, *(n for n in self.fitted.constrained if n not in kept.names)]
        attributes = {name: names.index(name) for name in self.fitted.constrained}
        function = table_function(
            self._matching(attributes, shape), names, self.given(self.eventTimeCol),
            shape.schema(kept, self.fitted.id_type),
        )  # fmt: skip
        spark.udtf.register(name, function)

    def write(self) -> ModelWriter:
        """Saves it: `model.write().overwrite().save(path)`."""
        return ModelWriter(self, self.fitted)

    @classmethod
    def read(cls) -> ModelReader[MatcherModel]:
        """Reads a saved one."""
        return ModelReader(cls)

    def _transform(self, dataset: DataFrame) -> DataFrame:
        check_settings(self.fitted.space, dataset.sparkSession)
        kept = self._kept(dataset.schema)
        names = self.fitted.constrained
        check_columns(self.fitted.space, [n for n in names if n != LIFETIME], dataset.schema)
        columns = [column_named(name) for name in kept.names]
        attributes = {}
        for name in names:
            is_kept = name in kept.names and not self.fitted.space[name].is_derived
            attributes[name] = kept.names.index(name) if is_kept else len(columns)
            if not is_kept:
                columns.append(self.attribute(name))
        shape, routing = self._shape(kept), self.fitted.routing
        matching = self._matching(attributes, shape)
        if routing is None:
            given = dataset.select(*(c.alias(f"c{i}") for i, c in enumerate(columns)))
        else:
            hashed = list(attributes.values())
            given = routing.routed(dataset, columns, hashed, self.attribute)
            matching = replace(matching, zone=len(columns))
            if routing.is_smart:
                return self._onwards(given, routing, attributes, shape, kept)
        return given.mapInArrow(matching, shape.schema(kept, self.fitted.id_type))

    def _onwards(
        self, given: DataFrame, routing: Routing, attributes: Mapping[str, int], shape: Shape,
        kept: StructType,
    ) -> DataFrame:  # fmt: skip
        """Matches in the zone of each event, and then where else it has some."""
        assert isinstance(shape, Pairs)
        fitted = self.fitted
        at = fitted.place, fitted.version, fitted.label, attributes
        sending = Sending(*at, tuple(given.columns), shape.ids)
        sent = given.mapInArrow(sending, sent_schema(given.schema, fitted.id_type))
        hashed = [given.columns[place] for place in attributes.values()]
        arrived = routing.shuffled(sent, hashed)
        return arrived.mapInArrow(AtHome(*at, shape), shape.schema(kept, fitted.id_type))

    def attribute(self, name: str) -> Column:
        """What Spark computes of an event for an attribute."""
        return attribute_column(self.fitted.space, name, self.given(self.eventTimeCol))

    def _sampled(self, events: DataFrame) -> Events:
        """Some of the events that zones are to be looked at by."""
        fitted = self.fitted
        if fitted.routing is None:
            raise ValueRefused("the model has no zones: fit with zones")
        return sampled(events, fitted.space, fitted.constrained, self.attribute, _SAMPLED)

    def _matching(self, attributes: Mapping[str, int], shape: Shape) -> Matching:
        fitted = self.fitted
        return Matching(fitted.place, fitted.version, fitted.label, attributes, shape)

    def _kept(self, schema: StructType) -> StructType:
        """The fields of the output that are the event's."""
        asked = self.given(self.eventCols)
        by_name = {field.name.lower(): field for field in schema.fields}
        missing = [name for name in asked or () if name.lower() not in by_name]
        if missing:
            raise ValueRefused(
                f"eventCols names {', '.join(map(repr, missing))}, but the events have "
                f"{', '.join(schema.names)}"
            )
        fields = schema.fields if asked is None else [by_name[name.lower()] for name in asked]
        return StructType(list(fields))

    def _shape(self, kept: StructType) -> Shape:
        name = self.output_name()
        if name.lower() in (field.lower() for field in kept.names):
            raise ValueRefused(
                f"the output would have two columns {name!r}: name that of the matched ids with "
                "matchesCol, or leave the event's out of eventCols"
            )
        kind = Arrays if self.given(self.output) == "arrays" else Pairs
        id_type = IdType.of(name, self.fitted.id_type)
        return kind(tuple(kept.names), name, id_type)
