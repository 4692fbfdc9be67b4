"""Evaluation of late conditions: workers return candidates, and Spark decides them.

A candidate is an event and a subscription whose other conditions the event satisfies. Workers
return for each event an array of candidates, each with the templates and the parameters of its late
conditions. Spark then filters the array. The innermost lambda function of the filter chooses the
template by a binary tree of IFs, so that its cost grows with the logarithm of the number of
templates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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

from covey.geometry.tags import Tags
from covey.language.clock import bind_clock
from covey.language.late_conditions import MARKER, PARAMETER_TYPES, LateCondition
from covey.space import Attribute, Space
from covey.space.guard import build_computability_check, guard_expression
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
_KINDS = {"s": "text", "i": "number", "l": "number", "d": "fraction"}
"""Prefix of the fields with parameters, by letter."""
_FIELD_TYPES = {"text": StringType(), "number": LongType(), "fraction": DoubleType()}
_ARROW_TYPES = {"text": pa.string(), "number": pa.int64(), "fraction": pa.float64()}
_WORD = re.compile(r"`((?:[^`]|``)+)`|([A-Za-z_]\w*)")


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
    def field_counts(self) -> dict[str, int]:
        """Largest number of parameters of each kind that a template has."""
        counts = dict.fromkeys(_FIELD_TYPES, 0)
        for template in self.templates:
            kinds = [_KINDS[letter] for letter in MARKER.findall(template.name)]
            counts = {kind: max(count, kinds.count(kind)) for kind, count in counts.items()}
        return counts

    @property
    def fields(self) -> list[tuple[str, str]]:
        """Name and kind of each field with a parameter."""
        return [(f"{k}{i}", k) for k, count in self.field_counts.items() for i in range(count)]

    @property
    def conditions_type(self) -> DataType:
        """Spark's type of the late conditions of a candidate.

        It is an array with an element for each region; the element is the array of its conditions.
        """
        condition = StructType([StructField("template", IntegerType())])
        for name, kind in self.fields:
            condition = condition.add(name, _FIELD_TYPES[kind])
        return ArrayType(ArrayType(condition))

    def find_columns(self, schema: StructType) -> list[str]:
        """Return the names of the columns of events that templates may read.

        A column is also included if a template contains a function or a word of the same name.
        """
        return [name for name in schema.names if name.lower() in self._words]

    @cached_property
    def _words(self) -> set[str]:
        """Names of columns, functions and others in the templates, in lower case."""
        return {
            (quoted.replace("``", "`") or plain).lower()
            for template in self.templates
            for quoted, plain in _WORD.findall(template.name)
        }

    @cached_property
    def _variables(self) -> tuple[str, str, str]:
        """Variables of lambda functions for a candidate, a region and a condition.

        They differ from all words in the templates, because a variable hides a column of its name.
        """
        names = ("covey_candidate", "covey_region", "covey_condition")
        while self._words & {*names}:
            names = (f"{names[0]}_", f"{names[1]}_", f"{names[2]}_")
        return names

    def add_fields(self, event_fields: StructType, schema: StructType) -> StructType:
        """Return fields of events, followed by those of further columns that templates may read.

        Args:
            event_fields: some of the fields of `schema`.
            schema: schema of the events.
        """
        added = [n for n in self.find_columns(schema) if n not in event_fields.names]
        return StructType([*event_fields.fields, *(schema[name] for name in added)])

    def to_pair_format(self, pair_rows: PairRows) -> PairRows | LatePairRows:
        """Return the format of rows with a match or, if there are templates, a candidate."""
        return LatePairRows(pair_rows, self) if self.templates else pair_rows

    def build_decision(self, conditions: str) -> str:
        """Return the SQL of a boolean: whether the late conditions of a candidate hold.

        Args:
            conditions: the SQL of its conditions, which have the type `conditions_type`.
        """
        _, region, condition = self._variables
        holds = f"forall({region}, {condition} -> {self._build_tree()})"
        return f"exists({conditions}, {region} -> {holds})"

    def build_error_check(self, conditions: str) -> str:
        """Return the SQL of a boolean: whether an error leaves a candidate undecided.

        Args:
            conditions: the SQL of its conditions, which have the type `conditions_type`.
        """
        _, region, condition = self._variables
        value, is_computable = self._build_tree(), self._build_tree(is_check=True)
        may_hold = f"forall({region}, {condition} -> {value} OR NOT {is_computable})"
        fails = f"exists({region}, {condition} -> NOT {is_computable})"
        is_undecided = f"exists({conditions}, {region} -> {may_hold} AND {fails})"
        return f"{is_undecided} AND NOT {self.build_decision(conditions)}"

    def build_first_error(self, conditions: str) -> str:
        """Return the SQL of the first of a candidate's conditions that cannot be computed."""
        _, _, condition = self._variables
        fails = f"NOT {self._build_tree(is_check=True)}"
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

    def encode_conditions(self, undecided: UndecidedPairs) -> pa.ListArray:
        """Return the late conditions of each pair as an array of `conditions_type`."""
        rule_rows = undecided.rule_rows
        by_rule = self._encode_rules(undecided.rules)
        offsets = pa.array(rule_rows.offsets.astype(np.int32))
        return pa.ListArray.from_arrays(offsets, by_rule.take(pa.array(rule_rows.values)))

    def _encode_rules(self, rules: Tags) -> pa.ListArray:
        """Return for each rule the list of its late conditions, as structs."""
        numbers = {template.name: n for n, template in enumerate(self.templates)}
        tokens = rules.tokens.values.tolist()
        columns: dict[str, list[Any]] = {"template": []}
        columns |= {name: [] for name, _ in self.fields}
        for token in tokens:
            condition = LateCondition.from_token(token)
            columns["template"].append(numbers[condition.template])
            used = dict.fromkeys(_FIELD_TYPES, 0)
            for letter, value in zip(
                condition.parameter_letters, condition.parameters, strict=True
            ):
                kind = _KINDS[letter]
                columns[f"{kind}{used[kind]}"].append(value)
                used[kind] += 1
            for name, kind in self.fields:
                if int(name.removeprefix(kind)) >= used[kind]:
                    columns[name].append(None)
        kinds = dict(self.fields)
        arrays = [
            pa.array(values, _ARROW_TYPES[kinds[name]] if name in kinds else pa.int32())
            for name, values in columns.items()
        ]
        structs = pa.StructArray.from_arrays(arrays, list(columns))
        return pa.ListArray.from_arrays(pa.array(rules.groups.offsets.astype(np.int32)), structs)

    def decode_condition(self, condition: Row) -> LateCondition:
        """Return the condition of a struct with a template and parameters."""
        template = self.templates[condition["template"]]
        parameters, used = [], dict.fromkeys(_FIELD_TYPES, 0)
        for letter in MARKER.findall(template.name):
            kind = _KINDS[letter]
            parameters.append(condition[f"{kind}{used[kind]}"])
            used[kind] += 1
        return LateCondition(template.name, tuple(parameters))

    def _build_tree(self, *, is_check: bool = False) -> str:
        """Return the SQL that evaluates a condition, by a binary tree of its templates.

        Args:
            is_check: whether to evaluate if Spark can compute the condition, not the condition.
        """

        _, _, condition = self._variables

        def build(start: int, stop: int) -> str:
            if stop - start == 1:
                return self._build_leaf(self.templates[start], is_check)
            middle = (start + stop) // 2
            branches = f"{build(start, middle)}, {build(middle, stop)}"
            return f"if({condition}.template < {middle}, {branches})"

        return build(0, len(self.templates))

    def _build_leaf(self, template: Attribute, is_check: bool) -> str:
        """Return the SQL of a template whose parameters are fields of the condition.

        The result is never null. The other argument is that of `_build_tree`.
        """
        used = dict.fromkeys(_FIELD_TYPES, 0)
        _, _, condition = self._variables

        def replace_marker(marker: re.Match[str]) -> str:
            kind, type_name = _KINDS[marker[1]], PARAMETER_TYPES[marker[1]]
            name = f"{condition}.{kind}{used[kind]}"
            used[kind] += 1
            return f"CAST({name} AS INT)" if type_name == "INT" else name

        sql = MARKER.sub(replace_marker, template.name)
        if self.time_ms is not None:
            sql = bind_clock(sql, self.time_ms)
        if is_check:
            return build_computability_check(sql) if template.can_raise else "true"
        return f"coalesce({guard_expression(sql) if template.can_raise else f'({sql})'}, false)"


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
        candidates = pa.StructArray.from_arrays(
            [
                self.id_type.from_store(matches.undecided_ids),
                self.evaluation.encode_conditions(undecided),
            ],
            ["id", "conditions"],
        )
        id_offsets = _count_offsets(matches.event_rows, count)
        candidate_offsets = _count_offsets(undecided.query_rows, count)
        columns = events.columns[: len(self.event_columns)]
        widths = estimate_row_bytes(columns, count)
        widths += np.diff(id_offsets) * (ids.nbytes // max(1, len(ids)))
        widths += np.diff(candidate_offsets) * (candidates.nbytes // max(1, len(candidates)))
        rows = np.arange(count)
        if not self.keeps_all:
            is_kept = (np.diff(id_offsets) > 0) | (np.diff(candidate_offsets) > 0)
            rows = np.flatnonzero(is_kept)
        lists = [
            pa.ListArray.from_arrays(pa.array(id_offsets), ids),
            pa.ListArray.from_arrays(pa.array(candidate_offsets), candidates),
        ]
        for start, stop in split_by_bytes(widths, rows):
            chosen = pa.array(rows[start:stop])
            yield pa.RecordBatch.from_arrays(
                [column.take(chosen) for column in (*columns, *lists)],
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
        undecided = matches.undecided
        yield from self.build_rows(
            events, undecided.query_rows, matches.undecided_ids,
            conditions=self.evaluation.encode_conditions(undecided),
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
