"""Evaluation of late conditions: workers return candidates, and Spark decides them.

A candidate is an event and a subscription whose other conditions the event satisfies. Workers
return for each event an array of candidates, each with the templates and the parameters of its late
conditions. Spark then filters the array. The innermost lambda function of the filter chooses the
template by a binary tree of IFs, so that its cost grows with the logarithm of the number of
templates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from covey.errors import InvalidArgumentError
from covey.geometry.tags import Tags
from covey.language.clock import bind_clock
from covey.language.late_conditions import MARKER, PARAMETER_TYPES, LateCondition, find_names
from covey.space import Attribute, Space
from covey.space.guard import build_computability_check, guard_condition
from covey.spark.id_types import IdType
from covey.spark.matching.output import PairRows, estimate_row_bytes, split_by_bytes
from covey.spark.schemas import select_column
from covey.store import IdMatches, UndecidedPairs

__all__ = [
    "CANDIDATES_COLUMN",
    "CONDITIONS_COLUMN",
    "LateEvaluation",
    "LateOutput",
    "LatePairRows",
    "decide_candidates",
]

CONDITIONS_COLUMN = "covey.conditions"
"""Column with the late conditions of a row; null in a row that is certainly a match."""
IDS_COLUMN, CANDIDATES_COLUMN = "covey.ids", "covey.candidates"
_KINDS = {"s": "text", "i": "number", "l": "number", "d": "fraction", "m": "fraction"}
"""Prefix of the fields with parameters, by letter."""
_FIELD_TYPES = {"text": StringType(), "number": LongType(), "fraction": DoubleType()}
_MAX_FIELDS = 4  # fields with a parameter of one kind
_ARROW_TYPES = {"text": pa.string(), "number": pa.int64(), "fraction": pa.float64()}


@dataclass(frozen=True)
class LateEvaluation:
    """Evaluation of the late conditions with certain templates.

    Args:
        templates: the templates; a candidate refers to each by its position.
        time_ms: time that relative times in conditions refer to, in milliseconds since 1970; None
            for the current time.
    """

    templates: tuple[Attribute, ...]
    time_ms: int | None = None

    @classmethod
    def for_space(cls, space: Space) -> LateEvaluation:
        """Return the evaluation of the late conditions of the subscriptions in a space."""
        return cls(tuple(attribute for attribute in space.derived if attribute.is_late))

    @cached_property
    def numbered_templates(self) -> list[Attribute]:
        """Templates in the order of their numbers in candidates; those that may raise come last."""
        return sorted(self.templates, key=lambda template: template.can_raise)

    @cached_property
    def fields(self) -> dict[str, str]:
        """Kind of the parameters in each field of a condition, by the name of the field.

        There is a field for each of the first parameters of a kind, and one for the array of all
        further ones: the templates with the most parameters should not make all conditions long.
        """
        counts = dict.fromkeys(_FIELD_TYPES, 0)
        for template in self.templates:
            kinds = [_KINDS[letter] for letter in MARKER.findall(template.name)]
            counts = {kind: max(count, kinds.count(kind)) for kind, count in counts.items()}
        fields: dict[str, str] = {}
        for kind, count in counts.items():
            fields |= dict.fromkeys((f"{kind}{i}" for i in range(min(count, _MAX_FIELDS))), kind)
            if count > _MAX_FIELDS:
                fields[f"{kind}s"] = kind
        return fields

    @property
    def conditions_type(self) -> DataType:
        """Spark's type of the late conditions of a candidate.

        It is an array with an element for each region; the element is the array of its conditions.
        """
        condition = StructType([StructField("template", IntegerType())])
        for name, kind in self.fields.items():
            type_ = _FIELD_TYPES[kind]
            condition = condition.add(name, ArrayType(type_) if name == f"{kind}s" else type_)
        return ArrayType(ArrayType(condition))

    def find_columns(self, names: Iterable[str]) -> list[str]:
        """Return those of the names of columns that templates may read.

        A column is also included if a template contains a type or a word of the same name.
        """
        return [name for name in names if name.lower() in self._names]

    @cached_property
    def _names(self) -> set[str]:
        """Names in the templates that may be columns, in lower case."""
        return set().union(*(find_names(template.name) for template in self.templates))

    @cached_property
    def _variables(self) -> tuple[str, str, str]:
        """Variables of lambda functions for a candidate, a region and a condition.

        They differ from all names in the templates, because a variable hides a column of its name.
        """
        names = ("covey_candidate", "covey_region", "covey_condition")
        while self._names & {*names}:
            names = (f"{names[0]}_", f"{names[1]}_", f"{names[2]}_")
        return names

    def add_fields(self, event_fields: StructType, schema: StructType, space: Space) -> StructType:
        """Return fields of events, followed by those of further columns that templates may read.

        Args:
            event_fields: some of the fields of `schema`.
            schema: schema of the events.
            space: the space of the subscriptions; templates read only its columns.
        """
        known = {column.name.lower() for column in space.columns}
        added = self.find_columns(name for name in schema.names if name.lower() in known)
        return StructType(
            [*event_fields.fields, *(schema[n] for n in added if n not in event_fields.names)]
        )

    @staticmethod
    def check_names(names: Iterable[str]) -> None:
        """Raise InvalidArgumentError if events have a column whose name is used for candidates."""
        for name in names:
            if name.lower() in (IDS_COLUMN, CANDIDATES_COLUMN, CONDITIONS_COLUMN):
                raise InvalidArgumentError(
                    f"covey uses the name {name!r} for a column of its own: rename the column of "
                    "the events"
                )

    def to_pair_format(self, pair_rows: PairRows) -> PairRows | LatePairRows:
        """Return the format of rows with a match or, if there are templates, a candidate."""
        return LatePairRows(pair_rows, self) if self.templates else pair_rows

    def build_decision(self, conditions: str) -> str:
        """Return the SQL of a boolean: whether the late conditions of a candidate hold.

        Args:
            conditions: the SQL of its conditions, which have the type `conditions_type`.
        """
        _, region, condition = self._variables
        holds = f"forall({region}, {condition} -> {self._build_value()})"
        return f"exists({conditions}, {region} -> {holds})"

    def build_error_check(self, conditions: str) -> str:
        """Return the SQL of a boolean: whether an error leaves a candidate undecided.

        Args:
            conditions: the SQL of its conditions, which have the type `conditions_type`.
        """
        _, region, condition = self._variables
        value, is_computable = self._build_value(), self._build_check()
        may_hold = f"forall({region}, {condition} -> {value} OR NOT {is_computable})"
        fails = f"exists({region}, {condition} -> NOT {is_computable})"
        is_undecided = f"exists({conditions}, {region} -> {may_hold} AND {fails})"
        return f"{is_undecided} AND NOT {self.build_decision(conditions)}"

    def build_first_error(self, conditions: str) -> str:
        """Return the SQL of the first of a candidate's conditions that cannot be computed."""
        _, _, condition = self._variables
        fails = f"NOT {self._build_check()}"
        return f"element_at(filter(flatten({conditions}), {condition} -> {fails}), 1)"

    def filter_rows(self, rows: DataFrame) -> DataFrame:
        """Return the rows that are certain, and those whose late conditions hold.

        Args:
            rows: rows with `CONDITIONS_COLUMN` and the columns of events that templates read.
        """
        column = f"`{CONDITIONS_COLUMN}`"
        return rows.where(f"{column} IS NULL OR {self.build_decision(column)}")

    def build_filter(self) -> str:
        """Return the SQL of the ids of the candidates whose late conditions hold."""
        candidate, _, _ = self._variables
        decision = self.build_decision(f"{candidate}.conditions")
        kept = f"filter(`{CANDIDATES_COLUMN}`, {candidate} -> {decision})"
        return f"transform({kept}, {candidate} -> {candidate}.id)"

    def encode_conditions(
        self, undecided: UndecidedPairs
    ) -> Iterator[tuple[int, int, pa.ListArray]]:
        """Yield the late conditions of pairs, in parts that are small enough for a batch of rows.

        Each part consists of the pairs `start` to `stop`, and of an array of `conditions_type`. The
        memory of a worker has to hold only one part.
        """
        encoded_rules = self.encode_rules(undecided.rules)
        for start, stop in split_by_bytes(self.estimate_pair_bytes(undecided)):
            yield start, stop, list_conditions(undecided.slice(start, stop), encoded_rules)

    def estimate_pair_bytes(self, undecided: UndecidedPairs) -> NDArray[np.int64]:
        """Return the estimated size of the late conditions of each pair in bytes."""
        rules, rule_rows = undecided.rules, undecided.rule_rows
        token_bytes = np.array([2 * len(token) for token in rules.tokens.values], np.int64)
        condition_bytes = np.concatenate(
            [[0], np.cumsum(token_bytes + 16 * (1 + len(self.fields)))]
        )
        rule_bytes = np.diff(condition_bytes[rules.groups.offsets])
        ends = np.concatenate([[0], np.cumsum(rule_bytes[rule_rows.values])])
        return np.diff(ends[rule_rows.offsets])

    def encode_rules(self, rules: Tags) -> pa.ListArray:
        """Return for each rule the list of its late conditions, as structs."""
        numbers = {template.name: n for n, template in enumerate(self.numbered_templates)}
        tokens = rules.tokens.values.tolist()
        columns: dict[str, list[Any]] = {"template": []}
        columns |= {name: [None] * len(tokens) for name in self.fields}
        for row, token in enumerate(tokens):
            condition = LateCondition.from_token(token)
            columns["template"].append(numbers[condition.template])
            used = dict.fromkeys(_FIELD_TYPES, 0)
            for letter, value in zip(
                condition.parameter_letters, condition.parameters, strict=True
            ):
                kind = _KINDS[letter]
                if used[kind] < _MAX_FIELDS:
                    columns[f"{kind}{used[kind]}"][row] = value
                else:
                    more = columns[f"{kind}s"]
                    more[row] = [*(more[row] or []), value]
                used[kind] += 1
        arrays: list[pa.Array] = [pa.array(columns.pop("template"), pa.int32())]
        for name, values in columns.items():
            type_ = _ARROW_TYPES[self.fields[name]]
            is_list = name == f"{self.fields[name]}s"
            arrays.append(pa.array(values, pa.list_(type_) if is_list else type_))
        structs = pa.StructArray.from_arrays(arrays, ["template", *columns])
        return pa.ListArray.from_arrays(pa.array(rules.groups.offsets.astype(np.int32)), structs)

    def decode_condition(self, condition: Row) -> LateCondition:
        """Return the condition of a struct with a template and parameters."""
        template = self.numbered_templates[condition["template"]]
        parameters, used = [], dict.fromkeys(_FIELD_TYPES, 0)
        for letter in MARKER.findall(template.name):
            kind = _KINDS[letter]
            position = used[kind] - _MAX_FIELDS
            parameters.append(
                condition[f"{kind}{used[kind]}"]
                if position < 0
                else condition[f"{kind}s"][position]
            )
            used[kind] += 1
        return LateCondition(template.name, tuple(parameters))

    def _build_value(self) -> str:
        """Return the SQL of a boolean: whether a condition holds and can be computed."""
        plain_count = sum(not template.can_raise for template in self.templates)
        raising = self._build_tree(plain_count, len(self.templates))
        plain = self._build_tree(0, plain_count)
        return self._choose(plain_count, f"coalesce({plain}, false)", guard_condition(raising))

    def _build_check(self) -> str:
        """Return the SQL of a boolean: whether Spark can compute a condition."""
        plain_count = sum(not template.can_raise for template in self.templates)
        raising = self._build_tree(plain_count, len(self.templates))
        return self._choose(plain_count, "true", build_computability_check(raising))

    def _choose(self, plain_count: int, plain: str, raising: str) -> str:
        """Return the SQL that applies to a condition: `plain`, or `raising` if it may raise."""
        if plain_count in (0, len(self.templates)):
            return plain if plain_count else raising
        return f"if({self._variables[2]}.template < {plain_count}, {plain}, {raising})"

    def _build_tree(self, start: int, stop: int) -> str:
        """Return the SQL that evaluates a condition with one of the templates `start` to `stop`.

        It is a binary tree of IFs.
        """
        if stop - start < 2:
            return self._build_leaf(self.numbered_templates[start]) if stop > start else "false"
        middle = (start + stop) // 2
        branches = f"{self._build_tree(start, middle)}, {self._build_tree(middle, stop)}"
        return f"if({self._variables[2]}.template < {middle}, {branches})"

    def _build_leaf(self, template: Attribute) -> str:
        """Return the SQL of a template whose parameters are fields of the condition."""
        used = dict.fromkeys(_FIELD_TYPES, 0)
        condition = self._variables[2]

        def replace_marker(marker: re.Match[str]) -> str:
            kind, type_name = _KINDS[marker[1]], PARAMETER_TYPES[marker[1]]
            position = used[kind] - _MAX_FIELDS
            value = f"{condition}.{kind}{used[kind]}"
            if position >= 0:
                value = f"get({condition}.{kind}s, {position})"
            used[kind] += 1
            return f"CAST({value} AS INT)" if type_name == "INT" else value

        sql = MARKER.sub(replace_marker, template.name)
        return f"({sql if self.time_ms is None else bind_clock(sql, self.time_ms)})"


