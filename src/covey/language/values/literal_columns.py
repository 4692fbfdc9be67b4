"""Literals of many predicates read together, one slot of their common template at a time.

The usual pairs of attribute and literal are read as whole columns; what they do not cover goes
literal by literal through `covey.language.values.coercion`, to the same result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from covey.language.values import casts, coercion
from covey.language.values.literals import (
    LiteralError,
    TypedLiteral,
    decode_literal,
    literal_kind,
    split_list,
    unquote,
)
from covey.space.keys import Keys, encode_floats, key_domain
from covey.space.space import SessionSettings
from covey.space.text_bounds import next_text
from covey.space.types import DATE, DOUBLE, STRING, TIMESTAMP, TIMESTAMP_NTZ, Type

__all__ = ["WHOLE_LIST", "KeyBounds", "LiteralColumns", "LiteralRef", "LocatedLiteralError"]


WHOLE_LIST = -1
"""In place of an element: all of a list."""


_PLAIN = re.compile(r"""-?\d{1,9}(?:\.\d{1,9})?|'-?\d{1,9}'|"-?\d{1,9}\"""")
"""A literal that is a number, whatever kind of number is wanted."""


@dataclass(frozen=True, slots=True)
class LiteralRef:
    """A literal of a template: its slot, its place in a list, a minus before it, a cast of it."""

    slot: int
    element: int | None = None
    is_negative: bool = False
    cast_type: Type | None = None
    is_raw: bool = False

    @property
    def is_list(self) -> bool:
        return self.element == WHOLE_LIST

    def decode(self, raws: Sequence[str], settings: SessionSettings) -> TypedLiteral:
        """Its type and value in one predicate."""
        raw = raws[self.slot]
        if self.element is not None:
            raw = split_list(raw)[self.element]
        literal = (
            TypedLiteral(STRING, raw[1:-1])
            if self.is_raw
            else decode_literal(_apply_sign(raw, self.is_negative))
        )
        return literal if self.cast_type is None else _apply_cast(literal, self.cast_type, settings)


class LocatedLiteralError(LiteralError):
    """A literal that cannot be used, and the slot it stands in."""

    def __init__(self, problem: str, slot: int) -> None:
        super().__init__(problem)
        self.slot = slot


OK, NULL, ALWAYS, NEVER = range(4)


