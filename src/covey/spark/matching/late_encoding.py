"""Encoding of late conditions as Arrow arrays, with which workers send candidates to Spark.

The conditions of a segment are parsed once in each process, when the first candidate needs them.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.pandas.types import to_arrow_type

from covey.index import TokenVocabulary
from covey.language.late_conditions import MARKER
from covey.spark.matching.late_evaluation import LateEvaluation, assign_fields, find_field_type
from covey.spark.matching.output import split_by_bytes
from covey.store import UndecidedPairs

__all__ = ["EncodedConditions", "encode_conditions", "encode_in_parts"]

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class EncodedConditions:
    """Late conditions of undecided pairs as Arrow arrays.

    Args:
        columns: values of each field of all conditions of the pairs, by the name of the field.
        condition_offsets: region r has the conditions `condition_offsets[r]` to
            `condition_offsets[r + 1]`.
        byte_ends: estimated bytes of the conditions of the first i pairs, for each i.
    """

    columns: dict[str, pa.Array]
    condition_offsets: Rows
    byte_ends: Rows

    def list_fields(self, region_offsets: Rows) -> dict[str, pa.Array]:
        """Return the conditions of some rows, for each field a list array.

        The first field is the number of the region in its row. Lists are null in place of empty
        ones.

        Args:
            region_offsets: row i has the regions `region_offsets[i]` to `region_offsets[i + 1]`.
        """
        first, last = region_offsets[0], region_offsets[-1]
        offsets = self.condition_offsets[region_offsets]
        numbers = np.arange(first, last) - np.repeat(region_offsets[:-1], np.diff(region_offsets))
        lengths = np.diff(self.condition_offsets[first : last + 1])
        regions = pa.array(np.repeat(numbers, lengths).astype(np.int32))
        columns = {"region": regions} | {
            name: column.slice(offsets[0], len(regions)) for name, column in self.columns.items()
        }
        starts = pa.array((offsets - offsets[0]).astype(np.int32))
        is_empty = pa.array(np.diff(offsets) == 0)
        return {
            name: pa.ListArray.from_arrays(starts, column, mask=is_empty)
            for name, column in columns.items()
        }

    def to_structs(self, region_offsets: Rows) -> pa.StructArray:
        """Return the conditions of candidates as values of `LateEvaluation.conditions_type`.

        Args:
            region_offsets: as in `list_fields`; candidate i is row i, and has a region.
        """
        fields = self.list_fields(region_offsets)
        return pa.StructArray.from_arrays([*fields.values()], [*fields])


@dataclass(frozen=True, slots=True)
class ParsedVocabulary:
    """Templates and parameters of the conditions in a vocabulary.

    Args:
        templates: the templates.
        template_rows: for each condition, the position of its template.
        columns: parameters of the conditions, by the name of the field.
        size_bytes: estimated size of each condition.
    """

    templates: Sequence[str]
    template_rows: NDArray[np.int32]
    columns: dict[str, pa.Array]
    size_bytes: Rows

    @classmethod
    def from_tokens(cls, tokens: Sequence[str]) -> ParsedVocabulary:
        """Parse tokens of the attribute `covey.space.LATE`."""
        parsed = json.loads(f"[{','.join(tokens)}]")
        number_by_template: dict[str, int] = {}
        rows = [number_by_template.setdefault(t, len(number_by_template)) for t, *_ in parsed]
        fields = [assign_fields(MARKER.findall(template)) for template in number_by_template]
        values: dict[str, list[Any]] = {
            name: [None] * len(tokens) for each in fields for name, _ in each
        }
        for row, (number, condition) in enumerate(zip(rows, parsed, strict=True)):
            for (name, position), value in zip(fields[number], condition[1:], strict=True):
                if position:
                    values[name][row].append(value)
                else:
                    values[name][row] = value if position is None else [value]
        columns = {
            name: pa.array(column, to_arrow_type(find_field_type(name)))
            for name, column in values.items()
        }
        lengths = np.fromiter(map(len, tokens), np.int64, len(tokens))
        size_bytes = 2 * lengths + 16 * (2 + len(columns))
        return cls(list(number_by_template), np.array(rows, np.int32), columns, size_bytes)


_PARSED: dict[int, ParsedVocabulary] = {}
"""Parsed vocabularies by the identity of a vocabulary that exists."""


def _parse_vocabulary(vocabulary: TokenVocabulary) -> ParsedVocabulary:
    """Return the conditions of a vocabulary, which are parsed only once."""
    key = id(vocabulary)
    parsed = _PARSED.get(key)
    if parsed is None:
        parsed = _PARSED[key] = ParsedVocabulary.from_tokens(vocabulary.tokens)
        weakref.finalize(vocabulary, _PARSED.pop, key, None)
    return parsed


def encode_conditions(evaluation: LateEvaluation, undecided: UndecidedPairs) -> EncodedConditions:
    """Return the late conditions of undecided pairs as Arrow arrays."""
    numbers = undecided.conditions.values
    types = {name: to_arrow_type(type_) for name, type_ in evaluation.parameter_fields.items()}
    parts = [[pa.array([], pa.int32()), *(pa.nulls(0, type_) for type_ in types.values())]]
    sizes = np.empty(len(numbers), np.int64)
    order = np.empty(len(numbers), np.int64)
    start = part_start = 0
    for vocabulary in undecided.vocabularies:
        parsed, stop = _parse_vocabulary(vocabulary), start + len(vocabulary.tokens)
        chosen = (
            np.arange(len(numbers))
            if len(undecided.vocabularies) == 1
            else np.flatnonzero((start <= numbers) & (numbers < stop))
        )
        rows = numbers[chosen] - start
        order[chosen] = np.arange(part_start, part_start + len(chosen))
        sizes[chosen] = parsed.size_bytes[rows]
        parts.append(_take_conditions(parsed, rows, evaluation.template_numbers, types))
        start, part_start = stop, part_start + len(chosen)
    columns = [pa.concat_arrays(column) for column in zip(*parts, strict=True)]
    if len(undecided.vocabularies) > 1:
        columns = [column.take(pa.array(order)) for column in columns]
    condition_ends = np.concatenate([[0], np.cumsum(sizes)])
    pair_ends = undecided.conditions.offsets[undecided.region_offsets]
    return EncodedConditions(
        dict(zip(["template", *types], columns, strict=True)),
        undecided.conditions.offsets,
        condition_ends[pair_ends],
    )


def _take_conditions(
    parsed: ParsedVocabulary,
    rows: Rows,
    template_numbers: dict[str, int],
    types: dict[str, pa.DataType],
) -> list[pa.Array]:
    """Return the templates' numbers and the parameters of the conditions at `rows`."""
    numbers = np.array([template_numbers[name] for name in parsed.templates], np.int32)
    taken = pa.array(rows)
    return [
        pa.array(numbers[parsed.template_rows[rows]]),
        *(
            parsed.columns[name].take(taken)
            if name in parsed.columns
            else pa.nulls(len(rows), type_)
            for name, type_ in types.items()
        ),
    ]


def encode_in_parts(
    evaluation: LateEvaluation, undecided: UndecidedPairs
) -> Iterator[tuple[int, int, pa.StructArray]]:
    """Yield the late conditions of pairs, in parts that are small enough for a batch of rows.

    Each part consists of the pairs `start` to `stop`, and of an array of
    `LateEvaluation.conditions_type`.
    """
    if not len(undecided):
        return
    encoded = encode_conditions(evaluation, undecided)
    for start, stop in split_by_bytes(np.diff(encoded.byte_ends)):
        yield start, stop, encoded.to_structs(undecided.region_offsets[start : stop + 1])
