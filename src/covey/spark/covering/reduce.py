"""Subscriptions of a DataFrame made few: which are active, what absorbs the others, and filters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from covey._argument_checks import check_arguments, check_range
from covey.covering import ReductionLimits, RegionStatus, reduce_regions
from covey.covering.step_timer import StepTimer
from covey.errors import InvalidArgumentError
from covey.geometry import Regions
from covey.space import Events
from covey.spark.covering.executor import SparkExecutor
from covey.spark.covering.result import ReductionResult
from covey.spark.covering.shared_array_job import SharedArrayJob
from covey.spark.covering.tables import (
    NEVER_MATCHES,
    STATUS_NAMES,
    SubscriptionStatuses,
    publish_active_first,
    write_result_tables,
)
from covey.spark.event_sample import sample_events
from covey.spark.id_types import IdType
from covey.spark.matcher import Matcher
from covey.spark.model import MatcherModel
from covey.sql_names import quote_identifier
from covey.store import Store
from covey.store.segments import SubscriptionBatch

__all__ = ["reduce_subscriptions"]

_MAX_SAMPLE_EVENTS = 100_000


@check_arguments
def reduce_subscriptions(
    subscriptions: DataFrame,
    *,
    sample: DataFrame | None = None,
    max_false_positive_rate: float = 0.0,
    max_subtractions: int = 32,
    **params: Any,
) -> ReductionResult:
    """Finds which subscriptions are redundant, and filters for all of them.

    `params` are those of `Matcher`, `eventSchema` among them. A subscription is active unless each
    of its regions is equal to another, covered by one or inside the union of several (found by
    exact subtraction of at most `max_subtractions` others; beyond that it is kept). Filters are
    hulls of active regions: perfect ones, and with `max_false_positive_rate` above 0 others as long
    as they let in no more than that share of events which nobody wants, of the sample, or without
    one of the space.

    Guarantee: the union of the active ones is the union of all; filters contain it; the model of
    the result notifies as one of all would. Partitions and retries change nothing.

    Cost: a fit; then about 50 µs a region, shared by all workers, and a copy of all regions in the
    driver's memory, about 500 bytes each.
    """
    if not 0 <= max_false_positive_rate < 1:
        raise InvalidArgumentError(
            "max_false_positive_rate must be at least 0 and less than 1, "
            f"got {max_false_positive_rate}"
        )
    check_range("max_subtractions", max_subtractions, 0)
    if params.get("zones", 1) != 1:
        raise InvalidArgumentError(
            "a reduction has one segment of active subscriptions: zones must be 1"
        )
    clock = StepTimer()
    model = Matcher(**params).fit(subscriptions)
    clock.lap("fit")
    portions = SharedArrayJob(subscriptions.sparkSession, model._state.location)
    snapshot = Store.open(model._state.location).snapshot(model.storeVersion)
    if not snapshot.live_segments:
        raise _no_subscriptions_error(model)
    owned = SubscriptionBatch.concat([part.take_live() for part in snapshot.live_segments])
    is_sampled = len(model._state.constrained_attributes) > 0  # else filters let in all, or nothing
    events = _sample_events(model, sample) if sample is not None and is_sampled else None
    found = reduce_regions(
        owned.regions,
        owned.subscription_rows,
        sample=events,
        limits=ReductionLimits(max_subtractions, max_false_positive_rate),
        executor=SparkExecutor(portions),
    )
    clock.lap("compact")
    statuses = SubscriptionStatuses.from_reduction(owned, found)
    is_active = statuses.statuses == RegionStatus.ACTIVE
    if not is_active.all() and is_active.any():
        version = publish_active_first(portions, model.storeVersion, is_active, uuid4().hex)
        fitted = replace(model._state, version=version.version, label=version.label)
        model = model._copyValues(MatcherModel(fitted))
    clock.lap("arrange")
    ids = IdType.from_spark(model._param_value(model.idCol), model._state.id_type)
    folder = write_result_tables(model._state.location, ids, owned, statuses, found)
    clock.lap("write")
    summary = replace(
        found.summary, subscriptions=len(owned.ids), redundant=int((~is_active).sum())
    )
    seconds = _merge_step_seconds(clock.seconds_by_step, found.seconds_by_step)
    return ReductionResult(
        model, summary, seconds, folder, _count_statuses_by_attribute(owned.regions, found.statuses)
    )


def _merge_step_seconds(
    steps: dict[str, float], covering_seconds: Mapping[str, float]
) -> dict[str, float]:
    """The steps in their order, the parts of one of them in its place, and the total."""
    taken = {
        "fit": steps["fit"],
        **covering_seconds,
        "arrange": steps["arrange"],
        "write": steps["write"],
    }
    return {step: round(s, 2) for step, s in (taken | {"total": sum(steps.values())}).items()}


def _no_subscriptions_error(model: MatcherModel) -> InvalidArgumentError:
    """The error for subscriptions of which none can be read, or none is there."""
    rejected = model.rejectedSubscriptions
    first = rejected.orderBy(quote_identifier(rejected.columns[0])).first()
    if first is None:
        return InvalidArgumentError("there are no subscriptions to compact")
    return InvalidArgumentError(
        f"no subscription can be read; of {rejected.count()}, the first by id is "
        f"{first[0]!r}: {first['error']}; `covey doctor` says what is wrong with each"
    )


def _count_statuses_by_attribute(
    regions: Regions, statuses: NDArray[np.int8]
) -> dict[str, dict[str, int]]:
    """For each attribute how many regions of each status constrain it."""
    names = STATUS_NAMES[:NEVER_MATCHES]
    counts = {
        name: np.bincount(statuses[given.rows], minlength=len(names))
        for name, given in regions.constraints.items()
    }
    return {
        name: dict(zip(names, some.tolist(), strict=True)) for name, some in sorted(counts.items())
    }


def _sample_events(model: MatcherModel, sample: DataFrame) -> Events:
    """At most 100,000 events, with all that subscriptions constrain."""
    fitted = model._state
    return sample_events(
        sample, fitted.space, fitted.constrained_attributes, model._attribute, _MAX_SAMPLE_EVENTS
    )
