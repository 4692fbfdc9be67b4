"""Attribute axis: a scalar attribute as integer codes, for the interval ends of one batch.

Every end has a code. All values strictly between two neighbouring ends share one code, which lies
between the codes of the ends. If no value exists between two ends, there is no such code. Null has
the code -1, before all values. An interval of codes is therefore an interval of values, and
complements are exact: `[1, 3]` and `[4, 9]` leave no gap on integers. If it cannot be decided
whether a text exists between two ends, a gap with a code of its own is assumed.

Cost: a sort of the distinct ends.
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
    """Interval ends of an attribute, as ascending keys, and the code of each end.

    The lowest and the highest value of the attribute's type are ends as well.
    """

    name: str
    type_: Type
    keys: Keys
    codes: Codes

    @classmethod
    def from_constraints(cls, name: str, type_: Type, batch: Scalars) -> Axis:
        """Return the axis with codes for all interval ends of a batch."""
        rows_with_values = np.flatnonzero(np.asarray(batch.lower <= batch.upper, np.bool_))
        ends = np.empty(2 * len(rows_with_values) + 2, batch.domain.dtype)
        ends[:2] = [batch.domain.low, batch.domain.high]
        ends[2::2], ends[3::2] = batch.lower[rows_with_values], batch.upper[rows_with_values]
        if ends.dtype == object:
            distinct = sorted(set(ends.tolist()))
            ends = np.empty(len(distinct), object)
            ends[:] = distinct
        else:
            ends.sort()  # faster than np.unique, which uses a hash table
            ends = ends[np.append(True, ends[1:] != ends[:-1])]
        codes = np.zeros(len(ends), np.int32)
        np.cumsum(2 - _are_adjacent(ends), out=codes[1:])
        return cls(name, type_, ends, codes)

    @property
    def max_code(self) -> int:
        """Highest code."""
        return int(self.codes[-1])

    def to_code_intervals(self, batch: Scalars) -> tuple[Codes, Codes]:
        """Return for each constraint of a batch the smallest interval of codes that contains it.

        The results are arrays of first and last codes. An interval contains the code of null if the
        constraint admits null.
        """
        no_value = np.asarray(batch.lower > batch.upper, np.bool_)
        lower = np.where(batch.nulls, NULL_CODE, self.encode_keys(batch.lower)).astype(np.int32)
        upper = np.where(no_value, NULL_CODE, self.encode_keys(batch.upper)).astype(np.int32)
        return lower, upper

    def to_constraints(self, lower: Codes, upper: Codes, source: Scalars) -> Scalars:
        """Return constraints on keys for intervals of codes.

        The first and the last code of each interval must be that of a key of the axis, or
        `NULL_CODE`. `source` is a batch with the key domain of the axis.
        """
        end_of_code = np.zeros(self.max_code + 1, np.int64)
        end_of_code[self.codes] = np.arange(len(self.codes))
        keys = [self.keys[end_of_code[np.maximum(codes, 0)]] for codes in (lower, upper)]
        no_value = upper == NULL_CODE
        keys[0][no_value], keys[1][no_value] = source.domain.high, source.domain.low
        return Scalars.from_intervals(source.domain, keys[0], keys[1], nulls=lower == NULL_CODE)

    def encode_events(self, column: ScalarColumn) -> Codes:
        """Return the code of each event's value; null has `NULL_CODE`."""
        if column.texts is None:
            codes = self.encode_keys(column.keys)
        else:
            codes = self.encode_keys(column.texts.distinct_values[:-1])[column.texts.codes]
        return np.where(column.valid, codes, NULL_CODE).astype(np.int32)

    def encode_keys(self, keys: Keys) -> Codes:
        """Return the code of each key: that of an equal end, or of the gap around the key."""
        if self.keys.dtype == object:
            code_of_key = dict(zip(self.keys.tolist(), self.codes.tolist(), strict=True))
            keys_and_codes = ((key, code_of_key.get(key)) for key in keys.tolist())
            codes = [self._gap_code(key) if code is None else code for key, code in keys_and_codes]
            return np.array(codes, np.int32)
        order = np.argsort(keys)  # a search for sorted keys is faster
        positions = np.empty(len(keys), np.int64)
        positions[order] = np.searchsorted(self.keys, keys[order], side="right") - 1
        is_gap = np.asarray(self.keys[positions] != keys, np.int32)
        return np.asarray(self.codes[positions] + is_gap, np.int32)

    def _gap_code(self, key: Any) -> int:
        """Return the code of the gap between two ends in which a key lies."""
        position = int(np.searchsorted(self.keys, np.array([key], object))[0])
        return int(self.codes[position - 1]) + 1


def is_residual(batch: Scalars) -> NDArray[np.bool_]:
    """Return for each constraint whether it is residual: not an interval of codes.

    Lists are residual, and so are constraints that admit null together with an interval that does
    not start at the lowest value of the type.
    """
    starts_later = np.asarray(batch.lower > batch.domain.low, np.bool_)
    has_value = np.asarray(batch.lower <= batch.upper, np.bool_)
    residual: NDArray[np.bool_] = (batch.listed != ALL) | (batch.nulls & starts_later & has_value)
    return residual


def _are_adjacent(keys: Keys) -> NDArray[np.bool_]:
    """Return for each key except the last whether no value lies between it and the next key."""
    if keys.dtype != object:
        return np.asarray(keys[:-1] + 1 == keys[1:], np.bool_)
    return np.array([_are_next(a, b) for a, b in pairwise(keys.tolist())], np.bool_)


def _are_next(one: Any, other: Any) -> bool:
    """Return whether the key `other` directly follows the key `one`."""
    if isinstance(one, Below):
        return bool(one.text == other)
    if isinstance(one, str):
        return bool(other == next_text(one))
    return bool(one + 1 == other)
