"""One attribute as whole numbers that tell all ends of a batch apart, and what lies between them.

Every end has a code; what lies strictly between two ends has the code between theirs, unless the
two are neighbours, between which nothing is. Null is -1, before all values. So an interval of codes
is an interval of values and the complement of one is exact: `[1, 3]` and `[4, 9]` leave no gap on
integers. Where it cannot be told whether something lies between two texts, it is taken to.

Cost: the distinct ends, sorted.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry.scalars import ALL, Scalars
from covey.space.events import ScalarColumn
from covey.space.keys import Keys
from covey.space.text_bounds import Below, next_text
from covey.space.types import Type

__all__ = ["NULL_CODE", "Axis", "is_residual"]

Codes = NDArray[np.int32]
NULL_CODE = -1


@dataclass(frozen=True, slots=True)
class Axis:
    """The ends of an attribute, ascending, the lowest and the highest of its type among them."""

    name: str
    type_: Type
    keys: Keys
    codes: Codes

    @classmethod
    def from_constraints(cls, name: str, type_: Type, batch: Scalars) -> Axis:
        """Codes for all ends of a batch."""
        valued = np.flatnonzero(np.asarray(batch.lower <= batch.upper, np.bool_))
        ends = np.empty(2 * len(valued) + 2, batch.domain.dtype)
        ends[:2] = [batch.domain.low, batch.domain.high]
        ends[2::2], ends[3::2] = batch.lower[valued], batch.upper[valued]
        if ends.dtype == object:
            distinct = sorted(set(ends.tolist()))
            ends = np.empty(len(distinct), object)
            ends[:] = distinct
        else:
            ends.sort()  # faster than np.unique, which hashes
            ends = ends[np.append(True, ends[1:] != ends[:-1])]
        codes = np.zeros(len(ends), np.int32)
        np.cumsum(2 - _are_adjacent(ends), out=codes[1:])
        return cls(name, type_, ends, codes)

    @property
    def max_code(self) -> int:
        """The highest code."""
        return int(self.codes[-1])

    def to_code_intervals(self, batch: Scalars) -> tuple[Codes, Codes]:
        """The least interval of codes that holds each row, null included."""
        no_value = np.asarray(batch.lower > batch.upper, np.bool_)
        lower = np.where(batch.nulls, NULL_CODE, self.encode_keys(batch.lower)).astype(np.int32)
        upper = np.where(no_value, NULL_CODE, self.encode_keys(batch.upper)).astype(np.int32)
        return lower, upper

    def to_constraints(self, lower: Codes, upper: Codes, source: Scalars) -> Scalars:
        """Intervals of codes that begin and end at ends (or null), as constraints on keys."""
        at = np.zeros(self.max_code + 1, np.int64)
        at[self.codes] = np.arange(len(self.codes))
        keys = [self.keys[at[np.maximum(codes, 0)]] for codes in (lower, upper)]
        no_value = upper == NULL_CODE
        keys[0][no_value], keys[1][no_value] = source.domain.high, source.domain.low
        return Scalars.from_intervals(source.domain, keys[0], keys[1], nulls=lower == NULL_CODE)

    def encode_events(self, column: ScalarColumn) -> Codes:
        """The code of each event's value."""
        if column.texts is None:
            codes = self.encode_keys(column.keys)
        else:
            codes = self.encode_keys(column.texts.distinct_values[:-1])[column.texts.codes]
        return np.where(column.valid, codes, NULL_CODE).astype(np.int32)

    def encode_keys(self, keys: Keys) -> Codes:
        """The code of each key or end: its own, or the one of the gap that it is in."""
        if self.keys.dtype == object:
            known = dict(zip(self.keys.tolist(), self.codes.tolist(), strict=True))
            found = ((key, known.get(key)) for key in keys.tolist())
            codes = [self._gap_code(key) if code is None else code for key, code in found]
            return np.array(codes, np.int32)
        order = np.argsort(keys)  # keys in their order are found faster
        places = np.empty(len(keys), np.int64)
        places[order] = np.searchsorted(self.keys, keys[order], side="right") - 1
        is_gap = np.asarray(self.keys[places] != keys, np.int32)
        return np.asarray(self.codes[places] + is_gap, np.int32)

    def _gap_code(self, key: Any) -> int:
        place = int(np.searchsorted(self.keys, np.array([key], object))[0])
        return int(self.codes[place - 1]) + 1


def is_residual(batch: Scalars) -> NDArray[np.bool_]:
    """Whether rows are no intervals of codes: lists, and null beside values that start later."""
    starts_later = np.asarray(batch.lower > batch.domain.low, np.bool_)
    has_value = np.asarray(batch.lower <= batch.upper, np.bool_)
    odd: NDArray[np.bool_] = (batch.listed != ALL) | (batch.nulls & starts_later & has_value)
    return odd


def _are_adjacent(keys: Keys) -> NDArray[np.bool_]:
    """Whether nothing is between a key and the next."""
    if keys.dtype != object:
        return np.asarray(keys[:-1] + 1 == keys[1:], np.bool_)
    return np.array([_are_next(a, b) for a, b in pairwise(keys.tolist())], np.bool_)


def _are_next(one: Any, other: Any) -> bool:
    if isinstance(one, Below):
        return bool(one.text == other)
    if isinstance(one, str):
        return bool(other == next_text(one))
    return bool(one + 1 == other)
