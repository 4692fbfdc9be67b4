"""Batches of events as columns: keys for scalars, tokens for tags, a matrix for vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntFlag
from functools import lru_cache, partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey._argument_checks import check_arguments, check_rows
from covey.errors import SchemaError
from covey.space import keys
from covey.space.ragged_array import RaggedArray
from covey.space.space import Space
from covey.space.text_bounds import InvalidUtf8Text
from covey.space.types import VOID, Type, type_from_arrow, type_to_arrow

__all__ = ["DictionaryTexts", "Events", "ScalarColumn", "TagColumn", "ValueState", "VectorColumn"]


class ValueState(IntFlag):
    """State of one attribute in one event. A constraint has a union of states: those it admits."""

    NULL = 1
    VALUE = 2
    MALFORMED = 4  # a vector with a wrong number of elements, for which Spark raises an error
    NULL_ELEMENTS = 8  # a vector with null elements: its distance to anything is null


@dataclass(frozen=True, slots=True)
class DictionaryTexts:
    """Dictionary-encoded texts: value i is `distinct_values[codes[i]]`.

    Work on texts, such as a lookup, is needed only once for each distinct text.
    """

    distinct_values: NDArray[np.object_]
    codes: NDArray[np.int32]

    @classmethod
    def from_arrow(cls, column: pa.Array) -> DictionaryTexts:
        """Return the texts of a column; a null is `None`, which is the last distinct value."""
        encoded = column.dictionary_encode()
        distinct = np.empty(len(encoded.dictionary) + 1, object)
        try:
            distinct[:-1] = encoded.dictionary.to_pylist()
        except UnicodeDecodeError:
            content = encoded.dictionary.cast(pa.binary())
            distinct[:-1] = [InvalidUtf8Text.from_bytes(text) for text in content.to_pylist()]
        return cls(distinct, np.asarray(encoded.indices.fill_null(len(distinct) - 1), np.int32))

    @property
    def values(self) -> NDArray[np.object_]:
        """The text of every row."""
        return self.distinct_values[self.codes]

    def take(self, rows: NDArray[np.int64]) -> DictionaryTexts:
        return DictionaryTexts(self.distinct_values, self.codes[rows])


@dataclass(frozen=True, slots=True)
class ScalarColumn:
    """Keys of one scalar attribute, one for each event.

    Args:
        keys: for each event the key of its value; for a null, the key has no meaning.
        valid: for each event, whether its value is not null.
        texts: the values, dictionary-encoded, if the attribute is a text; otherwise None.
    """

    keys: keys.Keys
    valid: NDArray[np.bool_]
    texts: DictionaryTexts | None = None

    def take(self, rows: NDArray[np.int64]) -> ScalarColumn:
        texts = None if self.texts is None else self.texts.take(rows)
        return ScalarColumn(self.keys[rows], self.valid[rows], texts)


@dataclass(frozen=True, slots=True)
class TagColumn:
    """Tokens of one tags attribute, a list for each event; a null token is `None`.

    `valid` says for each event whether its list is not null. `texts` contains the tokens of all
    lists, one list after another, dictionary-encoded.
    """

    tokens: RaggedArray
    valid: NDArray[np.bool_]
    texts: DictionaryTexts

    def take(self, rows: NDArray[np.int64]) -> TagColumn:
        token_indices, _ = self.tokens.flat_indices(rows)
        return TagColumn(self.tokens.take(rows), self.valid[rows], self.texts.take(token_indices))


@dataclass(frozen=True, slots=True)
class VectorColumn:
    """Vectors of one attribute: for each event, a row of `matrix` and its `ValueState`.

    If the state of an event is not `VALUE`, its row contains only zeros.
    """

    matrix: NDArray[np.float32]
    states: NDArray[np.uint8]

    def take(self, rows: NDArray[np.int64]) -> VectorColumn:
        return VectorColumn(self.matrix[rows], self.states[rows])


Column = ScalarColumn | TagColumn | VectorColumn
Reader = Callable[[pa.Array], Column]


@dataclass(frozen=True, slots=True)
class Events:
    """Batch of `count` events: their space, and by name the columns of the attributes they have.

    >>> space = Space.from_types({"price": pa.float64()})
    >>> len(Events.from_arrow(pa.table({"price": [1.5, None]}), space))
    2
    """

    space: Space
    count: int
    columns: Mapping[str, Column]

    @classmethod
    @check_arguments(raises=SchemaError)
    def from_arrow(cls, batch: pa.RecordBatch | pa.Table, space: Space) -> Events:
        """Return the events of an Arrow batch, with the columns that are attributes of the space.

        Args:
            batch: events as rows. A derived attribute is a column whose name is its SQL text. A
                column may be missing as long as no region constrains it.
            space: the space of the events.

        Raises:
            SchemaError: `batch` is not an Arrow batch or table, a column occurs twice, or a column
                does not fit the type of its attribute.
        """
        if not isinstance(batch, pa.RecordBatch | pa.Table):
            raise SchemaError(
                f"events must be an Arrow table or record batch, got {type(batch).__name__}: "
                "make one with pa.table(…)"
            )
        columns = {
            name: _read_column(batch.column(index), name, read)
            for name, index, read in _choose_readers(batch.schema, space)
        }
        return cls(space, batch.num_rows, columns)

    def __len__(self) -> int:
        return self.count

    @check_arguments
    def take(self, rows: NDArray[np.int64]) -> Events:
        """Return the events with the given row numbers, in the order of `rows`."""
        check_rows("rows", rows, self.count)
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        return Events(self.space, len(rows), columns)

    @property
    def is_malformed(self) -> NDArray[np.bool_]:
        """For each event, whether it has a vector of a wrong length, so that Spark would raise."""
        malformed = np.zeros(self.count, np.bool_)
        for column in self.columns.values():
            if isinstance(column, VectorColumn):
                malformed |= column.states == ValueState.MALFORMED
        return malformed

    def __getitem__(self, name: str) -> Column:
        if name in self.columns:
            return self.columns[name]
        is_derived = name in self.space and self.space[name].is_derived
        remedy = (
            "let Spark compute it as a column whose name is the text of the expression"
            if is_derived
            else "add it"
        )
        raise SchemaError(
            f"the events have no column {name!r}, which a subscription constrains: {remedy}"
        )


@lru_cache(maxsize=64)
def _choose_readers(schema: pa.Schema, space: Space) -> tuple[tuple[str, int, Reader], ...]:
    """Return for each attribute in a schema its name, its column number, and the column's reader.

    Raises:
        SchemaError: a column occurs twice, or has another type than its attribute.
    """
    readers = []
    for attribute in space:
        indices = schema.get_all_field_indices(attribute.name)
        if len(indices) > 1:
            raise SchemaError(
                f"the events have {len(indices)} columns called {attribute.name!r}: rename or "
                "drop all but one"
            )
        if not indices:
            continue
        actual, expected = type_from_arrow(schema.field(indices[0]).type), attribute.type
        if not _is_compatible(actual, expected):
            raise SchemaError(
                f"column {attribute.name!r} is {actual}, but the attribute of this name in the "
                f"space is {expected}: cast the column to {type_to_arrow(expected)}"
            )
        readers.append((attribute.name, indices[0], _find_reader(expected)))
    return tuple(readers)


def _find_reader(type_: Type) -> Reader:
    """Return the function that encodes columns of events as the type of an attribute requires."""
    if type_.is_vector:
        return partial(_read_vectors, length=type_.length)
    if type_.is_tags:
        return _read_tags
    if type_.is_text:
        return _read_texts
    encode = keys.find_column_encoder(type_)
    return lambda column: ScalarColumn(*encode(column))


def _read_column(column: pa.Array | pa.ChunkedArray, name: str, read: Reader) -> Column:
    """Return a column of events, encoded by its reader.

    Raises:
        SchemaError: a value does not fit the type.
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    try:
        return read(column)
    except (SchemaError, pa.ArrowInvalid) as error:
        raise SchemaError(f"column {name!r}: {error}") from None