@dataclass(frozen=True, slots=True)
class KeyBounds:
    """Where literals cut the keys of an attribute (see `coercion.KeyBound`), one a row.

    `outcome` tells rows that do not cut: null, or always or never true whatever the event holds.
    """

    at_least: Keys
    above: Keys
    outcome: NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class LiteralColumns:
    """The literals of n predicates that share a template: `columns[slot][row]` as written.

    Where they are those of lists, row i belongs to list `list_rows[i]`.
    """

    columns: Sequence[Sequence[str]]
    count: int
    settings: SessionSettings
    failures: dict[int, LocatedLiteralError] = field(default_factory=dict)
    list_rows: Sequence[int] | None = None

    def row(self, i: int) -> list[str]:
        return [column[i] for column in self.columns]

    def decode_literals(self, ref: LiteralRef) -> list[TypedLiteral]:
        """A literal in every predicate; what cannot be read is noted and null."""
        return [self._decode_or_record(i, ref) for i in range(self.count)]

    def _decode_or_record(self, i: int, ref: LiteralRef) -> TypedLiteral:
        try:
            return ref.decode(self.row(i), self.settings)
        except LiteralError as error:
            self.failures.setdefault(i, LocatedLiteralError(str(error), ref.slot))
            return TypedLiteral(STRING, None)

    def decode_texts(self, ref: LiteralRef) -> list[str]:
        """A text literal in every predicate."""
        raws = self.columns[ref.slot]
        if ref.element is None and not ref.is_raw and ref.cast_type is None:
            return [
                raw[1:-1]
                if "\\" not in raw and raw[0] not in raw[1:-1]
                else self._unquote_or_record(i, raw, ref.slot)
                for i, raw in enumerate(raws)
            ]
        return [str(literal.value) for literal in self.decode_literals(ref)]

    def _unquote_or_record(self, i: int, raw: str, slot: int) -> str:
        try:
            return unquote(raw)
        except LiteralError as error:
            self.failures.setdefault(i, LocatedLiteralError(str(error), slot))
            return ""

    def split_lists(self, slot: int) -> tuple[NDArray[np.int64], LiteralColumns]:
        """The lists in a slot: how long each is, and their literals as one slot of their own."""
        rows = [split_list(raw) for raw in self.columns[slot]]
        lengths = np.array([len(row) for row in rows], np.int64)
        flat = [raw for row in rows for raw in row]
        list_of = np.repeat(np.arange(len(rows)), lengths).tolist()
        return lengths, replace(
            self, columns=[flat], count=len(flat), failures={}, list_rows=list_of
        )

    def find_key_bounds(
        self, ref: LiteralRef, attribute: Type, op: str, common: Type | None = None
    ) -> KeyBounds:
        """Where a literal cuts the keys of an attribute, in every predicate."""
        if common is None and ref.element is None and ref.cast_type is None and not ref.is_raw:
            read = self._read_columnwise(ref, attribute, op)
            if read is not None:
                return KeyBounds(*read, np.zeros(self.count, np.int8))
        at_least, above = np.empty(self.count, object), np.empty(self.count, object)
        outcome = np.zeros(self.count, np.int8)
        of = range(self.count) if self.list_rows is None else self.list_rows
        failed: set[int] = set()
        for i in self._iterate_doubtful_first(ref.slot):
            try:
                if of[i] in failed:  # nobody asks for the rest of its list
                    outcome[i] = NULL
                    continue
                at_least[i], above[i], outcome[i] = _find_bound(
                    ref.decode(self.row(i), self.settings), attribute, op, common, self.settings
                )
            except LiteralError as error:
                self.failures.setdefault(i, LocatedLiteralError(str(error), ref.slot))
                at_least[i], above[i], outcome[i] = None, None, NULL
                failed.add(of[i])
                if of[-1] == 0 and self.list_rows is not None:  # there is no other list
                    outcome[:] = NULL
                    break
        low = key_domain(attribute).low
        at_least[outcome != OK], above[outcome != OK] = low, low
        return KeyBounds(at_least, above, outcome)

    def _iterate_doubtful_first(self, slot: int) -> Iterator[int]:
        """The rows; of lists, those first whose literal may be none of the attribute's type."""
        if self.list_rows is None:
            yield from range(self.count)
            return
        plain = []
        for i, raw in enumerate(self.columns[slot]):
            if _PLAIN.fullmatch(raw):
                plain.append(i)
            else:
                yield i
        yield from plain

    def _read_columnwise(
        self, ref: LiteralRef, attribute: Type, op: str
    ) -> tuple[Keys, Keys] | None:
        raws = self.columns[ref.slot]
        if not self.count:
            return None
        letter = literal_kind(raws[0])
        if attribute == STRING and letter == "s":
            keys, next_keys = np.empty(self.count, object), np.empty(self.count, object)
            keys[:] = self.decode_texts(ref)
            # Adding "\0" to the whole array would lose it: NumPy's own strings end at a NUL.
            next_keys[:] = [next_text(text) for text in keys.tolist()] if op == "gt" else keys
            return keys, next_keys
        longest = 38 if attribute.is_fractional else 18
        if letter not in "ide" or not attribute.is_numeric or max(map(len, raws)) > longest:
            return None
        if letter == "d" and any(raw[-1] in "dD" for raw in raws):
            return None
        try:
            return _find_number_bounds(
                pa.array(raws), letter, ref.is_negative, attribute, op, self.settings.ansi
            )
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None


