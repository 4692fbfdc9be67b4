"""Decoding of the literals of many predicates together, one slot of their template at a time.

For common types of attributes and kinds of literals, whole columns are decoded at once. Other
literals are decoded one by one with `covey.language.values.coercion`; the result is the same.
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
"""Value of `LiteralRef.element` for a reference to the whole list."""


_PLAIN = re.compile(r"""-?\d{1,9}(?:\.\d{1,9})?|'-?\d{1,9}'|"-?\d{1,9}\"""")
"""A short number or a text of a whole number: it can usually be read as any numeric type."""


@dataclass(frozen=True, slots=True)
class LiteralRef:
    """Reference to a literal of a template.

    Attributes:
        slot: the number of the slot; negative for true, false and NULL, which have no slot.
        element: the index of the literal if the slot contains a list of literals, or `WHOLE_LIST`
            for the list; None if the slot contains no list.
        is_negative: whether there is a minus sign before the literal.
        cast_type: the type of a CAST around the literal, or of a typed literal as in `DATE '…'`.
        is_raw: whether the literal is a raw string, as in `r'…'`.
    """

    slot: int
    element: int | None = None
    is_negative: bool = False
    cast_type: Type | None = None
    is_raw: bool = False

    @property
    def is_list(self) -> bool:
        """Whether the reference is to a whole list."""
        return self.element == WHOLE_LIST

    def decode(self, raws: Sequence[str], settings: SessionSettings) -> TypedLiteral:
        """Return the type and value of the literal in one predicate, whose literals are `raws`."""
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
    """Error of a literal that cannot be used, with its slot in the template."""

    def __init__(self, problem: str, slot: int) -> None:
        super().__init__(problem)
        self.slot = slot


OK, NULL, ALWAYS, NEVER = range(4)


@dataclass(frozen=True, slots=True)
class KeyBounds:
    """Bounds of literals in the keys of an attribute, one row per predicate.

    Attributes:
        at_least: the first key whose value is at least the literal.
        above: the first key whose value is above the literal.
        outcome: OK if the row has bounds. Otherwise the comparison has one outcome for all events:
            NULL if it is null, ALWAYS if it is true, NEVER if it is false.
    """

    at_least: Keys
    above: Keys
    outcome: NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class LiteralColumns:
    """The literals of n predicates that share a template.

    Attributes:
        columns: `columns[slot][row]` is a literal as written.
        count: the number of rows.
        settings: the session settings under which literals are decoded.
        failures: by row, the first error of a predicate with a literal that cannot be used.
        list_rows: if the rows are elements of lists, the number of the list of each row; otherwise
            None.
    """

    columns: Sequence[Sequence[str]]
    count: int
    settings: SessionSettings
    failures: dict[int, LocatedLiteralError] = field(default_factory=dict)
    list_rows: Sequence[int] | None = None

    def row(self, i: int) -> list[str]:
        """Return the literals of one predicate, by slot."""
        return [column[i] for column in self.columns]

    def decode_literals(self, ref: LiteralRef) -> list[TypedLiteral]:
        """Return for each predicate the literal to which `ref` refers.

        If a literal cannot be decoded, the error is recorded in `failures`, and null is returned.
        """
        return [self._decode_or_record(i, ref) for i in range(self.count)]

    def _decode_or_record(self, i: int, ref: LiteralRef) -> TypedLiteral:
        """Return a literal of predicate `i`; if it is wrong, record an error and return null."""
        try:
            return ref.decode(self.row(i), self.settings)
        except LiteralError as error:
            self.failures.setdefault(i, LocatedLiteralError(str(error), ref.slot))
            return TypedLiteral(STRING, None)

    def decode_texts(self, ref: LiteralRef) -> list[str]:
        """Return for each predicate the text literal to which `ref` refers, decoded.

        If a literal cannot be decoded, the error is recorded in `failures`, and the returned text
        has no meaning.
        """
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
        """Return a text literal of predicate `i`; if it is wrong, record an error and return ""."""
        try:
            return unquote(raw)
        except LiteralError as error:
            self.failures.setdefault(i, LocatedLiteralError(str(error), slot))
            return ""

    def split_lists(self, slot: int) -> tuple[NDArray[np.int64], LiteralColumns]:
        """Return the lengths of the lists in a slot, and all their elements as columns of one slot.

        The columns contain the elements of one list after another. They have their own `failures`.
        """
        lists = [split_list(raw) for raw in self.columns[slot]]
        lengths = np.array([len(elements) for elements in lists], np.int64)
        flat = [raw for elements in lists for raw in elements]
        list_rows = np.repeat(np.arange(len(lists)), lengths).tolist()
        return lengths, replace(
            self, columns=[flat], count=len(flat), failures={}, list_rows=list_rows
        )

    def find_key_bounds(
        self, ref: LiteralRef, attribute: Type, op: str, common: Type | None = None
    ) -> KeyBounds:
        """Return the bounds of a literal in the keys of an attribute, for each predicate.

        Args:
            ref: the literal.
            attribute: the type of the attribute.
            op: lt, le, gt, ge or =.
            common: the common type of an `IN` list; by default the common type of the attribute
                and the literal.

        If a literal cannot be used, the error is recorded in `failures`, and the outcome is NULL.
        """
        if common is None and ref.element is None and ref.cast_type is None and not ref.is_raw:
            bounds = self._read_columnwise(ref, attribute, op)
            if bounds is not None:
                return KeyBounds(*bounds, np.zeros(self.count, np.int8))
        at_least, above = np.empty(self.count, object), np.empty(self.count, object)
        outcome = np.zeros(self.count, np.int8)
        list_rows = range(self.count) if self.list_rows is None else self.list_rows
        failed_lists: set[int] = set()
        for i in self._iterate_doubtful_first(ref.slot):
            try:
                if list_rows[i] in failed_lists:  # other elements of a failed list are not needed
                    outcome[i] = NULL
                    continue
                at_least[i], above[i], outcome[i] = _find_bound(
                    ref.decode(self.row(i), self.settings), attribute, op, common, self.settings
                )
            except LiteralError as error:
                self.failures.setdefault(i, LocatedLiteralError(str(error), ref.slot))
                at_least[i], above[i], outcome[i] = None, None, NULL
                failed_lists.add(list_rows[i])
                if list_rows[-1] == 0 and self.list_rows is not None:  # there is no other list
                    outcome[:] = NULL
                    break
        low = key_domain(attribute).low
        at_least[outcome != OK], above[outcome != OK] = low, low
        return KeyBounds(at_least, above, outcome)

    def _iterate_doubtful_first(self, slot: int) -> Iterator[int]:
        """Yield the numbers of the rows; elements of lists that may be unusable come first.

        Short numbers, also in quotes, are usually usable, so they come last. Because of this order,
        a list with an unusable element usually fails before its other elements are decoded.
        """
        if self.list_rows is None:
            yield from range(self.count)
            return
        plain_rows = []
        for i, raw in enumerate(self.columns[slot]):
            if _PLAIN.fullmatch(raw):
                plain_rows.append(i)
            else:
                yield i
        yield from plain_rows

    def _read_columnwise(
        self, ref: LiteralRef, attribute: Type, op: str
    ) -> tuple[Keys, Keys] | None:
        """Return the bounds of all literals of a slot, or None if they must be decoded one by one.

        The two arrays are `at_least` and `above` of `KeyBounds`.
        """
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
    """Return the bounds of numbers, or None if one of the numbers must be decoded separately."""
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
    keys, rounded = encode_floats(singles), singles.astype(np.float64)
    return keys + (rounded < numbers), keys + (rounded <= numbers)


