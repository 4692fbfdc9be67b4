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
from covey.language.spell import quote
from covey.space import Space, Type
from covey.space.events import State
from covey.space.keys import domain, float_key
from covey.space.ragged import Ragged
from covey.space.types import DOUBLE, STRING
from covey.workload import literals

__all__ = [
    "FREE",
    "Drawn",
    "Equal",
    "Intervals",
    "Keywords",
    "Nearby",
    "OneOf",
    "doubles",
    "predicates",
    "regions",
]

FREE = -1


class Drawn(Protocol):
    """What was drawn for one attribute, a row a subscription."""

    @property
    def name(self) -> str:
        """The attribute."""
        ...

    def __len__(self) -> int: ...

    def constraints(self) -> Constraints:
        """The rows that are not free, in their one spelling."""
        ...

    def texts(self) -> list[str]:
        """Every row as Spark SQL, a free one as nothing."""
        ...


def regions(space: Space, parts: Iterable[Sequence[Drawn]]) -> Regions:
    """All rows of all parts; a part is what was drawn for each attribute."""
    return Regions.concat([_regions(space, part) for part in parts])


def predicates(parts: Iterable[Sequence[Drawn]]) -> list[str]:
    """The same rows as conjunctions; a row that is free in all attributes is `true`."""
    return [
        " AND ".join(filter(None, texts)) or "true"
        for part in parts
        for texts in zip(*(attribute.texts() for attribute in part), strict=True)
    ]


def _regions(space: Space, part: Sequence[Drawn]) -> Regions:
    constraints = {attribute.name: attribute.constraints() for attribute in part}
    constrained = {name: given for name, given in constraints.items() if len(given.rows)}
    return Regions(space, len(part[0]), constrained)


@dataclass(frozen=True, slots=True)
class Intervals:
    """Numbers between two keys, both included; the first and last key of the type are no ends.

    >>> from covey.space.types import INT
    >>> whole = domain(INT)
    >>> Intervals("age", INT, np.array([18, 65]), np.array([30, whole.high])).texts()
    ['age BETWEEN 18 AND 30', 'age >= 65']
    """

    name: str
    type: Type
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.lower)

    def constraints(self) -> Constraints:
        whole = domain(self.type)
        rows = np.flatnonzero((self.lower != whole.low) | (self.upper != whole.high))
        return Constraints(rows, Scalars.of(whole, self.lower[rows], self.upper[rows]))

    def texts(self) -> list[str]:
        whole, texts = domain(self.type), [""] * len(self)
        has_lower, has_upper = self.lower != whole.low, self.upper != whole.high

        def write(rows: NDArray[np.bool_], form: str, *ends: NDArray[np.int64]) -> None:
            written = (literals.scalar_texts(end[rows], self.type) for end in ends)
            for row, *values in zip(np.flatnonzero(rows).tolist(), *written, strict=True):
                texts[row] = form.format(self.name, *values)

        write(has_lower & has_upper, "{} BETWEEN {} AND {}", self.lower, self.upper)
        write(has_lower & ~has_upper, "{} >= {}", self.lower)
        write(~has_lower & has_upper, "{} <= {}", self.upper)
        return texts


def doubles(name: str, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> Intervals:
    """Intervals of doubles; -inf is no lower end, NaN (which Spark sorts last) no upper one."""
    return Intervals(name, DOUBLE, float_key(lower), float_key(upper))


@dataclass(frozen=True, slots=True)
class Equal:
    """One text: row i is `values[codes[i]]`, or free at code -1.

    >>> Equal("city", np.array(["Oslo"], object), np.array([0, FREE])).texts()
    ["city = 'Oslo'", '']
    """

    name: str
    values: NDArray[np.object_]
    codes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.codes)

    def constraints(self) -> Constraints:
        rows = np.flatnonzero(self.codes != FREE)
        keys = self.values[self.codes[rows]]
        return Constraints(rows, Scalars.of(domain(STRING), keys, keys))

    def texts(self) -> list[str]:
        chosen = zip(self.values[self.codes].tolist(), self.codes.tolist(), strict=True)
        return ["" if code == FREE else f"{self.name} = {quote(value)}" for value, code in chosen]


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of a few texts: row i is among `choices[codes[i]]`, or free at code -1.

    >>> OneOf("colour", (("red",), ("blue", "green")), np.array([1, FREE])).texts()
    ["colour IN ('blue', 'green')", '']
    """

    name: str
    choices: tuple[tuple[str, ...], ...]
    codes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.codes)

    def constraints(self) -> Constraints:
        rows = np.flatnonzero(self.codes != FREE)
        every = Scalars.everything(domain(STRING), len(self.choices))
        listed = np.full(len(self.choices), ONLY, np.int8)
        each = Scalars.of(
            every.domain, every.lower, every.upper, False, listed, Ragged.of(self.choices)
        )
        return Constraints(rows, each.take(self.codes[rows]))

    def texts(self) -> list[str]:
        each = [f"{self.name} IN ({', '.join(map(quote, choice))})" for choice in self.choices]
        each.append("")  # at -1
        return [each[code] for code in self.codes.tolist()]


@dataclass(frozen=True, slots=True)
class Keywords:
    """Tags that have every given token: row i has those of its row, in order and each once.

    >>> Keywords("words", Ragged.of([["red", "sofa"], []])).texts()
    ["array_contains(words, 'red') AND array_contains(words, 'sofa')", '']
    """

    name: str
    tokens: Ragged

    def __len__(self) -> int:
        return len(self.tokens)

    def constraints(self) -> Constraints:
        lengths, values = self.tokens.lengths, self.tokens.values
        rows = np.flatnonzero(lengths)
        nothing, no = Ragged.empty(len(rows)), np.zeros(len(rows), np.bool_)
        each = Ragged(np.arange(len(values) + 1), values)
        groups = Ragged.from_lengths(lengths[rows], np.arange(len(values)))
        states = np.full(len(rows), State.VALUE, np.uint8)
        return Constraints(rows, Tags(states, groups, each, nothing, no, no, nothing))

    def texts(self) -> list[str]:
        each = [
            f"array_contains({self.name}, {quote(token)})" for token in self.tokens.values.tolist()
        ]
        ends = self.tokens.offsets.tolist()
        return [" AND ".join(each[a:b]) for a, b in pairwise(ends)]


@dataclass(frozen=True, slots=True)
class Nearby:
    """Vectors within `radii[i]` of `centres[i]` (l2); no row is free.

    >>> Nearby("place", np.float32([[0.1, 0.5]]), np.float32([0.25])).texts()
    ['vector_l2_distance(place, CAST(array(0.1, 0.5) AS ARRAY<FLOAT>)) <= 0.25F']
    """

    name: str
    centres: NDArray[np.float32]
    radii: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.radii)

    def constraints(self) -> Constraints:
        rows = np.arange(len(self))
        balls = Balls(
            np.full(len(self), State.VALUE, np.uint8),
            Ragged(np.arange(len(self) + 1), rows),
            np.full(len(self), Metric.L2, np.uint8),
            self.centres,
            np.zeros(len(self), np.int64),
            float_key(self.radii),
            np.zeros(len(self), np.bool_),
        )
        return Constraints(rows, balls)

    def texts(self) -> list[str]:
        centres, radii = literals.vector_texts(self.centres), literals.float_texts(self.radii)
        return [
            f"vector_l2_distance({self.name}, {centre}) <= {radius}"
            for centre, radius in zip(centres, radii, strict=True)
        ]