def _find_number_bounds(
    raws: pa.Array, letter: str, negative: bool, attribute: Type, op: str, ansi: bool
) -> tuple[Keys, Keys] | None:
    """Cuts of plain numbers without suffixes, or `None` where one needs a closer look."""
    sign = -1 if negative else 1
    if attribute.is_integral and letter == "i":
        keys = sign * raws.cast(pa.int64()).to_numpy(zero_copy_only=False)
        return _bounds_within_domain(keys, attribute)
    if attribute.is_decimal and letter in "id" and attribute.precision <= 18:
        exact = raws.cast(pa.decimal128(38, attribute.scale))
        words = np.frombuffer(exact.buffers()[1], np.int64).reshape(-1, 2)
        if (words[:, 1] != words[:, 0] >> 63).any():
            return None
        return _bounds_within_domain(sign * words[:, 0], attribute)
    if not attribute.is_fractional:
        return None
    numbers = sign * pc.utf8_rtrim(raws, characters="dD").cast(pa.float64()).to_numpy(
        zero_copy_only=False
    )
    if not np.isfinite(numbers).all():
        return None
    if attribute == DOUBLE:
        keys = encode_floats(numbers)
        return keys, keys + 1
    if letter == "i" and not ansi:
        return None
    with np.errstate(over="ignore"):
        singles = numbers.astype(np.float32)
    keys, wide = encode_floats(singles), singles.astype(np.float64)
    return keys + (wide < numbers), keys + (wide <= numbers)


def _bounds_within_domain(keys: NDArray[np.int64], attribute: Type) -> tuple[Keys, Keys] | None:
    whole = key_domain(attribute)
    if len(keys) and not (whole.low < keys.min() and keys.max() < whole.high):
        return None
    return keys, keys + 1


def _find_bound(
    literal: TypedLiteral, attribute: Type, op: str, common: Type | None, settings: SessionSettings
) -> tuple[Any, Any, int]:
    if literal.value is None:
        return None, None, NULL
    if attribute.is_integral and literal.type.is_decimal and op != "=" and common is None:
        # Spark decides such a comparison without looking at the attribute, not even for null.
        if literal.value > (1 << 63) - 1:
            return None, None, ALWAYS if op in ("lt", "le") else NEVER
        if literal.value < -(1 << 63):
            return None, None, ALWAYS if op in ("gt", "ge") else NEVER
        floor, ceiling = int(literal.value.__floor__()), int(literal.value.__ceil__())
        whole = key_domain(attribute)
        bounds = [min(max(key, whole.low), whole.high + 1) for key in (ceiling, floor + 1)]
        return bounds[0], bounds[1], OK
    common = common or coercion.common_type_with_literal(attribute, literal, settings)
    if common is None:
        raise LiteralError(f"{attribute} cannot be compared with {literal.type}")
    found = coercion.find_key_bound(attribute, common, literal, settings)
    return (None, None, NULL) if found is None else (*found, OK)


def _apply_sign(raw: str, negative: bool) -> str:
    if not negative:
        return raw
    if raw[0] in "'\"":
        raise LiteralError("a text has no minus")
    return raw[1:] if raw[0] == "-" else "-" + raw.lstrip("+").lstrip()


def _apply_cast(literal: TypedLiteral, type_: Type, settings: SessionSettings) -> TypedLiteral:
    """A literal under CAST, or a typed one such as DATE '2024-05-01'."""
    if literal.type == type_:
        return literal
    if literal.type != STRING or type_ not in (DATE, TIMESTAMP, TIMESTAMP_NTZ):
        raise LiteralError(
            f"CAST of {literal.type} to {type_} is not read here: write the {type_} itself"
        )
    if type_ == DATE:
        value = casts.to_date(literal.value)
    elif type_ == TIMESTAMP_NTZ:
        value = casts.to_timestamp_ntz(literal.value, settings)
    else:
        value = casts.to_timestamp(literal.value, settings)
    if value is None:
        raise LiteralError(f"{literal.value!r} is no {type_}; {casts.literal_hint(type_)}")
    return TypedLiteral(type_, value)