@dataclass(frozen=True, slots=True)
class LateOutput:
    """Output format of a model with late conditions: a row for each event with candidates.

    Columns of the output: those of the event, the ids of the matches that are certain, and the
    candidates.

    Args:
        event_columns: columns of events in the output, which the task receives first.
        id_type: conversion of ids.
        evaluation: evaluation of the late conditions.
        keeps_all: whether events without matches and candidates are in the output too.
    """

    event_columns: tuple[str, ...]
    id_type: IdType
    evaluation: LateEvaluation
    keeps_all: bool

    def output_schema(self, event_fields: StructType, id_type: DataType) -> StructType:
        conditions_type = self.evaluation.conditions_type
        candidate = StructType().add("id", id_type).add("conditions", conditions_type)
        return StructType(
            [
                *event_fields.fields,
                StructField(IDS_COLUMN, ArrayType(id_type)),
                StructField(CANDIDATES_COLUMN, ArrayType(candidate)),
            ]
        )

    def to_batches(self, events: pa.RecordBatch, matches: IdMatches) -> Iterator[pa.RecordBatch]:
        count, undecided = len(events), matches.undecided
        ids = self.id_type.from_store(matches.ids)
        candidate_ids = self.id_type.from_store(matches.undecided_ids)
        id_offsets = _count_offsets(matches.event_rows, count)
        candidate_offsets = _count_offsets(undecided.query_rows, count)
        columns = events.columns[: len(self.event_columns)]
        widths = estimate_row_bytes(columns, count)
        widths += np.diff(id_offsets) * (ids.nbytes // max(1, len(ids)))
        encoded_rules = self.evaluation.encode_rules(undecided.rules)
        pair_ends = np.concatenate([[0], np.cumsum(self.evaluation.estimate_pair_bytes(undecided))])
        widths += np.diff(pair_ends[candidate_offsets])
        rows = np.arange(count)
        if not self.keeps_all:
            is_kept = (np.diff(id_offsets) > 0) | (np.diff(candidate_offsets) > 0)
            rows = np.flatnonzero(is_kept)
        id_lists = pa.ListArray.from_arrays(pa.array(id_offsets), ids)
        for start, stop in split_by_bytes(widths, rows):
            chosen = rows[start:stop]
            # Rows that are left out have no candidates, so those of the others are contiguous.
            first, end = candidate_offsets[chosen[0]], candidate_offsets[chosen[-1] + 1]
            candidates = pa.StructArray.from_arrays(
                [
                    candidate_ids.slice(first, end - first),
                    list_conditions(undecided.slice(first, end), encoded_rules),
                ],
                ["id", "conditions"],
            )
            lengths = np.diff(candidate_offsets)[chosen]
            offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
            chosen_rows = pa.array(chosen)
            yield pa.RecordBatch.from_arrays(
                [
                    *(column.take(chosen_rows) for column in (*columns, id_lists)),
                    pa.ListArray.from_arrays(pa.array(offsets), candidates),
                ],
                [*self.event_columns, IDS_COLUMN, CANDIDATES_COLUMN],
            )


@dataclass(frozen=True, slots=True)
class LatePairRows:
    """Output format of a model with late conditions: a row for each match and each candidate.

    Columns of the output: those of the event, the id, and `CONDITIONS_COLUMN`.
    `LateEvaluation.filter_rows` then drops the candidates whose conditions do not hold.
    """

    pair_rows: PairRows
    evaluation: LateEvaluation

    def output_schema(self, event_fields: StructType, id_type: DataType) -> StructType:
        pairs = self.pair_rows.output_schema(event_fields, id_type)
        return pairs.add(CONDITIONS_COLUMN, self.evaluation.conditions_type)

    def to_batches(self, events: pa.RecordBatch, matches: IdMatches) -> Iterator[pa.RecordBatch]:
        yield from self.build_rows(events, matches.event_rows, matches.ids)
        for start, stop, conditions in self.evaluation.encode_conditions(matches.undecided):
            yield from self.build_rows(
                events, matches.undecided.query_rows[start:stop],
                matches.undecided_ids.slice(start, stop - start), conditions=conditions,
            )  # fmt: skip

    def build_rows(
        self,
        events: pa.RecordBatch,
        query_rows: NDArray[np.integer[Any]],
        subscription_ids: pa.Array,
        *,
        conditions: pa.Array | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of matches, or of candidates with their conditions.

        The other arguments are those of `PairRows.build_rows`.
        """
        start = 0
        for batch in self.pair_rows.build_rows(events, query_rows, subscription_ids):
            chosen = (
                pa.nulls(len(batch), to_arrow_type(self.evaluation.conditions_type))
                if conditions is None
                else conditions.slice(start, len(batch))
            )
            start += len(batch)
            yield batch.append_column(CONDITIONS_COLUMN, chosen)


def list_conditions(undecided: UndecidedPairs, encoded_rules: pa.ListArray) -> pa.ListArray:
    """Return for each pair the late conditions of its rules, from those of all rules."""
    rule_rows = pa.array(undecided.rule_rows.values, pa.int64())
    offsets = pa.array(undecided.rule_rows.offsets.astype(np.int32))
    return pa.ListArray.from_arrays(offsets, encoded_rules.take(rule_rows))


def decide_candidates(
    rows: DataFrame,
    evaluation: LateEvaluation,
    event_fields: Sequence[str],
    output_col: str,
    *,
    as_arrays: bool,
) -> DataFrame:
    """Return the output of `transform` from rows of `LateOutput`.

    Args:
        rows: rows of events with candidates.
        evaluation: evaluation of their late conditions.
        event_fields: names of the columns of events in the output.
        output_col: name of the column with matched ids.
        as_arrays: whether the output has one row for each event instead of one for each match.
    """
    ids = f"concat(`{IDS_COLUMN}`, {evaluation.build_filter()})"
    matched = F.expr(ids if as_arrays else f"explode({ids})").alias(output_col)
    return rows.select(*(select_column(name) for name in event_fields), matched)


def _count_offsets(rows: NDArray[np.integer[Any]], count: int) -> NDArray[np.int32]:
    """Return the offsets of lists; `rows` has the number of the list of each element, ascending."""
    ends = np.cumsum(np.bincount(rows, minlength=count))
    return np.concatenate([[0], ends]).astype(np.int32)
