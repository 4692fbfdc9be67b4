"""The estimator: subscriptions in a DataFrame become a model that matches events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark import keyword_only
from pyspark.ml.base import Estimator
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from covey.errors import ValueRefused
from covey.space import Limits
from covey.spark.ids import IdType
from covey.spark.lifetimes import with_lifetime
from covey.spark.model import MatcherModel
from covey.spark.params import MatcherParams
from covey.spark.places import new_place
from covey.spark.schemas import space_of
from covey.spark.settings import settings_of
from covey.spark.subscribing import subscribe, type_of
from covey.spark.zoning import Spreading
from covey.store import Store

__all__ = ["Matcher", "match"]


def match(events: DataFrame, subscriptions: DataFrame, **params: Any) -> DataFrame:
    """Every event with every subscription that wants it: `Matcher`, `fit` and `transform` in one.

    `params` are those of `Matcher`. Wrong choice for many batches of events: fit once, then.
    """
    model = Matcher(eventSchema=events.schema, **params).fit(subscriptions)
    return model.transform(events)


class Matcher(
    Estimator["MatcherModel"], MatcherParams, DefaultParamsReadable["Matcher"],
    DefaultParamsWritable,
):  # fmt: skip
    """Makes a model of subscriptions.

    Guarantee: the model gives each event exactly the subscriptions whose predicate
    `events.where(predicate)` would keep it for, under the session's time zone and ANSI mode.
    Predicates that cannot be read do not fail the job: they are in `model.rejected`.

    - `eventSchema`: `events.schema`.
    - `idCol`, `predicateCol`: columns of the subscriptions. Ids are of any type that can be one:
      integers, strings, binary, decimals, dates, timestamps; each is there once.
    - `rangeCols`: instead of predicates, closed intervals as columns, by attribute:
      `{"price": ("low", "high")}`. A null is an open end; the columns are of the attribute's type,
      or of one whose values it has all.
    - `output`: `"pairs"` is a row for each match, `"arrays"` a row for each event with the list of
      all ids. `eventCols` are the columns of events to keep (without: all), `matchesCol` is the
      name of the column with ids.
    - `onError`: `"collect"`, or `"fail"` to raise the first wrong predicate.
    - `vectors`: the lengths of `array<float>` columns that predicates take distances of.
    - `maxDerived`: how many expressions other than columns predicates may compare, all together;
      Spark computes each for every event.
    - `limits`: `covey.space.Limits`, or its fields by name: how large predicates may be, and which
      user-defined functions they may call.
    - `validFromCol`, `validToCol`: when a subscription counts, against `eventTimeCol` of the
      events, or else against the time of matching.
    - `zones`: over how many zones subscriptions are spread, for those that outgrow the memory of a
      worker: events are then shuffled once to the zone that each is in. `"auto"` makes as many as
      are needed, often one. Give `fit` some events too, so that zones have equal work.
    - `replication`: `"pure"` has a subscription in every zone that it meets. `"smart"` has one that
      is covered by another only once; events then go on, by a second shuffle, to where else they
      have matches. That needs less memory where much is covered, and takes longer; `output` is
      `"pairs"` then.
    - `storePath`: where segments live before a save; without it a temporary folder, if Spark is
      local, that is deleted when the process ends.

    Cost: subscriptions are shuffled once by id, parsed and indexed by all workers, and merged in
    one task: about 10 µs a predicate and worker where predicates share their form. The model has
    100 to 150 bytes per region, mapped into each machine's memory once.

    >>> Matcher(idCol="alert", output="arrays").getOrDefault("idCol")
    'alert'
    """

    @keyword_only
    def __init__(
        self,
        *,
        eventSchema: StructType | None = None,
        idCol: str | None = None,
        predicateCol: str | None = None,
        rangeCols: Mapping[str, Sequence[str]] | None = None,
        output: str | None = None,
        eventCols: Sequence[str] | None = None,
        matchesCol: str | None = None,
        onError: str | None = None,
        vectors: Mapping[str, int] | None = None,
        maxDerived: int | None = None,
        limits: Limits | Mapping[str, Any] | None = None,
        validFromCol: str | None = None,
        validToCol: str | None = None,
        eventTimeCol: str | None = None,
        zones: int | str | None = None,
        replication: str | None = None,
        storePath: str | None = None,
    ) -> None:
        super().__init__()
        given: Mapping[str, Any] = self._input_kwargs  # type: ignore[attr-defined]
        self._set_given(given)

    def setParams(self, **params: Any) -> Matcher:
        """Sets parameters by name, as the constructor does."""
        self._set_given(params)
        return self

    def fit(  # type: ignore[override]
        self, dataset: DataFrame, params: Any = None, *, events: DataFrame | None = None
    ) -> MatcherModel:
        """The model of the subscriptions; `events` are some that are typical, to cut zones by."""
        if events is None:
            model: MatcherModel = super().fit(dataset, params)
            return model
        if self.given(self.zones) == "1":
            raise ValueRefused("events are for cutting zones: say how many, as in zones='auto'")
        return self.copy(params)._fit(dataset, events)

    def _fit(self, dataset: DataFrame, events: DataFrame | None = None) -> MatcherModel:
        schema, spark = self.given_schema(), dataset.sparkSession
        if schema is None:
            raise ValueRefused("eventSchema is missing: Matcher(eventSchema=events.schema, …)")
        if self.given(self.zones) == "1" and self.isSet(self.replication):
            raise ValueRefused("replication is that of zones: say how many, as in zones='auto'")
        if self.given(self.replication) == "smart" and self.given(self.output) == "arrays":
            raise ValueRefused(
                "replication='smart' finds the matches of an event in several places: output is "
                "'pairs' with it"
            )
        space = space_of(schema, settings_of(spark), self.given(self.vectors))
        limits = self.given_limits()
        space = replace(space, max_derived=self.given(self.maxDerived), limits=limits)
        id_name = self.given(self.idCol)
        kind = IdType.of(id_name, type_of(dataset, id_name, "idCol")).kind
        place = new_place(spark, self.given(self.storePath))
        space = with_lifetime(space) if self.has_lifetimes() else space
        with Store.create(place, space, ids=kind):
            pass
        is_zoned = self.given(self.zones) != "1"
        load = Spreading(spark, self, place, events) if is_zoned else None
        return self._copyValues(MatcherModel(subscribe(dataset, self, place, space, 0, load=load)))
