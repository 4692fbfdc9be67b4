"""Evaluation of late conditions: workers return candidates, and Spark decides them.

A candidate is an event and a subscription whose other conditions the event satisfies. It is a match
if all late conditions of one of its regions hold. Workers return the conditions of an event, or of
one candidate, as arrays: one with the templates of all conditions, and one for each field with
parameters. Spark joins the arrays to one array of structs, and filters it.

If subscriptions may have several late conditions, a further array has the number of the region of
each condition. The filter then keeps the conditions that fail, and a region without such a
condition is a match. Otherwise the filter keeps the conditions that hold.

The lambda function of the filter chooses the template of a condition with `elt`, which evaluates
only one of its arguments. So the cost does not grow with the number of templates.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import DataFrame, Row
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructType,
)

from covey.errors import InvalidArgumentError
from covey.language.clock import bind_clock
from covey.language.late_conditions import MARKER, PARAMETER_TYPES, LateCondition, find_names
from covey.space import Attribute, Space
from covey.space.guard import build_computability_check, guard_condition

__all__ = [
    "CANDIDATES_COLUMN",
    "CONDITIONS_COLUMN",
    "IDS_COLUMN",
    "LateEvaluation",
    "assign_fields",
    "check_reserved",
    "find_field_type",
    "get_field_column",
]

CONDITIONS_COLUMN = "covey.conditions"
"""Column with late conditions of candidates; null in a row without candidates."""
IDS_COLUMN, CANDIDATES_COLUMN = "covey.ids", "covey.candidates"
"""Columns with the ids of an event's certain matches, and with those of its candidate regions."""
_MAX_FIELDS = 4  # fields with a parameter of one kind
_KINDS = {"s": "text", "i": "number", "l": "number", "d": "fraction", "m": "fraction"}
"""Prefix of the fields with parameters, by letter."""
_FIELD_TYPES = {"text": StringType(), "number": LongType(), "fraction": DoubleType()}


def assign_fields(letters: Iterable[str]) -> list[tuple[str, int | None]]:
    """Return for each parameter the name of its field, and its position if the field is a list.

    There is a field for each of the first parameters of a kind, and one for the list of all further
    ones: the templates with the most parameters should not make all conditions long.

    Args:
        letters: letters of the types of the parameters.

    >>> assign_fields("sis")
    [('text0', None), ('number0', None), ('text1', None)]
    """
    used = dict.fromkeys(_FIELD_TYPES, 0)
    fields: list[tuple[str, int | None]] = []
    for letter in letters:
        kind = _KINDS[letter]
        count = used[kind]
        is_listed = count >= _MAX_FIELDS
        fields.append((f"{kind}s", count - _MAX_FIELDS) if is_listed else (f"{kind}{count}", None))
        used[kind] += 1
    return fields


def get_field_column(field: str) -> str:
    """Return the name of the column with a field of the conditions of events."""
    return f"covey.{field}"


def check_reserved(names: Iterable[str], reserved: Container[str]) -> None:
    """Raise InvalidArgumentError if the name of a column of events is reserved."""
    for name in names:
        if name.lower() in reserved:
            raise InvalidArgumentError(
                f"covey uses the name {name!r} for a column of its own: rename the column of the "
                "events"
            )


def find_field_type(name: str) -> DataType:
    """Return Spark's type of a field with parameters.

    >>> find_field_type("number0"), find_field_type("texts")
    (LongType(), ArrayType(StringType(), True))
    """
    type_ = next(type_ for kind, type_ in _FIELD_TYPES.items() if name.startswith(kind))
    return ArrayType(type_) if name.endswith("s") else type_