def _is_compatible(actual: Type, expected: Type) -> bool:
    """Return whether a column of type `actual` can be read as one of type `expected`.

    True does not say that each value fits; if one does not, casting the column fails later.
    """
    if actual in (expected, VOID):
        return True
    if expected.name == "array" and actual.name == "array":
        return actual.element in (expected.element, VOID)
    if expected.name == "double":
        return actual.is_fractional
    return (actual.is_integral and expected.is_integral) or (
        actual.is_decimal and expected.is_decimal
    )


def _read_texts(column: pa.Array) -> ScalarColumn:
    texts = DictionaryTexts.from_arrow(column.cast(pa.string()).fill_null(""))
    return ScalarColumn(texts.values, np.asarray(column.is_valid()), texts)


def _read_tags(column: pa.Array) -> TagColumn:
    column = column.cast(pa.large_list(pa.string()))
    valid = np.asarray(column.is_valid())
    texts = DictionaryTexts.from_arrow(column.flatten())
    lengths = np.asarray(column.value_lengths().fill_null(0), np.int64)
    return TagColumn(RaggedArray.from_lengths(lengths, texts.values), valid, texts)


def _read_vectors(column: pa.Array, length: int) -> VectorColumn:
    column = column.cast(pa.large_list(pa.float32()))
    valid = np.asarray(column.is_valid())
    lengths = np.asarray(column.value_lengths().fill_null(0), np.int64)
    flat = column.flatten()
    rows = RaggedArray.from_lengths(lengths, np.asarray(flat.fill_null(0.0), np.float32))
    _, row_numbers = rows.flat_indices(np.arange(len(rows)))
    null_elements = np.bincount(row_numbers[np.asarray(flat.is_null())], minlength=len(rows)) > 0
    states = np.where(valid, ValueState.VALUE, ValueState.NULL).astype(np.uint8)
    states[valid & null_elements] = ValueState.NULL_ELEMENTS
    states[valid & (lengths != length)] = ValueState.MALFORMED
    matrix = np.zeros((len(rows), length), np.float32)
    complete = states == ValueState.VALUE
    value_indices, _ = rows.flat_indices(np.flatnonzero(complete))
    matrix[complete] = rows.values[value_indices].reshape(-1, length)
    return VectorColumn(matrix, states)