def _bounds_within_domain(keys: NDArray[np.int64], attribute: Type) -> tuple[Keys, Keys] | None:
    """Return keys as bounds, or None if a key is not between the ends of the domain."""
    domain = key_domain(attribute)
    if len(keys) and not (domain.low < keys.min() and keys.max() < domain.high):
        return None
    return keys, keys + 1


def _find_bound(
    literal: TypedLiteral, attribute: Type, op: str, common: Type | None, settings: SessionSettings
) -> tuple[Any, Any, int]:
    """Return the two bounds and the outcome of one literal, as in `KeyBounds`."""
    if literal.value is None:
        return None, None, NULL
    if attribute.is_integral and literal.type.is_decimal and op != "=" and common is None:
        # Beyond every bigint, Spark decides the comparison without reading the attribute, so the
        # outcome is the same for null.
        if literal.value > (1 << 63) - 1:
            return None, None, ALWAYS if op in ("lt", "le") else NEVER
        if literal.value < -(1 << 63):
            return None, None, ALWAYS if op in ("gt", "ge") else NEVER
        floor, ceiling = int(literal.value.__floor__()), int(literal.value.__ceil__())
        domain = key_domain(attribute)
        bounds = [min(max(key, domain.low), domain.high + 1) for key in (ceiling, floor + 1)]
        return bounds[0], bounds[1], OK
    common = common or coercion.common_type_with_literal(attribute, literal, settings)
    if common is None:
        raise LiteralError(f"{attribute} cannot be compared with {literal.type}")
    bound = coercion.find_key_bound(attribute, common, literal, settings)
    return (None, None, NULL) if bound is None else (*bound, OK)


def _apply_sign(raw: str, negative: bool) -> str:
    """Return a numeric literal as written, negated if `negative` is true."""
    if not negative:
        return raw
    if raw[0] in "'\"":
        raise LiteralError("a text cannot have a minus sign")
    return raw[1:] if raw[0] == "-" else "-" + raw.lstrip("+").lstrip()


def _apply_cast(literal: TypedLiteral, type_: Type, settings: SessionSettings) -> TypedLiteral:
    """Return a literal cast to a type, for CAST and for typed literals as in `DATE '2024-05-01'`.

    Raises:
        LiteralError: the text is not a date or time of this type, or the cast is not supported.
    """
    if literal.type == type_:
        return literal
    if literal.type != STRING or type_ not in (DATE, TIMESTAMP, TIMESTAMP_NTZ):
        raise LiteralError(
            f"a CAST of a literal from {literal.type} to {type_} is not supported: write a literal "
            f"of type {type_}"
        )
    if type_ == DATE:
        value = casts.to_date(literal.value)
    elif type_ == TIMESTAMP_NTZ:
        value = casts.to_timestamp_ntz(literal.value, settings)
    else:
        value = casts.to_timestamp(literal.value, settings)
    if value is None:
        hint = casts.literal_hint(type_)
        raise LiteralError(f"{literal.value!r} cannot be read as {type_}; {hint}")
    return TypedLiteral(type_, value)
