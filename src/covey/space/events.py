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
from covey.space.space import Space

__all__ = ["Events", "ScalarColumn", "State", "TagColumn", "VectorColumn"]


class State(IntFlag):
    """What a row holds of an attribute; a constraint names the states that it admits."""

    NULL = 1
    VALUE = 2
    MALFORMED = 4  # a vector of another length: Spark raises on it
    HOLED = 8  # a vector with null elements: its distance to anything is null


@dataclass(frozen=True, slots=True)
class ScalarColumn:
    """Keys of one scalar attribute; the key of a null row means nothing."""

    keys: keys.Keys
    valid: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class TagColumn:
    """Tokens of one tags attribute; a null element is `None`."""

    tokens: Ragged
    valid: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class VectorColumn:
    """Vectors of one attribute, a row each (zeros where there is none), and their states."""

    matrix: NDArray[np.float32]
    states: NDArray[np.uint8]


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
        columns: dict[str, Column] = {}
        for attribute in space:
            if attribute.name not in batch.schema.names:
                continue
            column = batch.column(attribute.name)
            if isinstance(column, pa.ChunkedArray):
                column = column.combine_chunks()
            if isinstance(column, pa.DictionaryArray):
                column = column.dictionary_decode()
            if attribute.type.is_vector:
                columns[attribute.name] = _vectors(column, attribute.type.length)
            elif attribute.type.is_tags:
                columns[attribute.name] = _tags(column)
            else:
                columns[attribute.name] = ScalarColumn(*keys.from_column(column, attribute.type))
        return cls(space, batch.num_rows, columns)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, name: str) -> Column:
        try:
            return self.columns[name]
        except KeyError:
            raise SpaceError(
                f"the events have no column {name!r}, which a subscription constrains"
                + (
                    ": a derived attribute is a column named by its text"
                    if name in self.space
                    else ""
                )
            ) from None


def _tags(column: pa.Array) -> TagColumn:
    column = column.cast(pa.large_list(pa.string()))
    valid = np.asarray(column.is_valid())
    tokens = np.empty(len(column.flatten()), object)
    tokens[:] = column.flatten().to_pylist()
    lengths = np.asarray(column.value_lengths().fill_null(0), np.int64)
    return TagColumn(Ragged.from_lengths(lengths, tokens), valid)


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
