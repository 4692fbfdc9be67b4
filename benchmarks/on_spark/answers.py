"""Whether answers are the same: how many pairs there are, and a hash of all of them.

The hash is the sum of `xxhash64(event_id, id)` over all pairs, so it depends on no order. What is
compared with covey's is Spark's own answer: a join, or `where` with each of some predicates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

__all__ = ["Digest", "agreed", "chosen_by_where", "digest"]

_AT_ONCE = 100  # predicates in one projection


@dataclass(frozen=True, slots=True)
class Digest:
    """Pairs and their hash; those of two disjoint sets add up."""

    pairs: int
    hash: int

    def __add__(self, other: Digest) -> Digest:
        return Digest(self.pairs + other.pairs, self.hash + other.hash)


def digest(pairs: DataFrame) -> Digest:
    """Of a frame with `event_id` and `id`; with `matches` instead, of their elements."""
    if "matches" in pairs.columns:
        pairs = pairs.select("event_id", F.explode("matches").alias("id"))
    hashed = F.xxhash64("event_id", "id").cast("decimal(38, 0)")
    row = pairs.agg(F.count("*"), F.coalesce(F.sum(hashed), F.lit(0))).first()
    assert row is not None
    return Digest(int(row[0]), int(row[1]))


def agreed(what: str, covey: Digest, spark: Digest) -> Digest:
    """The digest, if both are the same."""
    if covey != spark:
        raise RuntimeError(f"answers differ on {what}: covey has {covey}, Spark has {spark}")
    return covey


def chosen_by_where(events: DataFrame, subscriptions: DataFrame) -> Digest:
    """The pairs that `events.where(predicate)` keeps for each of a few subscriptions."""
    given = [(row["id"], row["predicate"]) for row in subscriptions.collect()]
    kept = Digest(0, 0)
    for start in range(0, len(given), _AT_ONCE):
        kept += digest(_kept(events, given[start : start + _AT_ONCE]))
    return kept


def _kept(events: DataFrame, given: Sequence[tuple[int, str]]) -> DataFrame:
    """One pass over the events; `when`, as `where`, takes what is true and nothing else."""
    ids = [F.when(F.expr(text), F.lit(number).cast("long")) for number, text in given]
    return events.select("event_id", F.explode(F.array_compact(F.array(*ids))).alias("id"))
