"""Subscriptions of a DataFrame made few: which are active, what absorbs the others, and filters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from covey.compact import Budget, Standing
from covey.compact import compact as compact_regions
from covey.compact.clock import Clock
from covey.errors import ValueRefused
from covey.geometry import Regions
from covey.quoting import quoted
from covey.space import Events
from covey.spark.compaction import Compaction
from covey.spark.ids import IdType
from covey.spark.matcher import Matcher
from covey.spark.model import MatcherModel
from covey.spark.portions import Portions
from covey.spark.sampling import sampled
from covey.spark.standing import NAMES, NEVER, Standings, arrange, write_tables
from covey.spark.workers import SparkWorkers
from covey.store import Store
from covey.store.subscriptions import Owned

__all__ = ["compact"]

_SAMPLED = 100_000


def compact(
    subscriptions: DataFrame,
    *,
    sample: DataFrame | None = None,
    added: float = 0.0,
    subtractions: int = 32,
    **params: Any,
) -> Compaction:
    """Finds which subscriptions are redundant, and filters for all of them.

    `params` are those of `Matcher`, `eventSchema` among them. A subscription is active unless each
    of its regions is equal to another, covered by one or inside the union of several (found by
    exact subtraction of at most `subtractions` others; beyond that it is kept). Filters are hulls
    of active regions: perfect ones, and with `added` above 0 others as long as they let in no more
    than that share of events which nobody wants, of the sample, or without one of the space.

    Guarantee: the union of the active ones is the union of all; filters contain it; the model of
    the result notifies as one of all would. Partitions and retries change nothing.

    Cost: a fit; then about 50 µs a region, shared by all workers, and a copy of all regions in the
    driver's memory, about 500 bytes each.
    """
    if not isinstance(added, int | float) or not 0 <= added < 1:
        raise ValueRefused(f"added is a share of events from 0 to less than 1, not {added}")
    if not isinstance(subtractions, int) or subtractions < 0:
        raise ValueRefused(f"subtractions is a number of regions, 0 or more, not {subtractions}")
    if params.get("zones", 1) != 1:
        raise ValueRefused("what is compacted is one segment of active ones: zones is 1 for it")
    clock = Clock()
    model = Matcher(**params).fit(subscriptions)
    clock.took("fit")
    portions = Portions(subscriptions.sparkSession, model.fitted.place)
    snapshot = Store.open(model.fitted.place).snapshot(model.version)
    if not snapshot.parts:
        raise _nothing(model)
    owned = Owned.concat([part.live() for part in snapshot.parts])
    is_sampled = len(model.fitted.constrained) > 0  # else filters let in all, or nothing
    events = _events(model, sample) if sample is not None and is_sampled else None
    found = compact_regions(
        owned.regions, owned.of, events, Budget(subtractions, added), SparkWorkers(portions)
    )
    clock.took("compact")
    standings = Standings.of(owned, found)
    is_active = standings.standing == Standing.ACTIVE
    if not is_active.all() and is_active.any():
        version = arrange(portions, model.version, is_active, uuid4().hex)
        fitted = replace(model.fitted, version=version.number, label=version.label)
        model = model._copyValues(MatcherModel(fitted))
    clock.took("arrange")
    ids = IdType.of(model.given(model.idCol), model.fitted.id_type)
    folder = write_tables(model.fitted.place, ids, owned, standings, found)
    clock.took("write")
    summary = replace(found.summary, subscriptions=len(owned.ids), passive=int((~is_active).sum()))
    seconds = _seconds(clock.seconds, found.seconds)
    return Compaction(model, summary, seconds, folder, _by_attribute(owned.regions, found.standing))


def _seconds(steps: dict[str, float], parts: Mapping[str, float]) -> dict[str, float]:
    """The steps in their order, the parts of one of them in its place, and the total."""
    taken = {"fit": steps["fit"], **parts, "arrange": steps["arrange"], "write": steps["write"]}
    return {step: round(s, 2) for step, s in (taken | {"total": sum(steps.values())}).items()}


def _nothing(model: MatcherModel) -> ValueRefused:
    """The error for subscriptions of which none can be read, or none is there."""
    rejected = model.rejected
    first = rejected.orderBy(quoted(rejected.columns[0])).first()
    if first is None:
        return ValueRefused("there are no subscriptions to compact")
    return ValueRefused(
        f"no subscription can be read; of {rejected.count()}, the first by id is "
        f"{first[0]!r}: {first['error']}; `covey doctor` says what is wrong with each"
    )


def _by_attribute(regions: Regions, standing: NDArray[np.int8]) -> dict[str, dict[str, int]]:
    """For each attribute how many regions of each standing constrain it."""
    names = NAMES[:NEVER]
    counts = {
        name: np.bincount(standing[given.rows], minlength=len(names))
        for name, given in regions.constraints.items()
    }
    return {
        name: dict(zip(names, some.tolist(), strict=True)) for name, some in sorted(counts.items())
    }


def _events(model: MatcherModel, sample: DataFrame) -> Events:
    """At most 100,000 events, with all that subscriptions constrain."""
    fitted = model.fitted
    return sampled(sample, fitted.space, fitted.constrained, model.attribute, _SAMPLED)
