"""The estimator: subscriptions in a DataFrame become a model that matches events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from pyspark import keyword_only
from pyspark.ml.base import Estimator
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from covey._argument_checks import check_arguments
from covey.errors import InvalidArgumentError
from covey.space import PredicateLimits
from covey.spark.fitting.subscription_loader import find_column_type, load_subscriptions
from covey.spark.id_types import IdType
from covey.spark.model import MatcherModel
from covey.spark.params import MatcherParams
from covey.spark.schemas import build_space
from covey.spark.session_settings import read_session_settings
from covey.spark.store_location import create_store_location
from covey.spark.validity import with_validity
from covey.spark.worker_python import prepare_worker_python
from covey.spark.zones.loader import ZoneLoader
from covey.store import Store

__all__ = ["Matcher", "match"]


@check_arguments
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
    Predicates that cannot be read do not fail the job: they are in `model.rejectedSubscriptions`.

    - `eventSchema`: `events.schema`, or columns as `"symbol STRING, price DOUBLE"`.
    - `idCol`, `predicateCol`: columns of the subscriptions. Ids are of any type that can be one:
      integers, strings, binary, decimals, dates, timestamps; each is there once.
    - `rangeCols`: instead of predicates, closed intervals as columns, by attribute:
      `{"price": ("low", "high")}`. A null is an open end; the columns are of the attribute's type,
      or of one whose values it has all.
    - `outputMode`: `"pairs"` is a row for each match, `"arrays"` a row for each event with the list
      of all ids. `eventCols` are the columns of events to keep (without: all), `outputCol` is the
      name of the column with ids.
    - `handleInvalid`: `"skip"`, or `"error"` to raise the first wrong predicate.
    - `vectors`: the lengths of `array<float>` columns that predicates take distances of.
    - `maxDerived`: how many expressions other than columns predicates may compare, all together;
      Spark computes each for every event.
    - `limits`: `covey.space.PredicateLimits`, or its fields by name: how large predicates may be,
      and which user-defined functions they may call.
    - `validFromCol`, `validToCol`: when a subscription counts, against `eventTimeCol` of the
      events, or else against the time of matching.
    - `zones`: over how many zones subscriptions are spread, for those that outgrow the memory of a
      worker: events are then shuffled once to the zone that each is in. `"auto"` makes as many as
      are needed, often one. Give `fit` some events too, so that zones have equal work.
    - `replication`: `"pure"` has a subscription in every zone that it meets. `"smart"` has one that
      is covered by another only once; events then go on, by a second shuffle, to where else they
      have matches. That needs less memory where much is covered, and takes longer; `outputMode`
      is `"pairs"` then.
    - `storePath`: where segments live before a save; without it a temporary folder, if Spark is
      local, that is deleted when the process ends.

    Cost: subscriptions are shuffled once by id, parsed and indexed by all workers, and merged in
    one task: about 10 µs a predicate and worker where predicates share their form. The model has
    100 to 150 bytes per region, mapped into each machine's memory once.

    >>> Matcher(idCol="alert", outputMode="arrays").getIdCol()
    'alert'
    """

    @keyword_only
    def __init__(
        self,
        *,
        eventSchema: StructType | str | None = None,
        idCol: str | None = None,
        predicateCol: str | None = None,
        rangeCols: Mapping[str, Sequence[str]] | None = None,
        outputMode: str | None = None,
        eventCols: Sequence[str] | None = None,
        outputCol: str | None = None,
        handleInvalid: str | None = None,
        vectors: Mapping[str, int] | None = None,
        maxDerived: int | None = None,
        limits: PredicateLimits | Mapping[str, object] | None = None,
        validFromCol: str | None = None,
        validToCol: str | None = None,
        eventTimeCol: str | None = None,
        zones: int | str | None = None,
        replication: str | None = None,
        storePath: str | None = None,
    ) -> None:
        super().__init__()
        given: Mapping[str, Any] = self._input_kwargs  # type: ignore[attr-defined]
        self._set_validated(given)

    def setParams(self, **params: Any) -> Self:
        """Set parameters by name, as the constructor does."""
        return self._set_validated(params)

    def setEventSchema(self, value: StructType | str) -> Self:
        """Set the schema of events."""
        return self._set_validated({"eventSchema": value})

    def setIdCol(self, value: str) -> Self:
        """Set the column with ids of subscriptions."""
        return self._set_validated({"idCol": value})

    def setPredicateCol(self, value: str) -> Self:
        """Set the column with predicates."""
        return self._set_validated({"predicateCol": value})

    def setRangeCols(self, value: Mapping[str, Sequence[str]]) -> Self:
        """Set the columns of the two ends, by attribute."""
        return self._set_validated({"rangeCols": value})

    def setHandleInvalid(self, value: str) -> Self:
        """Set `skip` or `error`: what `fit` does with a wrong predicate."""
        return self._set_validated({"handleInvalid": value})

    def setVectors(self, value: Mapping[str, int]) -> Self:
        """Set the lengths of vector columns."""
        return self._set_validated({"vectors": value})

    def setMaxDerived(self, value: int) -> Self:
        """Set the largest number of derived attributes."""
        return self._set_validated({"maxDerived": value})

    def setLimits(self, value: PredicateLimits | Mapping[str, object]) -> Self:
        """Set the limits for predicates."""
        return self._set_validated({"limits": value})

    def setValidFromCol(self, value: str) -> Self:
        """Set the column with the start of validity."""
        return self._set_validated({"validFromCol": value})

    def setValidToCol(self, value: str) -> Self:
        """Set the column with the end of validity."""
        return self._set_validated({"validToCol": value})

    def setZones(self, value: int | str) -> Self:
        """Set the number of zones, or `auto`."""
        return self._set_validated({"zones": value})

    def setReplication(self, value: str) -> Self:
        """Set `pure` or `smart`."""
        return self._set_validated({"replication": value})

    def setStorePath(self, value: str) -> Self:
        """Set the folder for segments that are not saved yet."""
        return self._set_validated({"storePath": value})

    @check_arguments
    def fit(  # type: ignore[override]
        self, dataset: DataFrame, params: Any = None, *, events: DataFrame | None = None
    ) -> MatcherModel:
        """The model of the subscriptions; `events` are some that are typical, to cut zones by."""
        if events is None:
            model: MatcherModel = super().fit(dataset, params)
            return model
        if self._param_value(self.zones) == "1":
            raise InvalidArgumentError(
                "events are for cutting zones: say how many, as in zones='auto'"
            )
        return self.copy(params)._fit(dataset, events)

    def _fit(self, dataset: DataFrame, events: DataFrame | None = None) -> MatcherModel:
        schema, spark = self._event_schema(), dataset.sparkSession
        if schema is None:
            raise InvalidArgumentError(
                "eventSchema is missing: Matcher(eventSchema=events.schema, …)"
            )
        if self._param_value(self.zones) == "1" and self.isSet(self.replication):
            raise InvalidArgumentError(
                "replication is that of zones: say how many, as in zones='auto'"
            )
        if (
            self._param_value(self.replication) == "smart"
            and self._param_value(self.outputMode) == "arrays"
        ):
            raise InvalidArgumentError(
                "replication='smart' finds the matches of an event in several places: outputMode "
                "is 'pairs' with it"
            )
        prepare_worker_python(spark)
        space = build_space(schema, read_session_settings(spark), self._param_value(self.vectors))
        limits = self._predicate_limits()
        space = replace(space, max_derived=self._param_value(self.maxDerived), limits=limits)
        id_name = self._param_value(self.idCol)
        kind = IdType.from_spark(id_name, find_column_type(dataset, id_name, "idCol")).kind
        place = create_store_location(spark, self._param_value(self.storePath))
        space = with_validity(space) if self._has_validity() else space
        with Store.create(place, space, id_kind=kind):
            pass
        is_zoned = self._param_value(self.zones) != "1"
        load = ZoneLoader(spark, self, place, events) if is_zoned else None
        return self._copyValues(
            MatcherModel(load_subscriptions(dataset, self, place, space, 0, commit_staged=load))
        )
