"""Estimator of Spark ML that fits a model to a DataFrame of subscriptions.

The model matches events with the subscriptions.
"""

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
from covey.spark.workers import prepare_worker_python
from covey.spark.zones.loader import ZoneLoader
from covey.store import Store

__all__ = ["Matcher", "match"]


@check_arguments
def match(events: DataFrame, subscriptions: DataFrame, **params: Any) -> DataFrame:
    """Return events with the ids of the subscriptions that match them.

    The function fits a `Matcher` and transforms the events. To match many batches of events, fit a
    model once instead.

    Args:
        events: the events; their schema is the `eventSchema`.
        subscriptions: the subscriptions, with the columns that `Matcher.fit` reads.
        **params: other parameters of `Matcher`.

    Returns:
        The output of `MatcherModel.transform`; by default a row for each match.

    Raises:
        CoveyError: a parameter or a column does not fit.
    """
    model = Matcher(eventSchema=events.schema, **params).fit(subscriptions)
    return model.transform(events)


class Matcher(
    Estimator["MatcherModel"], MatcherParams, DefaultParamsReadable["Matcher"],
    DefaultParamsWritable,
):  # fmt: skip
    """Estimator that fits a `MatcherModel` to subscriptions.

    Guarantee: the model matches an event with a subscription if and only if
    `events.where(predicate)` would keep the event, under the session's time zone and ANSI mode.
    By default, invalid predicates do not fail the job, but are listed in
    `model.rejectedSubscriptions`.

    - `eventSchema`: schema of the events: `events.schema`, or a text such as
      `"symbol STRING, price DOUBLE"`.
    - `idCol`, `predicateCol`: columns of the subscriptions. Ids are integers, strings, binary,
      decimals, dates or timestamps, and each id occurs once.
    - `rangeCols`: columns with closed intervals by attribute, instead of predicates:
      `{"price": ("low", "high")}`. A null means that the interval has no bound on that side. The
      columns must have the attribute's type, or a type whose values the attribute's type can all
      represent.
    - `outputMode`: `"pairs"` returns a row for each match, `"arrays"` a row for each event with the
      list of matched ids. `eventCols` are the columns of events in the output (default: all), and
      `outputCol` is the name of the column with ids.
    - `handleInvalid`: `"skip"` only lists rejected subscriptions, and `"error"` raises the error of
      the rejected subscription with the smallest id.
    - `vectors`: for each `array<float>` column that distances use, the number of its elements.
    - `limits`: `covey.space.PredicateLimits`, or a dictionary of its fields: limits of the size and
      the regular expressions of predicates, and the user-defined functions that they may call.
    - `validFromCol`, `validToCol`: columns with the start and the end of the validity interval of a
      subscription. The interval is compared with the column `eventTimeCol` of the events or, if
      that is not set, with Spark's current time.
    - `zones`: number of zones over which subscriptions are spread (default: 1). Use several zones
      if subscriptions need more memory than a worker has; events are then shuffled to their zones.
      `"auto"` makes as many zones as necessary, often one. Pass events to `fit` too, so that all
      zones have about equal work.
    - `replication`: `"pure"` stores a subscription in every zone that it meets. `"smart"` stores a
      covered subscription (one that another subscription covers) only in one zone. A second shuffle
      then forwards events to the zones in which they may have further matches. This needs less
      memory if many subscriptions are covered, and takes longer; `outputMode` must be `"pairs"`.
    - `storePath`: folder in which segments are stored until the model is saved. By default it is a
      temporary folder that is deleted when the process ends; this default is possible only if Spark
      runs locally.

    Cost: subscriptions are shuffled once by id, parsed and indexed by all workers, and merged in
    one task. Parsing and indexing take a worker about 10 µs per predicate if predicates share
    templates. The model takes 100 to 150 bytes per region, and each machine maps it into memory
    once.

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
        limits: PredicateLimits | Mapping[str, object] | None = None,
        validFromCol: str | None = None,
        validToCol: str | None = None,
        eventTimeCol: str | None = None,
        zones: int | str | None = None,
        replication: str | None = None,
        storePath: str | None = None,
    ) -> None:
        super().__init__()
        arguments: Mapping[str, Any] = self._input_kwargs  # type: ignore[attr-defined]
        self._set_validated(arguments)

    def setParams(self, **params: Any) -> Self:
        """Set parameters by name, like the constructor."""
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
        """Set for each attribute the columns with the two ends of its interval."""
        return self._set_validated({"rangeCols": value})

    def setHandleInvalid(self, value: str) -> Self:
        """Set what `fit` does with an invalid predicate: `skip` or `error`."""
        return self._set_validated({"handleInvalid": value})

    def setVectors(self, value: Mapping[str, int]) -> Self:
        """Set the number of elements of each vector column."""
        return self._set_validated({"vectors": value})

    def setLimits(self, value: PredicateLimits | Mapping[str, object]) -> Self:
        """Set the limits of predicates."""
        return self._set_validated({"limits": value})

    def setValidFromCol(self, value: str) -> Self:
        """Set the column with the start of the validity interval, which is included."""
        return self._set_validated({"validFromCol": value})

    def setValidToCol(self, value: str) -> Self:
        """Set the column with the end of the validity interval, which is excluded."""
        return self._set_validated({"validToCol": value})

    def setZones(self, value: int | str) -> Self:
        """Set the number of zones, or `auto`."""
        return self._set_validated({"zones": value})

    def setReplication(self, value: str) -> Self:
        """Set the replication of subscriptions over zones: `pure` or `smart`."""
        return self._set_validated({"replication": value})

    def setStorePath(self, value: str) -> Self:
        """Set the folder in which segments are stored until the model is saved."""
        return self._set_validated({"storePath": value})

    @check_arguments
    def fit(  # type: ignore[override]
        self, dataset: DataFrame, params: Any = None, *, events: DataFrame | None = None
    ) -> MatcherModel:
        """Return a model that matches events with these subscriptions.

        Args:
            dataset: the subscriptions.
            params: parameters by `Param` that override those of this estimator, as in Spark ML.
            events: typical events; zones are split so that all have about equal work for them.

        Raises:
            InvalidArgumentError: a parameter or a column is missing or does not fit.
            PredicateError: a subscription is rejected, and `handleInvalid` is `"error"`.
            SchemaError: the session settings or the schema of events are not supported.
        """
        if events is None:
            model: MatcherModel = super().fit(dataset, params)
            return model
        if self._param_value(self.zones) == "1":
            raise InvalidArgumentError(
                "events are used only to split zones, but zones is 1: set zones to 'auto' or to a "
                "larger number, or do not pass events"
            )
        return self.copy(params)._fit(dataset, events)

    def _fit(self, dataset: DataFrame, events: DataFrame | None = None) -> MatcherModel:
        schema, spark = self._event_schema(), dataset.sparkSession
        if schema is None:
            raise InvalidArgumentError(
                "eventSchema is missing: write Matcher(eventSchema=events.schema, …)"
            )
        if self._param_value(self.zones) == "1" and self.isSet(self.replication):
            raise InvalidArgumentError(
                "replication requires zones, but zones is 1: set zones to 'auto' or to a larger "
                "number"
            )
        if (
            self._param_value(self.replication) == "smart"
            and self._param_value(self.outputMode) == "arrays"
        ):
            raise InvalidArgumentError(
                "with replication='smart', the matches of one event are found in several zones: "
                "set outputMode to 'pairs' instead of 'arrays'"
            )
        prepare_worker_python(spark)
        space = build_space(schema, read_session_settings(spark), self._param_value(self.vectors))
        space = replace(space, limits=self._predicate_limits())
        id_name = self._param_value(self.idCol)
        id_kind = IdType.from_spark(id_name, find_column_type(dataset, id_name, "idCol")).kind
        location = create_store_location(spark, self._param_value(self.storePath))
        space = with_validity(space) if self._has_validity() else space
        with Store.create(location, space, id_kind=id_kind):
            pass
        is_zoned = self._param_value(self.zones) != "1"
        zone_loader = ZoneLoader(spark, self, location, events) if is_zoned else None
        state = load_subscriptions(dataset, self, location, space, 0, commit_staged=zone_loader)
        return self._copyValues(MatcherModel(state))