@dataclass(frozen=True)
class LateEvaluation:
    """Evaluation of the late conditions with certain templates.

    Args:
        templates: the templates; a condition refers to each by its position.
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
        """Templates in the order of their numbers in conditions.

        Those that may raise come after those that cannot, and those without a try form come last.
        """
        return sorted(
            self.templates, key=lambda template: (template.can_raise, template.is_guarded)
        )

    @cached_property
    def template_numbers(self) -> dict[str, int]:
        """Number of each template."""
        return {template.name: n for n, template in enumerate(self.numbered_templates)}

    @cached_property
    def parameter_fields(self) -> dict[str, DataType]:
        """Spark's type of each field of a condition that has parameters, by its name."""
        names = {
            name
            for template in self.templates
            for name, _ in assign_fields(MARKER.findall(template.name))
        }
        return {name: find_field_type(name) for name in sorted(names)}

    @cached_property
    def fields(self) -> dict[str, DataType]:
        """Spark's type of each field of a condition, by its name."""
        return {"template": IntegerType(), **self.parameter_fields}

    @property
    def conditions_type(self) -> StructType:
        """Spark's type of the late conditions of one candidate.

        It has an array for each field of the conditions. Conditions of the same region follow one
        another, and regions are numbered from 0.
        """
        conditions = StructType()
        for name, type_ in {"region": IntegerType(), **self.fields}.items():
            conditions = conditions.add(name, ArrayType(type_))
        return conditions

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
    def _variable(self) -> str:
        """Variable of lambda functions.

        It differs from all names in the templates, because a variable hides a column of its name.
        """
        name = "covey_variable"
        while name in self._names:
            name += "_"
        return name

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

    def check_names(self, names: Iterable[str]) -> None:
        """Raise InvalidArgumentError if events have a column whose name is used for candidates."""
        fields = map(get_field_column, ("region", *self.fields))
        check_reserved(names, {IDS_COLUMN, CANDIDATES_COLUMN, CONDITIONS_COLUMN, *fields})

    def build_matched_ids(self, *, has_several_conditions: bool) -> str:
        """Return the SQL of the ids that an event matches, from a row of `LateOutput`.

        Args:
            has_several_conditions: as in `LateOutput`.
        """
        candidates, truth, variable = f"`{CANDIDATES_COLUMN}`", self._build_truth(), self._variable
        fields = [f"`{get_field_column(name)}`" for name in self.fields]
        if has_several_conditions:
            regions = f"`{get_field_column('region')}`"
            failing = self._build_filter([regions, *fields], f"NOT {truth}") + ".`0`"
            matching = f"array_except(sequence(0, size({candidates}) - 1), {failing})"
            ids = f"transform({matching}, {variable} -> get({candidates}, {variable}))"
            matched = f"array_distinct({ids})"  # a subscription may have several regions
        else:
            matched = self._build_filter([candidates, *fields], truth) + ".`0`"
        certain = f"`{IDS_COLUMN}`"
        return f"if({candidates} IS NULL, {certain}, concat({certain}, {matched}))"

    def build_decision(self, conditions: str) -> str:
        """Return the SQL of a boolean: whether the late conditions of one candidate hold.

        Args:
            conditions: the SQL of its conditions, which have the type `conditions_type`.
        """
        return self._build_match(conditions, f"NOT {self._build_truth()}")

    def build_error_check(self, conditions: str) -> str:
        """Return the SQL of a boolean: whether an error leaves a candidate undecided.

        This is so if the candidate is no match, but would be one if the conditions that cannot be
        computed held.

        Args:
            conditions: the SQL of its conditions, which have the type `conditions_type`.
        """
        fails = f"(NOT {self._build_truth()} AND {self._build_check()})"
        may_match = self._build_match(conditions, fails)
        return f"{may_match} AND NOT ({self.build_decision(conditions)})"

    def build_failing_condition(self, conditions: str) -> str:
        """Return the SQL of a candidate's condition that cannot be computed, as a struct."""
        chosen = self._filter_candidate(conditions, f"NOT {self._build_check()}")
        fields = (
            f"'{name}', element_at({chosen}, 1).`{i}`"
            for i, name in enumerate(self.fields, start=1)
        )
        return f"named_struct({', '.join(fields)})"

    def _build_match(self, conditions: str, fails: str) -> str:
        """Return the SQL of a boolean: whether a region has no condition that fails."""
        failing_regions = f"{self._filter_candidate(conditions, fails)}.`0`"
        return f"size(array_distinct({failing_regions})) <= element_at({conditions}.region, -1)"

    def _filter_candidate(self, conditions: str, is_chosen: str) -> str:
        """Return the SQL of certain conditions of a candidate, whose first field is the region."""
        arrays = [f"{conditions}.{name}" for name in ("region", *self.fields)]
        return self._build_filter(arrays, is_chosen)

    def _build_filter(self, arrays: Iterable[str], is_chosen: str) -> str:
        """Return the SQL of certain conditions as structs, in reverse order.

        Spark reads a value of an array that comes from a worker much faster if it reads all values
        at once, as `reverse` does.

        Args:
            arrays: the SQL of an array with the region or the id of each condition, followed by
                those of its fields.
            is_chosen: the SQL of a boolean: whether a condition is part of the result.
        """
        reversed_arrays = ", ".join(f"reverse({array})" for array in arrays)
        return f"filter(arrays_zip({reversed_arrays}), {self._variable} -> {is_chosen})"

    def _build_field(self, name: str) -> str:
        """Return the SQL of a field of the condition in the lambda function of a filter."""
        return f"{self._variable}.`{1 + list(self.fields).index(name)}`"

    def filter_rows(self, rows: DataFrame) -> DataFrame:
        """Return the rows that are certain, and those whose late conditions hold.

        Args:
            rows: rows with `CONDITIONS_COLUMN` and the columns of events that templates read.
        """
        column = f"`{CONDITIONS_COLUMN}`"
        return rows.where(f"{column} IS NULL OR {self.build_decision(column)}")

    def decode_condition(self, condition: Row) -> LateCondition:
        """Return the condition of a struct with a template and parameters."""
        template = self.numbered_templates[condition["template"]].name
        parameters = (
            condition[name] if position is None else condition[name][position]
            for name, position in assign_fields(MARKER.findall(template))
        )
        return LateCondition(template, tuple(parameters))

    def _build_truth(self) -> str:
        """Return the SQL of a boolean: whether a condition holds and can be computed."""
        count = sum(not template.is_guarded for template in self.templates)
        forms = [template.try_form or template.name for template in self.numbered_templates]
        plain = f"({self._build_answer(forms[:count])} = 'y')"
        guarded = guard_condition(f"{self._build_answer(forms[count:], count)} = 'y'")
        return self._build_choice(count, plain, guarded)

    def _build_check(self) -> str:
        """Return the SQL of a boolean: whether Spark can compute a condition."""
        count = sum(not template.can_raise for template in self.templates)
        raising = [template.name for template in self.numbered_templates[count:]]
        check = build_computability_check(self._build_answer(raising, count))
        return self._build_choice(count, "true", check)

    def _build_choice(self, count: int, first: str, rest: str) -> str:
        """Return the SQL that is `first` for the first `count` templates, and `rest` for others."""
        if count in (0, len(self.templates)):
            return first if count else rest
        return f"if({self._build_field('template')} < {count}, {first}, {rest})"

    def _build_answer(self, forms: Sequence[str], start: int = 0) -> str:
        """Return the SQL of a text: 'y' if a condition holds, and 'n' otherwise.

        Args:
            forms: the SQL of some templates, by their numbers in conditions.
            start: number of the first of them.
        """
        answers = [f"if({self._build_condition(form)}, 'y', 'n')" for form in forms]
        if len(answers) < 2:
            return answers[0] if answers else "'n'"
        number = f"{self._build_field('template')} + {1 - start}"
        return f"elt({number}, {', '.join(answers)})"

    def _build_condition(self, template: str) -> str:
        """Return the SQL of a template whose parameters are fields of the condition."""
        letters = MARKER.findall(template)
        values = []
        for letter, (name, position) in zip(letters, assign_fields(letters), strict=True):
            value = self._build_field(name)
            if position is not None:
                value = f"get({value}, {position})"
            values.append(f"CAST({value} AS INT)" if PARAMETER_TYPES[letter] == "INT" else value)
        replacements = iter(values)
        sql = MARKER.sub(lambda _: next(replacements), template)
        return f"({sql if self.time_ms is None else bind_clock(sql, self.time_ms)})"
