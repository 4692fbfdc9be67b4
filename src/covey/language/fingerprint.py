"""Digests of what predicates mean: two that contain the same regions have the same.

Constraints have one spelling each, so that equal regions are equal rows; a region inside another
one of its predicate adds nothing and is left out. Not found are predicates that are equal as a
union only: `x < 5 OR x >= 5` beside `x IS NOT NULL`.

Cost: some microseconds a constraint.
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
    """A digest for each text; None for one that has no region.

    >>> import pyarrow as pa
    >>> from covey import Space, parse
    >>> space = Space.from_types({"qty": pa.int32(), "city": pa.string()})
    >>> texts = ["qty > 5 AND city = 'Rome'", "city IN ('Rome') AND qty >= 6", "qty > 5"]
    >>> a, b, c = fingerprint_predicates(parse(space, texts))
    >>> a == b, a == c
    (True, False)
    """
    regions = _canonical_constraints(predicates.regions)
    of_text: dict[int, set[str]] = {}
    kept = _mask_maximal_regions(predicates)
    for row in np.flatnonzero(kept).tolist():
        of_text.setdefault(int(predicates.predicate_rows[row]), set()).add(
            "\n".join(sorted(regions[row]))
        )
    return [
        blake2b("\0".join(sorted(of_text[text])).encode(), digest_size=16).digest()
        if text in of_text
        else None
        for text in range(predicates.count)
    ]


def _canonical_constraints(regions: Regions) -> list[list[str]]:
    """For each region its constraints, in one spelling each."""
    found: list[list[str]] = [[] for _ in range(len(regions))]
    for name, given in regions.constraints.items():
        for row, text in zip(given.rows.tolist(), _canonical_texts(given.batch), strict=True):
            found[row].append(f"{name}: {text}")
    return found


def _canonical_texts(batch: ConstraintBatch) -> Iterable[str]:
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
    ends = zip(batch.lower.tolist(), batch.upper.tolist(), batch.nulls.tolist(), strict=True)
    listed = batch.listed.tolist()
    for i, (lower, upper, null) in enumerate(ends):
        keys = batch.lists.row(i).tolist() if listed[i] else ""
        yield f"{lower!r} {upper!r} {null} {listed[i]} {keys}"


def _mask_maximal_regions(predicates: Predicates) -> NDArray[np.bool_]:
    """Which regions are not inside another one of their predicate; of equal ones the first."""
    kept = np.ones(len(predicates.regions), np.bool_)
    inner, outer = _pair_siblings(predicates.predicate_rows)
    regions = predicates.regions
    inside = covers(regions, outer, regions, inner)
    equal = covers(regions, inner, regions, outer) & inside
    kept[inner[inside & (~equal | (outer < inner))]] = False
    return kept


def _pair_siblings(predicate_rows: Rows) -> tuple[Rows, Rows]:
    """All ordered pairs of different regions of one predicate; `predicate_rows` ascend."""
    starts = np.flatnonzero(np.r_[True, np.diff(predicate_rows) != 0])[: len(predicate_rows)]
    counts = np.diff(np.r_[starts, len(predicate_rows)])
    some = counts > 1
    pairs = [
        (start + i, start + j)
        for start, count in zip(starts[some].tolist(), counts[some].tolist(), strict=True)
        for i in range(count)
        for j in range(count)
        if i != j
    ]
    both = np.array(pairs, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]
