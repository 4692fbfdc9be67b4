"""Possible splits of a zone, with the work and the number of regions on both sides.

For a scalar attribute, the keys at which a zone may be split are quantiles of the keys of events
and of the ends of regions. For a vector attribute, the thresholds are quantiles of the scores of
vectors with random directions, and with the direction along which vectors have the largest
variance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.balls import Balls
from covey.geometry.distances import Metric
from covey.geometry.projections import Directions
from covey.geometry.scalars import Scalars
from covey.space import Events
from covey.space.events import ScalarColumn, ValueState, VectorColumn
from covey.space.keys import key_domain
from covey.zones.direction_split import DirectionSplit
from covey.zones.splits import KeySplit, NullSplit, Split

__all__ = ["SplitCandidate", "generate_candidates"]

Floats = NDArray[np.float64]

_QUANTILES = np.arange(1, 16) / 16
_DIRECTIONS = 8  # random directions that are tried for a split
_ROUNDS = 4  # steps of the power iteration that finds the direction of the largest variance


@dataclass(frozen=True, slots=True)
class SplitCandidate:
    """Possible split, with the load of both sides.

    Args:
        split: the split.
        side_work: work of the events on the low and on the high side.
        side_region_counts: number of regions on the low and on the high side.
    """

    split: Split
    side_work: tuple[float, float]
    side_region_counts: tuple[int, int]


def generate_candidates(
    events: Events,
    event_work: Floats,
    regions: Regions,
    attributes: frozenset[str],
    seed: list[int],
) -> Iterator[SplitCandidate]:
    """Yield possible splits by each scalar or vector attribute that at least one region constrains.

    Args:
        events: a sample of the events of the zone.
        event_work: the cost of matching each event.
        regions: a sample of the regions that meet the zone.
        attributes: attributes by which the zone may be split; others are ignored.
        seed: seed of the random directions.
    """
    for name, constraints in regions.constraints.items():
        if name not in attributes:
            continue
        free, batch = len(regions) - len(constraints.rows), constraints.batch
        column = events.columns.get(name)
        if isinstance(batch, Scalars):
            assert column is None or isinstance(column, ScalarColumn)
            yield from _split_scalars(name, regions, batch, free, column, event_work)
        elif isinstance(batch, Balls) and isinstance(column, VectorColumn):
            yield from _split_vectors(name, batch, free, column, event_work, seed)


def _split_scalars(
    name: str, regions: Regions, batch: Scalars, free_count: int, column: ScalarColumn | None,
    event_work: Floats,
) -> Iterator[SplitCandidate]:  # fmt: skip
    """Yield splits by a scalar attribute: by null if an event has null, and by keys.

    `batch` has the constraints on the attribute, and `free_count` is the number of regions without
    such a constraint. `column` has the values of events, or is None if the events do not have the
    attribute.
    """
    type_ = regions.space[name].type
    has_key = np.asarray(batch.lower <= batch.upper, np.bool_)
    keys = np.empty(0, key_domain(type_).dtype) if column is None else column.keys[column.valid]
    weights = np.empty(0) if column is None else event_work[column.valid]
    order = np.argsort(keys, kind="stable")
    keys, total = keys[order], np.r_[0.0, np.cumsum(weights[order])]
    null_work = float(event_work.sum() - total[-1])
    nulls = int(batch.nulls.sum())
    if null_work:
        sides = free_count + nulls, free_count + int(has_key.sum())
        yield SplitCandidate(NullSplit(name), (null_work, float(total[-1])), sides)
    lower = np.sort(batch.lower[has_key & ~batch.nulls])
    upper = np.sort(batch.upper[has_key])
    for first_high_key in _choose_split_keys(batch, lower, keys, total):
        below = float(total[np.searchsorted(keys, first_high_key)])
        low = free_count + nulls + int(np.searchsorted(lower, first_high_key))
        high = free_count + len(upper) - int(np.searchsorted(upper, first_high_key))
        sides_of_work = null_work + below, float(total[-1]) - below
        yield SplitCandidate(KeySplit(name, type_, first_high_key), sides_of_work, (low, high))


def _choose_split_keys(batch: Scalars, lower: Any, keys: Any, cumulative_work: Floats) -> list[Any]:
    """Return keys with which the high side of a split may begin, ascending.

    Args:
        batch: the constraints on the attribute.
        lower: lower ends of the constraints that do not admit null, ascending.
        keys: keys of the events, ascending.
        cumulative_work: 0, followed by the total work of the first 1, 2, … of these events.
    """
    split_keys = list(lower[_quantile_rows(len(lower))])
    if len(keys):
        split_keys += list(
            keys[np.searchsorted(cumulative_work[1:], _QUANTILES * cumulative_work[-1])]
        )
    if batch.domain.dtype != object:  # numbers only: a string has no next key
        upper = np.sort(batch.upper[batch.upper < batch.domain.high])
        split_keys += [int(end) + 1 for end in upper[_quantile_rows(len(upper))]]
        split_keys = [int(key) for key in split_keys]
    return sorted({key for key in split_keys if key > batch.domain.low})


def _quantile_rows(count: int) -> NDArray[np.int64]:
    """Return the rows of the quantiles 1/16 to 15/16 of `count` sorted values, each row once."""
    return np.unique((_QUANTILES * count).astype(np.int64)) if count else np.empty(0, np.int64)


def _split_vectors(
    name: str,
    batch: Balls,
    free_count: int,
    column: VectorColumn,
    event_work: Floats,
    seed: list[int],
) -> Iterator[SplitCandidate]:
    """Yield splits by a vector attribute, for the most frequent metric of its balls.

    Thresholds are quantiles of the scores of events, weighted by work. `batch` has the constraints
    on the attribute, and `free_count` is the number of regions without such a constraint.
    """
    valued = np.flatnonzero(column.states == ValueState.VALUE)
    if not len(valued) or not len(batch.metrics):
        return
    metric = Metric(int(np.bincount(batch.metrics).argmax()))
    vectors = column.matrix[valued].astype(np.float64)
    length = vectors.shape[1]
    matrix = Directions.orthonormal(min(_DIRECTIONS, length), length, seed).matrix
    widest = _find_widest_direction(vectors, matrix[0])
    null_work = float(event_work.sum() - event_work[valued].sum())
    for direction in (widest, *matrix):
        if not np.isfinite(direction).all():
            continue
        scores = DirectionSplit(name, metric, direction.astype(np.float32), 0.0).project_vectors(
            column.matrix[valued]
        )
        order = np.argsort(scores)
        cumulative_work = np.r_[0.0, np.cumsum(event_work[valued][order])]
        for row in np.searchsorted(cumulative_work[1:], _QUANTILES[3:-3:2] * cumulative_work[-1]):
            threshold = float(np.float32(scores[order][row]))
            if not np.isfinite(threshold):
                continue
            split = DirectionSplit(name, metric, direction.astype(np.float32), threshold)
            low, high = split.find_ball_sides(batch)
            below = float(cumulative_work[np.searchsorted(scores[order], threshold)])
            sides = free_count + int(low.sum()), free_count + int(high.sum())
            yield SplitCandidate(
                split, (null_work + below, float(cumulative_work[-1]) - below), sides
            )


def _find_widest_direction(vectors: Floats, start: Floats) -> Floats:
    """Return an approximation of the direction along which the vectors have the largest variance.

    Args:
        vectors: the vectors, one per row.
        start: direction with which the power iteration starts.
    """
    with np.errstate(all="ignore"):
        centred, direction = vectors - vectors.mean(axis=0), start
        for _ in range(_ROUNDS):
            direction = centred.T @ (centred @ direction)
            direction = direction / np.linalg.norm(direction)
    return direction
