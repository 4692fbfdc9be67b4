"""What `covey compact` counts: what each step removed, and the standings of each owner's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from covey.cli.rejections import Rejections
from covey.compact import Summary
from covey.quoting import quoted
from covey.spark import Compaction
from covey.spark.standing import NAMES

__all__ = ["Counts", "counted"]

Standings = dict[str, int]
_DRAWN = 12
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of one compaction; of an owner, and of an attribute, how many have each standing.

    `largest` are the owners with the most subscriptions, `most_passive` those with the most
    passive ones; both are empty if subscriptions have no owner.
    """

    line: str
    summary: Summary
    seconds: Mapping[str, float]
    by_attribute: dict[str, Standings]
    largest: dict[str, Standings]
    most_passive: dict[str, Standings]
    rejected: Rejections


def counted(made: Compaction, subscriptions: DataFrame, owner: str | None) -> Counts:
    """All counts; owners are counted by Spark, and few of them come to the driver."""
    largest, most_passive = {}, {}
    if owner is not None:
        owners = _by_owner(made, subscriptions, owner).persist()
        largest = _first(owners, _sum(NAMES), _DRAWN)
        most_passive = _first(owners, _sum(NAMES[1:]), _SHOWN)
        owners.unpersist()
    return Counts(
        str(made),
        made.summary,
        made.seconds,
        {name: dict(counts) for name, counts in made.by_attribute.items()},
        largest,
        most_passive,
        Rejections.of(made.model),
    )


def _by_owner(made: Compaction, subscriptions: DataFrame, owner: str) -> DataFrame:
    """A row for each owner: its name, and a column for each standing."""
    id_ = F.col(quoted(made.model.given(made.model.idCol)))
    name = F.coalesce(F.col(quoted(owner)).cast("string"), F.lit("null"))
    owned = subscriptions.select(id_.alias("id"), name.alias("owner"))
    standing = made.standing.select(id_.alias("id"), "standing")
    counts = [F.count_if(F.col("standing") == one).alias(one) for one in NAMES]
    return owned.join(standing, "id").groupBy("owner").agg(*counts)


def _first(owners: DataFrame, by: Column, count: int) -> dict[str, Standings]:
    rows = owners.where(by > 0).orderBy(by.desc(), "owner").limit(count).collect()
    return {row["owner"]: {name: row[name] for name in NAMES} for row in rows}


def _sum(names: Sequence[str]) -> Column:
    total = F.lit(0)
    for name in names:
        total = total + F.col(name)
    return total
