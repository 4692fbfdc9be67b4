"""Encoding of late conditions as Arrow arrays, with which workers send candidates to Spark.

Conditions are tokens of a vocabulary; each segment has one. While few of its conditions are needed,
each batch of events parses those of its candidates. After that, the whole vocabulary is parsed once
in each process: 4 microseconds and some 100 bytes per condition.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType

from covey.index import TokenVocabulary
from covey.language.late_conditions import MARKER
from covey.spark.matching.late_evaluation import LateEvaluation, assign_fields, find_field_type
from covey.spark.matching.output import split_by_bytes
from covey.store import UndecidedPairs

__all__ = ["ConditionEncoder", "encode_in_parts"]

Ints = NDArray[np.int64]
_PARSED_SHARE = 4  # one of this many conditions must be needed before all of them are parsed


@dataclass(frozen=True, slots=True)
class ParsedConditions:
    """Templates and parameters of some conditions.

    Args:
        templates: the templates.
        template_rows: for each condition, the position of its template.
        columns: parameters of the conditions, by the name of the field.
        size_bytes: estimated size of each condition.
    """

    templates: Sequence[str]
    template_rows: NDArray[np.int32]
    columns: dict[str, pa.Array]
    size_bytes: Ints

    @classmethod
    def from_tokens(cls, tokens: Sequence[str]) -> ParsedConditions:
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

    def take(self, rows: Ints, evaluation: LateEvaluation) -> dict[str, pa.Array]:
        """Return the conditions at `rows`, an array for each field of the evaluation.

        Raises:
            KeyError: the evaluation does not have one of the templates.
        """
        numbers = np.array([evaluation.template_numbers[name] for name in self.templates], np.int32)
        taken = pa.array(rows)
        arrays = {"template": pa.array(numbers[self.template_rows[rows]])}
        for name, type_ in evaluation.parameter_fields.items():
            column = self.columns.get(name)
            arrays[name] = (
                pa.nulls(len(rows), to_arrow_type(type_)) if column is None else column.take(taken)
            )
        return arrays


@dataclass(slots=True)
class VocabularyParser:
    """Parser of the conditions in a vocabulary, which remembers them when many are needed."""

    tokens: Sequence[str]
    _needed_count: int = 0
    _all: ParsedConditions | None = None

    @classmethod
    def for_vocabulary(cls, vocabulary: TokenVocabulary) -> VocabularyParser:
        """Return the parser of this process for a vocabulary."""
        key = id(vocabulary)
        parser = _PARSERS.get(key)
        if parser is None:
            parser = _PARSERS[key] = cls(vocabulary.tokens)
            weakref.finalize(vocabulary, _PARSERS.pop, key, None)
        return parser

    def parse(self, numbers: Ints) -> tuple[ParsedConditions, Ints]:
        """Return parsed conditions, and for each number of a condition its row among them."""
        self._needed_count += len(numbers)
        if self._all is None and self._needed_count * _PARSED_SHARE >= len(self.tokens):
            self._all = ParsedConditions.from_tokens(self.tokens)
        if self._all is not None:
            return self._all, numbers
        distinct, rows = np.unique(numbers, return_inverse=True)
        return ParsedConditions.from_tokens([self.tokens[n] for n in distinct.tolist()]), rows


_PARSERS: dict[int, VocabularyParser] = {}
"""Parsers by `id()` of the vocabulary; an entry is removed when its vocabulary is deleted."""


@dataclass(frozen=True, slots=True)
class ConditionEncoder:
    """Encoder of the late conditions of undecided pairs, a part at a time.

    Args:
        evaluation: evaluation of the conditions.
        undecided: the pairs.
    """

    evaluation: LateEvaluation
    undecided: UndecidedPairs
    _parsed: list[ParsedConditions] = field(init=False, default_factory=list)
    _sources: NDArray[np.int32] = field(init=False)
    """For each condition, the position in `_parsed`."""
    _rows: Ints = field(init=False)
    """For each condition, its row there."""

    def __post_init__(self) -> None:
        numbers = self.undecided.conditions.values
        sizes = [len(vocabulary.tokens) for vocabulary in self.undecided.vocabularies]
        starts = np.cumsum([0, *sizes])
        sources = np.searchsorted(starts, numbers, "right") - 1
        rows = np.empty(len(numbers), np.int64)
        for source, vocabulary in enumerate(self.undecided.vocabularies):
            chosen = sources == source
            parser = VocabularyParser.for_vocabulary(vocabulary)
            parsed, rows[chosen] = parser.parse(numbers[chosen] - starts[source])
            self._parsed.append(parsed)
        object.__setattr__(self, "_sources", sources.astype(np.int32))
        object.__setattr__(self, "_rows", rows)

    def estimate_pair_bytes(self) -> Ints:
        """Return the estimated size of the late conditions of each pair in bytes."""
        sizes = np.zeros(len(self._rows), np.int64)
        for source, parsed in enumerate(self._parsed):
            chosen = self._sources == source
            sizes[chosen] = parsed.size_bytes[self._rows[chosen]]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        offsets = self.undecided.conditions.offsets[self.undecided.region_offsets]
        return np.diff(ends[offsets])

    def list_fields(self, region_offsets: Ints) -> dict[str, pa.Array]:
        """Return the conditions of some rows, a list array for each field.

        The first field is the number of the region in its row. Lists are null in place of empty
        ones.

        Args:
            region_offsets: row i has the regions `region_offsets[i]` to `region_offsets[i + 1]` of
                the pairs.
        """
        first, last = region_offsets[0], region_offsets[-1]
        condition_offsets = self.undecided.conditions.offsets
        offsets = condition_offsets[region_offsets]
        numbers = np.arange(first, last) - np.repeat(region_offsets[:-1], np.diff(region_offsets))
        lengths = np.diff(condition_offsets[first : last + 1])
        columns = {"region": pa.array(np.repeat(numbers, lengths).astype(np.int32))}
        columns |= self._encode(int(offsets[0]), int(offsets[-1]))
        starts = pa.array((offsets - offsets[0]).astype(np.int32))
        is_empty = pa.array(np.diff(offsets) == 0)
        return {
            name: pa.ListArray.from_arrays(starts, column, mask=is_empty)
            for name, column in columns.items()
        }

    def to_structs(self, region_offsets: Ints) -> pa.StructArray:
        """Return the conditions of candidates as values of `LateEvaluation.conditions_type`.

        Args:
            region_offsets: as in `list_fields`; candidate i is row i, and has a region.
        """
        fields = self.list_fields(region_offsets)
        return pa.StructArray.from_arrays([*fields.values()], [*fields])

    def _encode(self, start: int, stop: int) -> dict[str, pa.Array]:
        """Return the conditions `start` to `stop`, an array for each field."""
        sources, rows = self._sources[start:stop], self._rows[start:stop]
        if len(self._parsed) == 1:
            return self._parsed[0].take(rows, self.evaluation)
        order = np.argsort(sources, kind="stable")
        bounds = np.searchsorted(sources[order], np.arange(len(self._parsed) + 1))
        parts = [
            parsed.take(rows[order[bounds[i] : bounds[i + 1]]], self.evaluation)
            for i, parsed in enumerate(self._parsed)
        ]
        positions = np.empty(len(order), np.int64)
        positions[order] = np.arange(len(order))
        return {
            name: _concat([part[name] for part in parts], type_).take(pa.array(positions))
            for name, type_ in self.evaluation.fields.items()
        }


def _concat(arrays: Sequence[pa.Array], type_: DataType) -> pa.Array:
    """Return the concatenation of arrays of a type; there may be none."""
    return pa.concat_arrays([pa.nulls(0, to_arrow_type(type_)), *arrays])


def encode_in_parts(
    evaluation: LateEvaluation, undecided: UndecidedPairs
) -> Iterator[tuple[int, int, pa.StructArray]]:
    """Yield the late conditions of pairs, in parts that are small enough for a batch of rows.

    Each part consists of the pairs `start` to `stop`, and of an array of
    `LateEvaluation.conditions_type`. The memory of a worker has to hold only one part.
    """
    if not len(undecided):
        return
    encoder = ConditionEncoder(evaluation, undecided)
    for start, stop in split_by_bytes(encoder.estimate_pair_bytes()):
        yield start, stop, encoder.to_structs(undecided.region_offsets[start : stop + 1])
