"""Division of the subscriptions of a DataFrame into active and redundant ones.

Filters that contain all subscriptions are built, too.
"""

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
    """Find redundant subscriptions, and build filters that contain all subscriptions.

    A subscription is redundant if no event can match it, or if each of its regions is equal to an
    earlier region, covered by another region, or subsumed by several. Filters are hulls of active
    regions.

    Args:
        subscriptions: the subscriptions, with the columns that `Matcher.fit` reads.
        sample: typical events, of which at most 100,000 are used to estimate false forwards.
            Without a sample, they are estimated from the volumes of regions. An attribute is then
            measured from its lowest to its highest end; for texts, all neighbouring ends are
            equally far apart.
        max_false_positive_rate: largest share of events that filters may forward although no
            subscription matches them. With 0, regions are replaced by their hull only if the hull
            adds no event.
        max_subtractions: largest number of subtractions of other regions from pieces of a region,
            to find out whether it is subsumed. The subtraction is exact; a region that would need
            more subtractions stays active.
        **params: parameters of `Matcher`; `eventSchema` is required.

    Returns:
        The status of each subscription, filters, and a model of the subscriptions.

    Raises:
        InvalidArgumentError: a parameter does not fit, or no subscription is valid.
        SchemaError: the sample does not fit the subscriptions.

    Guarantee: the active subscriptions have the same union as all subscriptions, and the filters
    contain this union. The model of the result has exactly the matches that a model of all
    subscriptions has. The result does not depend on partitions or retries.

    Cost: a fit, and then about 50 µs per region, divided among all workers. The driver holds a copy
    of all regions in memory, about 500 bytes for each.
    """
    if not 0 <= max_false_positive_rate < 1:
        raise InvalidArgumentError(
            "max_false_positive_rate must be at least 0 and less than 1, "
            f"got {max_false_positive_rate}"
        )
    check_range("max_subtractions", max_subtractions, 0)
    if params.get("zones", 1) != 1:
        raise InvalidArgumentError(
            f"subscriptions with zones cannot be reduced: zones must be 1, got {params['zones']!r}"
        )
    clock = StepTimer()
    model = Matcher(**params).fit(subscriptions)
    clock.lap("fit")
    job = SharedArrayJob(subscriptions.sparkSession, model._state.location)
    snapshot = Store.open(model._state.location).snapshot(model.storeVersion)
    if not snapshot.live_segments:
        raise _no_subscriptions_error(model)
    batch = SubscriptionBatch.concat([segment.take_live() for segment in snapshot.live_segments])
    # If no attribute is constrained, a filter admits all events or none, and needs no sample.
    is_constrained = len(model._state.constrained_attributes) > 0
    events = _sample_events(model, sample) if sample is not None and is_constrained else None
    reduction = reduce_regions(
        batch.regions,
        batch.subscription_rows,
        sample=events,
        limits=ReductionLimits(max_subtractions, max_false_positive_rate),
        executor=SparkExecutor(job),
    )
    clock.lap("reduce")
    statuses = SubscriptionStatuses.from_reduction(batch, reduction)
    is_active = statuses.statuses == RegionStatus.ACTIVE
    if not is_active.all() and is_active.any():
        manifest = publish_active_first(job, model.storeVersion, is_active, uuid4().hex)
        state = replace(model._state, version=manifest.version, label=manifest.label)
        model = model._copyValues(MatcherModel(state))
    clock.lap("arrange")
    id_type = IdType.from_spark(model._param_value(model.idCol), model._state.id_type)
    folder = write_result_tables(model._state.location, id_type, batch, statuses, reduction)
    clock.lap("write")
    summary = replace(
        reduction.summary, subscriptions=len(batch.ids), redundant=int((~is_active).sum())
    )
    return ReductionResult(
        model,
        summary,
        _merge_step_seconds(clock.seconds_by_step, reduction.seconds_by_step),
        folder,
        _count_statuses_by_attribute(batch.regions, reduction.statuses),
    )


def _merge_step_seconds(
    steps: dict[str, float], covering_seconds: Mapping[str, float]
) -> dict[str, float]:
    """Return the seconds of all steps in the order in which they ran, and the total.

    The step "reduce" is replaced by its parts, whose seconds are `covering_seconds`.
    """
    seconds = {
        "fit": steps["fit"],
        **covering_seconds,
        "arrange": steps["arrange"],
        "write": steps["write"],
        "total": sum(steps.values()),
    }
    return {step: round(s, 2) for step, s in seconds.items()}


def _no_subscriptions_error(model: MatcherModel) -> InvalidArgumentError:
    """Return the error to raise if there are no subscriptions, or if none of them is valid."""
    rejected = model.rejectedSubscriptions
    first = rejected.orderBy(quote_identifier(rejected.columns[0])).first()
    if first is None:
        return InvalidArgumentError("there are no subscriptions to reduce")
    return InvalidArgumentError(
        f"none of {rejected.count()} subscriptions is valid; the error of the smallest id, "
        f"{first[0]!r}, is: {first['error']}; `covey doctor` explains each error"
    )


def _count_statuses_by_attribute(
    regions: Regions, statuses: NDArray[np.int8]
) -> dict[str, dict[str, int]]:
    """Return, by attribute and status, how many regions with the status constrain the attribute."""
    names = STATUS_NAMES[:NEVER_MATCHES]
    counts = {
        name: np.bincount(statuses[constraints.rows], minlength=len(names))
        for name, constraints in regions.constraints.items()
    }
    return {
        name: dict(zip(names, status_counts.tolist(), strict=True))
        for name, status_counts in sorted(counts.items())
    }


def _sample_events(model: MatcherModel, sample: DataFrame) -> Events:
    """Return at most 100,000 events of the sample, with all constrained attributes."""
    state = model._state
    return sample_events(
        sample, state.space, state.constrained_attributes, model._attribute, _MAX_SAMPLE_EVENTS
    )
