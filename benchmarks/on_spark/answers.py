"""Comparison of results of matching by their number of pairs and a hash of all pairs.

The hash is the sum of `xxhash64(event_id, id)` over all pairs, so their order does not
matter. covey's results are compared with Spark's: those of a join, or of `where` with each of
several predicates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

__all__ = ["Digest", "agreed", "chosen_by_where", "digest"]

_AT_ONCE = 100  # predicates of one projection


@dataclass(frozen=True, slots=True)
class Digest:
    """Number of pairs and their hash; the digest of a disjoint union is the sum of the digests."""

    pairs: int
    hash: int

    def __add__(self, other: Digest) -> Digest:
        return Digest(self.pairs + other.pairs, self.hash + other.hash)


def digest(pairs: DataFrame) -> Digest:
    """Return the digest of a frame with `event_id` and `id`, or with `event_id` and `matches`.

    The elements of `matches` are ids.
    """
    if "matches" in pairs.columns:
        pairs = pairs.select("event_id", F.explode("matches").alias("id"))
    hashed = F.xxhash64("event_id", "id").cast("decimal(38, 0)")
    row = pairs.agg(F.count("*"), F.coalesce(F.sum(hashed), F.lit(0))).first()
    assert row is not None
    return Digest(int(row[0]), int(row[1]))


def agreed(what: str, covey: Digest, spark: Digest) -> Digest:
    """Return the digest if those of covey and of Spark are equal, else raise RuntimeError."""
    if covey != spark:
        raise RuntimeError(f"answers of {what} differ: covey has {covey}, Spark has {spark}")
    return covey


def chosen_by_where(events: DataFrame, subscriptions: DataFrame) -> Digest:
    """Return the digest of the pairs that `events.where(predicate)` gives for each subscription."""
    predicates = [(row["id"], row["predicate"]) for row in subscriptions.collect()]
    total = Digest(0, 0)
    for start in range(0, len(predicates), _AT_ONCE):
        total += digest(_kept(events, predicates[start : start + _AT_ONCE]))
    return total


def _kept(events: DataFrame, given: Sequence[tuple[int, str]]) -> DataFrame:
    """Return the pairs of several predicates from one pass over the events.

    A pair is returned only if the predicate is true; null counts as false, as with `where`.
    """
    ids = [F.when(F.expr(text), F.lit(number).cast("long")) for number, text in given]
    return events.select("event_id", F.explode(F.array_compact(F.array(*ids))).alias("id"))
