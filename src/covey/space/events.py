"""A batch of events as columns: keys for scalars, tokens for tags, a matrix for vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntFlag

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.errors import SpaceError
from covey.space import keys
from covey.space.ragged import Ragged
from covey.space.space import Attribute, Space
from covey.space.text import Garbled
from covey.space.types import VOID, Type, from_arrow, to_arrow

__all__ = ["Events", "ScalarColumn", "State", "TagColumn", "Texts", "VectorColumn"]


class State(IntFlag):
    """What a row holds of an attribute; a constraint names the states that it admits."""

    NULL = 1
    VALUE = 2
    MALFORMED = 4  # a vector of another length: Spark raises on it
    HOLED = 8  # a vector with null elements: its distance to anything is null


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts that repeat: value i is `distinct[of[i]]`, so that each needs to be looked up once."""

    distinct: NDArray[np.object_]
    of: NDArray[np.int32]

    @classmethod
    def from_arrow(cls, column: pa.Array) -> Texts:
        """The texts of a column; nulls are `None`, the last of the distinct ones."""
        encoded = column.dictionary_encode()
        distinct = np.empty(len(encoded.dictionary) + 1, object)
        try:
            distinct[:-1] = encoded.dictionary.to_pylist()
        except UnicodeDecodeError:
            content = encoded.dictionary.cast(pa.binary())
            distinct[:-1] = [Garbled.of(one) for one in content.to_pylist()]
        return cls(distinct, np.asarray(encoded.indices.fill_null(len(distinct) - 1), np.int32))

    @property
    def values(self) -> NDArray[np.object_]:
        """All of them, one after another."""
        return self.distinct[self.of]

    def take(self, rows: NDArray[np.int64]) -> Texts:
        return Texts(self.distinct, self.of[rows])


@dataclass(frozen=True, slots=True)
class ScalarColumn:
    """Keys of one scalar attribute; the key of a null row means nothing. Of texts also `texts`."""

    keys: keys.Keys
    valid: NDArray[np.bool_]
    texts: Texts | None = None

    def take(self, rows: NDArray[np.int64]) -> ScalarColumn:
        texts = None if self.texts is None else self.texts.take(rows)
        return ScalarColumn(self.keys[rows], self.valid[rows], texts)


@dataclass(frozen=True, slots=True)
class TagColumn:
    """Tokens of one tags attribute; a null element is `None`."""

    tokens: Ragged
    valid: NDArray[np.bool_]
    texts: Texts

    def take(self, rows: NDArray[np.int64]) -> TagColumn:
        places, _ = self.tokens.places(rows)
        return TagColumn(self.tokens.take(rows), self.valid[rows], self.texts.take(places))


@dataclass(frozen=True, slots=True)
class VectorColumn:
    """Vectors of one attribute, a row each (zeros where there is none), and their states."""

    matrix: NDArray[np.float32]
    states: NDArray[np.uint8]

    def take(self, rows: NDArray[np.int64]) -> VectorColumn:
        return VectorColumn(self.matrix[rows], self.states[rows])


Column = ScalarColumn | TagColumn | VectorColumn


@dataclass(frozen=True, slots=True)
class Events:
    """n events in a space.

    >>> space = Space.of({"price": pa.float64()})
    >>> len(Events.from_arrow(pa.table({"price": [1.5, None]}), space))
    2
    """

    space: Space
    count: int
    columns: Mapping[str, Column]

    @classmethod
    def from_arrow(cls, batch: pa.RecordBatch | pa.Table, space: Space) -> Events:
        """The attributes among the columns of a batch; a derived one is a column named by its text.

        A column that the batch lacks is missed only when a region constrains it.
        """
        if not isinstance(batch, pa.RecordBatch | pa.Table):
            raise SpaceError(
                f"events are an Arrow table, not {type(batch).__name__}: pa.table(…) makes one"
            )
        columns: dict[str, Column] = {}
        for attribute in space:
            found = batch.schema.get_all_field_indices(attribute.name)
            if len(found) > 1:
                raise SpaceError(f"the events have {len(found)} columns {attribute.name!r}")
            if found:
                columns[attribute.name] = _column(batch.column(found[0]), attribute)
        return cls(space, batch.num_rows, columns)

    def __len__(self) -> int:
        return self.count

    def take(self, rows: NDArray[np.int64]) -> Events:
        """The given events in the given order."""
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        return Events(self.space, len(rows), columns)

    @property
    def malformed(self) -> NDArray[np.bool_]:
        """Events that have a vector of another length, on which Spark would raise."""
        found = np.zeros(self.count, np.bool_)
        for column in self.columns.values():
            if isinstance(column, VectorColumn):
                found |= column.states == State.MALFORMED
        return found

    def __getitem__(self, name: str) -> Column:
        if name in self.columns:
            return self.columns[name]
        problem = f"the events have no column {name!r}, which a subscription constrains"
        if name in self.space and self.space[name].is_derived:
            problem += ": let Spark compute it and name the column by this text"
        raise SpaceError(problem)


def _column(column: pa.Array | pa.ChunkedArray, attribute: Attribute) -> Column:
    """A column of events as its attribute's type has it."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    given, expected = from_arrow(column.type), attribute.type
    if not _fits(given, expected):
        raise SpaceError(
            f"column {attribute.name!r} is {given}, in the space {expected}: "
            f"cast it to {to_arrow(expected)}"
        )
    try:
        if expected.is_vector:
            return _vectors(column, expected.length)
        if expected.is_tags:
            return _tags(column)
        if expected.is_text:
            texts = Texts.from_arrow(column.cast(pa.string()).fill_null(""))
            return ScalarColumn(texts.values, np.asarray(column.is_valid()), texts)
        return ScalarColumn(*keys.from_column(column, expected))
    except (SpaceError, pa.ArrowInvalid) as error:
        raise SpaceError(f"column {attribute.name!r}: {error}") from None


def _fits(given: Type, expected: Type) -> bool:
    """Whether values of one type are values of another, up to the range of integers."""
    if given in (expected, VOID):
        return True
    if expected.name == "array" and given.name == "array":
        return given.element in (expected.element, VOID)
    if expected.name == "double":
        return given.is_fractional
    return (given.is_integral and expected.is_integral) or (
        given.is_decimal and expected.is_decimal
    )


def _tags(column: pa.Array) -> TagColumn:
    column = column.cast(pa.large_list(pa.string()))
    valid = np.asarray(column.is_valid())
    texts = Texts.from_arrow(column.flatten())
    lengths = np.asarray(column.value_lengths().fill_null(0), np.int64)
    return TagColumn(Ragged.from_lengths(lengths, texts.values), valid, texts)


def _vectors(column: pa.Array, length: int) -> VectorColumn:
    column = column.cast(pa.large_list(pa.float32()))
    valid = np.asarray(column.is_valid())
    lengths = np.asarray(column.value_lengths().fill_null(0), np.int64)
    flat = column.flatten()
    rows = Ragged.from_lengths(lengths, np.asarray(flat.fill_null(0.0), np.float32))
    _, owner = rows.places(np.arange(len(rows)))
    null_elements = np.bincount(owner[np.asarray(flat.is_null())], minlength=len(rows)) > 0
    states = np.where(valid, State.VALUE, State.NULL).astype(np.uint8)
    states[valid & null_elements] = State.HOLED
    states[valid & (lengths != length)] = State.MALFORMED
    matrix = np.zeros((len(rows), length), np.float32)
    whole = states == State.VALUE
    places, _ = rows.places(np.flatnonzero(whole))
    matrix[whole] = rows.values[places].reshape(-1, length)
    return VectorColumn(matrix, states)
