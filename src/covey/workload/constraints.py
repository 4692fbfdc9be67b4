"""Drawn constraints on one attribute, which are converted to regions and to Spark SQL.

A workload draws the constraints on an attribute once. Its regions and its predicates are built from
the same constraints, so they admit the same events. A row is a subscription; a row without a
constraint on the attribute is called free.

Cost: regions are built column by column, without a Python object per row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.balls import Balls
from covey.geometry.distances import Metric
from covey.geometry.regions import Constraints
from covey.geometry.scalars import ONLY, Scalars
from covey.geometry.tags import Tags
from covey.language.values import quote_string
from covey.space import Space, Type
from covey.space.events import ValueState
from covey.space.keys import encode_floats, key_domain
from covey.space.ragged_array import RaggedArray
from covey.space.types import DOUBLE, STRING
from covey.workload import literal_texts

__all__ = [
    "UNCONSTRAINED",
    "BallColumn",
    "ChoiceColumn",
    "ConstraintColumn",
    "EqualityColumn",
    "IntervalColumn",
    "KeywordColumn",
    "build_regions",
    "make_double_intervals",
    "write_predicates",
]

UNCONSTRAINED = -1
"""Code of a row without a constraint on the attribute."""


class ConstraintColumn(Protocol):
    """Drawn constraints on one attribute, with one row per subscription."""

    @property
    def attribute_name(self) -> str:
        """Name of the attribute."""
        ...

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    def to_constraints(self) -> Constraints:
        """Return the constraints of the rows that are not free, with the numbers of these rows."""
        ...

    def to_predicate_texts(self) -> list[str]:
        """Return the condition of each row as Spark SQL; for a free row, an empty string."""
        ...


def build_regions(space: Space, blocks: Iterable[Sequence[ConstraintColumn]]) -> Regions:
    """Return the regions of all rows of all blocks.

    A block has a column of constraints for each attribute; all its columns have the same rows.
    """
    return Regions.concat([_build_block_regions(space, block) for block in blocks])


def write_predicates(blocks: Iterable[Sequence[ConstraintColumn]]) -> list[str]:
    """Return the predicate of each row of all blocks; a row without constraints is `true`."""
    return [
        " AND ".join(filter(None, texts)) or "true"
        for block in blocks
        for texts in zip(*(column.to_predicate_texts() for column in block), strict=True)
    ]


def _build_block_regions(space: Space, block: Sequence[ConstraintColumn]) -> Regions:
    columns = {column.attribute_name: column.to_constraints() for column in block}
    constraints = {name: column for name, column in columns.items() if len(column.rows)}
    return Regions(space, len(block[0]), constraints)


@dataclass(frozen=True, slots=True)
class IntervalColumn:
    """Intervals of numbers, from a lower to an upper key, both included.

    An interval whose lower key is the lowest key of the type has no lower end. An interval whose
    upper key is the highest key of the type has no upper end. A row without any end is free.

    >>> from covey.space.types import INT
    >>> whole = key_domain(INT)
    >>> ages = IntervalColumn("age", INT, np.array([18, 65]), np.array([30, whole.high]))
    >>> ages.to_predicate_texts()
    ['age BETWEEN 18 AND 30', 'age >= 65']
    """

    attribute_name: str
    type: Type
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.lower)

    def to_constraints(self) -> Constraints:
        whole = key_domain(self.type)
        rows = np.flatnonzero((self.lower != whole.low) | (self.upper != whole.high))
        return Constraints(rows, Scalars.from_intervals(whole, self.lower[rows], self.upper[rows]))

    def to_predicate_texts(self) -> list[str]:
        whole, texts = key_domain(self.type), [""] * len(self)
        has_lower, has_upper = self.lower != whole.low, self.upper != whole.high

        def write(rows: NDArray[np.bool_], form: str, *ends: NDArray[np.int64]) -> None:
            """Set the texts of the rows where `rows` is True.

            A text is `form`, filled with the name of the attribute and the ends of the row.
            """
            literals = (literal_texts.format_scalars(end[rows], self.type) for end in ends)
            for row, *values in zip(np.flatnonzero(rows).tolist(), *literals, strict=True):
                texts[row] = form.format(self.attribute_name, *values)

        write(has_lower & has_upper, "{} BETWEEN {} AND {}", self.lower, self.upper)
        write(has_lower & ~has_upper, "{} >= {}", self.lower)
        write(~has_lower & has_upper, "{} <= {}", self.upper)
        return texts


def make_double_intervals(
    attribute_name: str, lower: NDArray[np.float64], upper: NDArray[np.float64]
) -> IntervalColumn:
    """Return intervals of doubles, both ends included.

    A lower end of -inf means no lower end, and an upper end of NaN means no upper end: Spark sorts
    NaN last, so that NaN has the highest key.
    """
    return IntervalColumn(attribute_name, DOUBLE, encode_floats(lower), encode_floats(upper))


@dataclass(frozen=True, slots=True)
class EqualityColumn:
    """Equality with a string: row i requires `values[codes[i]]`, and is free if its code is -1.

    >>> codes = np.array([0, UNCONSTRAINED])
    >>> EqualityColumn("city", np.array(["Oslo"], object), codes).to_predicate_texts()
    ["city = 'Oslo'", '']
    """

    attribute_name: str
    values: NDArray[np.object_]
    codes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.codes)

    def to_constraints(self) -> Constraints:
        rows = np.flatnonzero(self.codes != UNCONSTRAINED)
        keys = self.values[self.codes[rows]]
        return Constraints(rows, Scalars.from_intervals(key_domain(STRING), keys, keys))

    def to_predicate_texts(self) -> list[str]:
        values = zip(self.values[self.codes].tolist(), self.codes.tolist(), strict=True)
        return [
            "" if code == UNCONSTRAINED else f"{self.attribute_name} = {quote_string(value)}"
            for value, code in values
        ]


@dataclass(frozen=True, slots=True)
class ChoiceColumn:
    """Constraints that a text attribute is in a list; a row with code -1 has no constraint.

    Row i allows the values `choices[codes[i]]`.

    >>> codes = np.array([1, UNCONSTRAINED])
    >>> ChoiceColumn("colour", (("red",), ("blue", "green")), codes).to_predicate_texts()
    ["colour IN ('blue', 'green')", '']
    """

    attribute_name: str
    choices: tuple[tuple[str, ...], ...]
    codes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.codes)

    def to_constraints(self) -> Constraints:
        rows = np.flatnonzero(self.codes != UNCONSTRAINED)
        unconstrained = Scalars.build_unconstrained(key_domain(STRING), len(self.choices))
        list_modes = np.full(len(self.choices), ONLY, np.int8)
        choice_constraints = Scalars.from_intervals(
            unconstrained.domain,
            unconstrained.lower,
            unconstrained.upper,
            nulls=False,
            list_modes=list_modes,
            lists=RaggedArray.from_rows(self.choices),
        )
        return Constraints(rows, choice_constraints.take(self.codes[rows]))

    def to_predicate_texts(self) -> list[str]:
        texts = [
            f"{self.attribute_name} IN ({', '.join(map(quote_string, choice))})"
            for choice in self.choices
        ]
        texts.append("")  # for code -1
        return [texts[code] for code in self.codes.tolist()]


@dataclass(frozen=True, slots=True)
class KeywordColumn:
    """Required tags: row i requires every token of list i of `tokens`.

    If the list is empty, the row is free. The tokens of a row must be ascending and distinct.

    >>> KeywordColumn("words", RaggedArray.from_rows([["red", "sofa"], []])).to_predicate_texts()
    ["array_contains(words, 'red') AND array_contains(words, 'sofa')", '']
    """

    attribute_name: str
    tokens: RaggedArray

    def __len__(self) -> int:
        return len(self.tokens)

    def to_constraints(self) -> Constraints:
        lengths, values = self.tokens.lengths, self.tokens.values
        rows = np.flatnonzero(lengths)
        empty, false = RaggedArray.empty(len(rows)), np.zeros(len(rows), np.bool_)
        single_tokens = RaggedArray(np.arange(len(values) + 1), values)
        groups = RaggedArray.from_lengths(lengths[rows], np.arange(len(values)))
        states = np.full(len(rows), ValueState.VALUE, np.uint8)
        return Constraints(rows, Tags(states, groups, single_tokens, empty, false, false, empty))

    def to_predicate_texts(self) -> list[str]:
        conditions = [
            f"array_contains({self.attribute_name}, {quote_string(token)})"
            for token in self.tokens.values.tolist()
        ]
        ends = self.tokens.offsets.tolist()
        return [" AND ".join(conditions[start:end]) for start, end in pairwise(ends)]


@dataclass(frozen=True, slots=True)
class BallColumn:
    """Balls: row i admits the vectors whose l2 distance from `centres[i]` is at most `radii[i]`.

    No row is free.

    >>> BallColumn("place", np.float32([[0.1, 0.5]]), np.float32([0.25])).to_predicate_texts()
    ['vector_l2_distance(place, CAST(array(0.1, 0.5) AS ARRAY<FLOAT>)) <= 0.25F']
    """

    attribute_name: str
    centres: NDArray[np.float32]
    radii: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.radii)

    def to_constraints(self) -> Constraints:
        rows = np.arange(len(self))
        balls = Balls(
            np.full(len(self), ValueState.VALUE, np.uint8),
            RaggedArray(np.arange(len(self) + 1), rows),
            np.full(len(self), Metric.L2, np.uint8),
            self.centres,
            np.zeros(len(self), np.int64),
            encode_floats(self.radii),
            np.zeros(len(self), np.bool_),
        )
        return Constraints(rows, balls)

    def to_predicate_texts(self) -> list[str]:
        centres, radii = (
            literal_texts.format_vectors(self.centres),
            literal_texts.format_floats(self.radii),
        )
        return [
            f"vector_l2_distance({self.attribute_name}, {centre}) <= {radius}"
            for centre, radius in zip(centres, radii, strict=True)
        ]
