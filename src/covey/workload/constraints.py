"""Constraints as generators draw them: the same rows as columns and as Spark SQL.

A workload says once what it drew for each attribute; regions and predicates both come from that, so
that they mean the same. A row may leave an attribute free; it then has no constraint and no text.

Cost: columns are built from columns, without a Python object per row.
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


class ConstraintColumn(Protocol):
    """What was drawn for one attribute, a row a subscription."""

    @property
    def attribute_name(self) -> str:
        """The attribute."""
        ...

    def __len__(self) -> int: ...

    def to_constraints(self) -> Constraints:
        """The rows that are not free, in their one spelling."""
        ...

    def to_predicate_texts(self) -> list[str]:
        """Every row as Spark SQL, a free one as nothing."""
        ...


def build_regions(space: Space, blocks: Iterable[Sequence[ConstraintColumn]]) -> Regions:
    """All rows of all parts; a part is what was drawn for each attribute."""
    return Regions.concat([_build_block_regions(space, part) for part in blocks])


def write_predicates(blocks: Iterable[Sequence[ConstraintColumn]]) -> list[str]:
    """The same rows as conjunctions; a row that is free in all attributes is `true`."""
    return [
        " AND ".join(filter(None, texts)) or "true"
        for part in blocks
        for texts in zip(*(attribute.to_predicate_texts() for attribute in part), strict=True)
    ]


def _build_block_regions(space: Space, block: Sequence[ConstraintColumn]) -> Regions:
    constraints = {attribute.attribute_name: attribute.to_constraints() for attribute in block}
    constrained = {name: given for name, given in constraints.items() if len(given.rows)}
    return Regions(space, len(block[0]), constrained)


@dataclass(frozen=True, slots=True)
class IntervalColumn:
    """Numbers between two keys, both included; the first and last key of the type are no ends.

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
            written = (literal_texts.format_scalars(end[rows], self.type) for end in ends)
            for row, *values in zip(np.flatnonzero(rows).tolist(), *written, strict=True):
                texts[row] = form.format(self.attribute_name, *values)

        write(has_lower & has_upper, "{} BETWEEN {} AND {}", self.lower, self.upper)
        write(has_lower & ~has_upper, "{} >= {}", self.lower)
        write(~has_lower & has_upper, "{} <= {}", self.upper)
        return texts


def make_double_intervals(
    attribute_name: str, lower: NDArray[np.float64], upper: NDArray[np.float64]
) -> IntervalColumn:
    """Intervals of doubles; -inf is no lower end, NaN (which Spark sorts last) no upper one."""
    return IntervalColumn(attribute_name, DOUBLE, encode_floats(lower), encode_floats(upper))


@dataclass(frozen=True, slots=True)
class EqualityColumn:
    """One text: row i is `values[codes[i]]`, or free at code -1.

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
        chosen = zip(self.values[self.codes].tolist(), self.codes.tolist(), strict=True)
        return [
            "" if code == UNCONSTRAINED else f"{self.attribute_name} = {quote_string(value)}"
            for value, code in chosen
        ]


@dataclass(frozen=True, slots=True)
class ChoiceColumn:
    """One of a few texts: row i is among `choices[codes[i]]`, or free at code -1.

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
        every = Scalars.build_unconstrained(key_domain(STRING), len(self.choices))
        listed = np.full(len(self.choices), ONLY, np.int8)
        each = Scalars.from_intervals(
            every.domain,
            every.lower,
            every.upper,
            nulls=False,
            list_modes=listed,
            lists=RaggedArray.from_rows(self.choices),
        )
        return Constraints(rows, each.take(self.codes[rows]))

    def to_predicate_texts(self) -> list[str]:
        each = [
            f"{self.attribute_name} IN ({', '.join(map(quote_string, choice))})"
            for choice in self.choices
        ]
        each.append("")  # at -1
        return [each[code] for code in self.codes.tolist()]


@dataclass(frozen=True, slots=True)
class KeywordColumn:
    """Tags that have every given token: row i has those of its row, in order and each once.

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
        nothing, no = RaggedArray.empty(len(rows)), np.zeros(len(rows), np.bool_)
        each = RaggedArray(np.arange(len(values) + 1), values)
        groups = RaggedArray.from_lengths(lengths[rows], np.arange(len(values)))
        states = np.full(len(rows), ValueState.VALUE, np.uint8)
        return Constraints(rows, Tags(states, groups, each, nothing, no, no, nothing))

    def to_predicate_texts(self) -> list[str]:
        each = [
            f"array_contains({self.attribute_name}, {quote_string(token)})"
            for token in self.tokens.values.tolist()
        ]
        ends = self.tokens.offsets.tolist()
        return [" AND ".join(each[a:b]) for a, b in pairwise(ends)]


@dataclass(frozen=True, slots=True)
class BallColumn:
    """Vectors within `radii[i]` of `centres[i]` (l2); no row is free.

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
