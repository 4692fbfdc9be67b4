"""What a set of subscriptions comes to, and where it is not what `where` keeps."""

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

__all__ = ["FAILURES", "MAX_DERIVED", "Found", "fitted", "found_by", "table_of", "wrong_among"]

COVEY_FAILED = "covey failed on this predicate"
"""How the reason begins why a subscription is rejected that may be right (see `CompilerError`)."""

FAILURES = (PySparkException, Py4JJavaError, CoveyError)
"""What a job that fails as a whole raises."""

MAX_DERIVED = 1_000
"""How many expressions all predicates may compare, so that nobody is refused for others."""

_SUBSCRIPTIONS = "id STRING, predicate STRING"


@dataclass(frozen=True, slots=True)
class Found:
    """The pairs of an event and a subscription that match, and whom it refuses, and why."""

    pairs: frozenset[tuple[int, str]]
    refused: Mapping[str, str | None]

    def of(self, ids: Sequence[str]) -> frozenset[tuple[int, str]]:
        """The pairs of some subscriptions."""
        wanted = set(ids)
        return frozenset(pair for pair in self.pairs if pair[1] in wanted)


def table_of(events: DataFrame, texts: Mapping[str, str]) -> DataFrame:
    """Subscriptions by id, as a table."""
    return events.sparkSession.createDataFrame(list(texts.items()), _SUBSCRIPTIONS)


def fitted(events: DataFrame, texts: Mapping[str, str], **params: Any) -> MatcherModel:
    """The model of subscriptions by id; `params` are further ones of `Matcher`."""
    matcher = Matcher(eventSchema=events.schema, eventCols=["n"], maxDerived=MAX_DERIVED, **params)
    return matcher.fit(table_of(events, texts))


def found_by(model: MatcherModel, events: DataFrame) -> Found:
    """What a model finds."""
    rows = model.transform(events).collect()
    refused = {row["id"]: row["error"] for row in model.rejectedSubscriptions.collect()}
    return Found(frozenset((row["n"], row["id"]) for row in rows), refused)


def wrong_among(events: DataFrame, texts: Mapping[str, str], found: Found) -> list[str]:
    """Return the subscriptions that were taken and match other events than `where` keeps.

    Those on which covey failed are among them.
    """
    failed = {id_ for id_, reason in found.refused.items() if COVEY_FAILED in (reason or "")}
    taken = {id_: text for id_, text in texts.items() if id_ not in found.refused}
    kept = match_with_spark(events, taken, "n") if taken else set()
    return sorted({id_ for _, id_ in kept ^ found.of(list(taken))} | failed)
