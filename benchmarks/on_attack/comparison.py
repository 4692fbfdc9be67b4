"""The matches of a set of subscriptions, and their differences from Spark's `where`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from covey.errors import CoveyError
from covey.spark import Matcher, MatcherModel
from covey.testing.spark_oracle import match_with_spark

__all__ = ["FAILURES", "Found", "fitted", "found_by", "table_of", "wrong_among"]

COVEY_FAILED = "covey failed on this predicate"
"""Beginning of the reason if covey failed on a subscription (see `CompilerError`)."""

FAILURES = (PySparkException, Py4JJavaError, CoveyError)
"""Errors of a job that fails as a whole."""

"""Limit of derived attributes: so large that no subscription is rejected because of others."""

_SUBSCRIPTIONS = "id STRING, predicate STRING"


@dataclass(frozen=True, slots=True)
class Found:
    """Matching pairs of an event number and a subscription id, and the rejected subscriptions.

    `refused` has the reason of each rejected subscription by its id.
    """

    pairs: frozenset[tuple[int, str]]
    refused: Mapping[str, str | None]

    def of(self, ids: Sequence[str]) -> frozenset[tuple[int, str]]:
        """Return the pairs of the given subscriptions."""
        requested_ids = set(ids)
        return frozenset(pair for pair in self.pairs if pair[1] in requested_ids)


def table_of(events: DataFrame, texts: Mapping[str, str]) -> DataFrame:
    """Return a table of subscriptions from their texts by id."""
    return events.sparkSession.createDataFrame(list(texts.items()), _SUBSCRIPTIONS)


def fitted(events: DataFrame, texts: Mapping[str, str], **params: Any) -> MatcherModel:
    """Return a model of subscriptions, given by their texts by id.

    `params` are further parameters of `Matcher`.
    """
    matcher = Matcher(eventSchema=events.schema, eventCols=["n"], **params)
    return matcher.fit(table_of(events, texts))


def found_by(model: MatcherModel, events: DataFrame) -> Found:
    """Return the pairs of a model on events, and its rejected subscriptions."""
    rows = model.transform(events).collect()
    refused = {row["id"]: row["error"] for row in model.rejectedSubscriptions.collect()}
    return Found(frozenset((row["n"], row["id"]) for row in rows), refused)


def wrong_among(events: DataFrame, texts: Mapping[str, str], found: Found) -> list[str]:
    """Return the ids of accepted subscriptions whose matches differ from those of `where`.

    The ids of subscriptions on which covey failed are included.
    """
    failed = {id_ for id_, reason in found.refused.items() if COVEY_FAILED in (reason or "")}
    accepted = {id_: text for id_, text in texts.items() if id_ not in found.refused}
    spark_pairs = match_with_spark(events, accepted, "n") if accepted else set()
    return sorted({id_ for _, id_ in spark_pairs ^ found.of(list(accepted))} | failed)
