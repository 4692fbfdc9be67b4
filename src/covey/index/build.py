"""How a segment is built from regions: codes, the order of boxes, the tree over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.regions import Batch, Constraints
from covey.geometry.scalars import Scalars
from covey.geometry.tags import Tags
from covey.index.asked import Asked, padded
from covey.index.boxes import Boxes, bits
from covey.index.codes import LAST
from covey.index.columns import Column
from covey.index.kernels.cuts import narrowest
from covey.index.order import chances, ordered
from covey.index.rest import Rest
from covey.index.tree import NODE, Tree
from covey.index.vocabulary import NO_TOKEN, Vocabulary, wanted
from covey.space import Events

__all__ = ["parts"]

Bools = NDArray[np.bool_]
Codes = NDArray[np.uint16]
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Integers = tuple[Ints, Scalars]
_MOSTLY_FREE = 0.5


def parts(regions: Regions, sample: Events | None) -> tuple[Any, ...]:
    """What a segment of these regions is made of: its fields but the space, in their order."""
    scalars, tags = _of_kind(regions, Scalars), _of_kind(regions, Tags)
    columns = tuple(Column.of(name, given.batch) for name, given in scalars.items())
    vocabularies = {name: Vocabulary.of(given.batch) for name, given in tags.items()}
    integers = [
        (given.rows, column.integers(given.batch))
        for column, given in zip(columns, scalars.values(), strict=True)
    ]
    codes, unsaid = _coded(len(regions), columns, integers, bool(vocabularies))
    top = np.zeros(codes.shape[1] // 2, np.int64)
    top[: len(columns)] = [2 * len(column.codebook.boundaries) + 3 for column in columns]
    if vocabularies:
        top[len(columns)] = LAST - 2
    seen = None if sample is None else Asked.events(sample, columns, vocabularies).low
    below = chances(seen, top)
    groups, chance = narrowest(codes, below)
    if _share_free(codes, len(columns)) <= _MOSTLY_FREE:
        groups[:] = 0
    if vocabularies:
        by_token = _led_by_tokens(codes, len(columns), tags, vocabularies, chance, below)
        groups[by_token] = len(columns)
    order, leaves = ordered(codes, groups, below, NODE)
    boxes = _boxes(codes[order], order, integers)
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    rest = _rest(regions, columns, integers, unsaid, vocabularies, places)
    exact = _exact(len(order), rest)
    tree = Tree.build(boxes.codes, leaves)
    return columns, vocabularies, order, boxes, exact, tree, rest


def _of_kind(regions: Regions, kind: type) -> dict[str, Any]:
    return {n: c for n, c in regions.constraints.items() if isinstance(c.batch, kind)}


def _coded(
    count: int, columns: Sequence[Column], integers: Sequence[Integers], tokens: bool
) -> tuple[Codes, list[Ints]]:
    """Regions as boxes of codes, and for each column the constraints that codes cannot say."""
    width = padded(len(columns) + tokens)
    codes = np.zeros((count, 2 * width), np.uint16)
    codes[:, width:] = LAST
    unsaid = []
    for k, (column, (rows, batch)) in enumerate(zip(columns, integers, strict=True)):
        codes[rows, k], codes[rows, width + k], said = column.codebook.intervals(batch)
        unsaid.append(np.flatnonzero(~said))
    return codes, unsaid


def _share_free(codes: Codes, columns: int) -> float:
    """Of all constraints that there could be, how many there are not."""
    lower, upper = np.split(codes, 2, axis=1)
    free = (lower[:, :columns] == 0) & (upper[:, :columns] == LAST)
    return float(free.mean()) if free.size else 1.0


def _led_by_tokens(
    codes: Codes, column: int, tags: Mapping[str, Any],
    vocabularies: Mapping[str, Vocabulary], chance: Floats, below: Floats,
) -> Bools:  # fmt: skip
    """Writes the codes of the tokens that regions are found by; gives those regions."""
    width = codes.shape[1] // 2
    codes[:, column], codes[:, width + column] = NO_TOKEN, NO_TOKEN
    led = np.zeros(len(codes), np.bool_)
    for name, given in tags.items():
        vocabulary = vocabularies[name]
        tokens = wanted(vocabulary.numbered(given.batch))
        owner = given.rows[np.repeat(np.arange(len(tokens)), tokens.lengths)]
        code = vocabulary.codes[tokens.values].astype(np.int64)
        likely = below[column, code + 1] - below[column, code]
        rarest = np.lexsort((likely, owner))
        first = rarest[np.r_[True, np.diff(owner[rarest]) > 0][: len(rarest)]]
        better = first[likely[first] < chance[owner[first]]]
        rows = owner[better]
        codes[rows, column] = codes[rows, width + column] = code[better]
        chance[rows] = likely[better]
        led[rows] = True
    return led


def _boxes(codes: Codes, order: NDArray[np.int32], integers: Sequence[Integers]) -> Boxes:
    """Boxes in their order, with the ends that their codes do not tell."""
    width = codes.shape[1] // 2
    ends: list[Ints | None] = [None] * codes.shape[1]
    for k, (rows, batch) in enumerate(integers):
        for column, given in ((k, batch.lower), (width + k, batch.upper)):
            keys = np.zeros(len(order), np.int64)
            keys[rows] = given
            ends[column] = keys[order]
    return Boxes.build(codes, ends)


def _rest(
    regions: Regions, columns: Sequence[Column], integers: Sequence[Integers],
    unsaid: Sequence[Ints], vocabularies: Mapping[str, Vocabulary], places: Ints,
) -> tuple[Rest, ...]:  # fmt: skip
    """What boxes cannot say, by the places of boxes."""
    found = []
    for column, (rows, batch), chosen in zip(columns, integers, unsaid, strict=True):
        if len(chosen):
            found.append(Rest(column.name, column, _placed(rows, batch, chosen, places)))
    for name, given in regions.constraints.items():
        if isinstance(given.batch, Scalars):
            continue
        kept = given.batch
        if isinstance(kept, Tags):
            kept = vocabularies[name].numbered(kept)
        placed = _placed(given.rows, kept, np.arange(len(given.rows)), places)
        found.append(Rest(name, vocabularies.get(name), placed))
    return tuple(found)


def _placed(rows: Ints, batch: Batch, chosen: Ints, places: Ints) -> Constraints:
    """Some constraints, by the places of their boxes."""
    at = places[rows[chosen]]
    by_place = np.argsort(at)
    return Constraints(at[by_place], batch.take(chosen[by_place]))


def _exact(count: int, rest: Sequence[Rest]) -> NDArray[np.uint64]:
    """A bit for each place: whether its box says all."""
    exact = np.ones(count, np.bool_)
    for each in rest:
        exact[each.constraints.rows] = False
    return bits(exact)
