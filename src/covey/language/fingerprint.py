"""Digests of predicates: predicates with the same regions have the same digest.

Equal constraints are written as equal texts, and a region is left out if another region of the same
predicate covers it. Predicates that match the same events with different regions, for example
`x < 5 OR x >= 5` and `x IS NOT NULL`, have different digests.

Cost: some microseconds per constraint.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from covey.geometry.balls import Balls
from covey.geometry.regions import ConstraintBatch, Regions
from covey.geometry.relations import covers
from covey.geometry.scalars import Scalars
from covey.language.parser import Predicates

__all__ = ["fingerprint_predicates"]

Rows = NDArray[np.int64]


def fingerprint_predicates(predicates: Predicates) -> list[bytes | None]:
    """Return for each predicate a digest of 16 bytes, or None if the predicate has no region.

    >>> import pyarrow as pa
    >>> from covey import Space, parse
    >>> space = Space.from_types({"qty": pa.int32(), "city": pa.string()})
    >>> texts = ["qty > 5 AND city = 'Rome'", "city IN ('Rome') AND qty >= 6", "qty > 5"]
    >>> a, b, c = fingerprint_predicates(parse(space, texts))
    >>> a == b, a == c
    (True, False)
    """
    regions = _canonical_constraints(predicates.regions)
    region_texts: dict[int, set[str]] = {}  # by the row of the predicate
    is_maximal = _mask_maximal_regions(predicates)
    for row in np.flatnonzero(is_maximal).tolist():
        region_texts.setdefault(int(predicates.predicate_rows[row]), set()).add(
            "\n".join(sorted(regions[row]))
        )
    return [
        blake2b("\0".join(sorted(region_texts[row])).encode(), digest_size=16).digest()
        if row in region_texts
        else None
        for row in range(predicates.count)
    ]


def _canonical_constraints(regions: Regions) -> list[list[str]]:
    """Return for each region its constraints as texts; equal constraints have equal texts."""
    texts: list[list[str]] = [[] for _ in range(len(regions))]
    for name, constraints in regions.constraints.items():
        pairs = zip(constraints.rows.tolist(), _canonical_texts(constraints.batch), strict=True)
        for row, text in pairs:
            texts[row].append(f"{name}: {text}")
    return texts


def _canonical_texts(batch: ConstraintBatch) -> Iterable[str]:
    """Return each constraint of a batch as a text; equal constraints have equal texts."""
    if isinstance(batch, Scalars):
        return _canonical_scalar_texts(batch)
    if isinstance(batch, Balls):
        rows = (batch.row(i) for i in range(len(batch)))
        return (repr((states, sorted(balls))) for states, balls in rows)
    rules = (batch.row(i) for i in range(len(batch)))
    return (
        repr(
            (
                rule.states,
                sorted(map(sorted, rule.groups)),
                sorted(rule.forbidden),
                rule.whole,
                rule.only and sorted(rule.only),
            )
        )
        for rule in rules
    )


def _canonical_scalar_texts(batch: Scalars) -> Iterator[str]:
    """Yield each scalar constraint as a text: ends of the interval, null, list mode and list."""
    ends = zip(batch.lower.tolist(), batch.upper.tolist(), batch.nulls.tolist(), strict=True)
    listed = batch.listed.tolist()
    for i, (lower, upper, null) in enumerate(ends):
        keys = batch.lists.row(i).tolist() if listed[i] else ""
        yield f"{lower!r} {upper!r} {null} {listed[i]} {keys}"


def _mask_maximal_regions(predicates: Predicates) -> NDArray[np.bool_]:
    """Return for each region whether no other region of its predicate covers it.

    Of several equal regions of a predicate, this is true only for the first.
    """
    is_maximal = np.ones(len(predicates.regions), np.bool_)
    inner, outer = _pair_siblings(predicates.predicate_rows)
    regions = predicates.regions
    is_covered = covers(regions, outer, regions, inner)
    is_equal = covers(regions, inner, regions, outer) & is_covered
    is_maximal[inner[is_covered & (~is_equal | (outer < inner))]] = False
    return is_maximal


def _pair_siblings(predicate_rows: Rows) -> tuple[Rows, Rows]:
    """Return all ordered pairs of different regions of the same predicate, as two arrays of rows.

    `predicate_rows` contains the row of the predicate of each region, in ascending order.
    """
    starts = np.flatnonzero(np.r_[True, np.diff(predicate_rows) != 0])[: len(predicate_rows)]
    counts = np.diff(np.r_[starts, len(predicate_rows)])
    has_siblings = counts > 1
    starts, counts = starts[has_siblings], counts[has_siblings]
    pairs = [
        (start + i, start + j)
        for start, count in zip(starts.tolist(), counts.tolist(), strict=True)
        for i in range(count)
        for j in range(count)
        if i != j
    ]
    pair_rows = np.array(pairs, np.int64).reshape(-1, 2)
    return pair_rows[:, 0], pair_rows[:, 1]
