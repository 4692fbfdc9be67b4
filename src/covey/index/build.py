"""How a segment is built from regions: codes, the order of boxes, the tree over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.balls import Balls
from covey.geometry.regions import Batch, Constraints
from covey.geometry.scalars import Scalars
from covey.geometry.tags import Tags
from covey.index.alike import Alike
from covey.index.asked import Asked, padded
from covey.index.boxes import Boxes, bits
from covey.index.codes import LAST
from covey.index.columns import Column
from covey.index.kernels.cuts import narrowest
from covey.index.near import Near, found_by_balls
from covey.index.order import chances, ordered
from covey.index.parts import Parts
from covey.index.rest import Rest
from covey.index.tree import NODE, Tree
from covey.index.vocabulary import NO_TOKEN, Vocabulary, shares, wanted
from covey.space import Events

__all__ = ["parts_of"]

Bools = NDArray[np.bool_]
Codes = NDArray[np.uint16]
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Integers = tuple[Ints, Scalars]
_MOSTLY_FREE = 0.5


def parts_of(regions: Regions, sample: Events | None, alike: Alike) -> Parts:
    """What a segment of these regions is made of."""
    scalars, tags = _of_kind(regions, Scalars), _of_kind(regions, Tags)
    batches = {name: given.batch for name, given in scalars.items()}
    columns = alike.drawn(len(regions), batches)
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
    by_ball = _led_by_balls(regions)
    is_in_tree = np.ones(len(codes), np.bool_)
    for rows in by_ball.values():
        is_in_tree[rows] = False
    groups, chance = narrowest(codes, below)
    if _share_free(codes, len(columns)) <= _MOSTLY_FREE:
        groups[:] = 0
    if vocabularies:
        sampled = sample is not None
        chance[~is_in_tree] = 0.0  # no token leads to what is found by a ball
        by_token = _led_by_tokens(codes, len(columns), tags, vocabularies, chance, below, sampled)
        groups[by_token] = len(columns)
    in_tree = np.flatnonzero(is_in_tree)
    within, leaves = ordered(codes[in_tree], groups[in_tree], below, NODE)
    order = np.concatenate([in_tree[within], *by_ball.values()]).astype(np.int32)
    boxes = _boxes(codes[order], order, integers)
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    near = _near(regions, by_ball, len(in_tree))
    rest = _rest(regions, columns, integers, unsaid, vocabularies, by_ball, places)
    exact = _exact(len(order), len(in_tree), rest)
    tree = Tree.build(boxes.codes[: len(in_tree)], leaves)
    return Parts(columns, vocabularies, order, boxes, exact, tree, near, rest)


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
    vocabularies: Mapping[str, Vocabulary], chance: Floats, below: Floats, sampled: bool,
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
        if not sampled:
            likely = shares(tokens.values)
        rarest = np.lexsort((likely, owner))
        first = rarest[np.r_[True, np.diff(owner[rarest]) > 0][: len(rarest)]]
        better = first[likely[first] < chance[owner[first]]]
        rows = owner[better]
        codes[rows, column] = codes[rows, width + column] = code[better]
        chance[rows] = likely[better]
        led[rows] = True
    return led


def _led_by_balls(regions: Regions) -> dict[str, Ints]:
    """The regions that are found by a ball, by attribute."""
    led: dict[str, Ints] = {}
    taken = np.zeros(len(regions), np.bool_)
    for name, given in _of_kind(regions, Balls).items():
        rows = given.rows[found_by_balls(given.batch)]
        led[name] = rows[~taken[rows]]
        taken[rows] = True
    return {name: rows for name, rows in led.items() if len(rows)}


def _near(regions: Regions, by_ball: Mapping[str, Ints], first: int) -> tuple[Near, ...]:
    """The regions that are found by a ball, one attribute after another."""
    found = []
    for name, rows in by_ball.items():
        given = regions.constraints[name]
        batch = given.batch.take(given.find(rows)[0])
        assert isinstance(batch, Balls)
        found.append(Near.build(name, first, batch))
        first += len(rows)
    return tuple(found)


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
    unsaid: Sequence[Ints], vocabularies: Mapping[str, Vocabulary],
    by_ball: Mapping[str, Ints], places: Ints,
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
        led = by_ball.get(name, np.empty(0, np.int64))
        chosen = np.flatnonzero(~np.isin(given.rows, led))
        if len(chosen):
            placed = _placed(given.rows, kept, chosen, places)
            found.append(Rest(name, vocabularies.get(name), placed))
    return tuple(found)


def _placed(rows: Ints, batch: Batch, chosen: Ints, places: Ints) -> Constraints:
    """Some constraints, by the places of their boxes."""
    at = places[rows[chosen]]
    by_place = np.argsort(at)
    return Constraints(at[by_place], batch.take(chosen[by_place]))


def _exact(count: int, in_tree: int, rest: Sequence[Rest]) -> NDArray[np.uint64]:
    """A bit for each place: whether its box says all."""
    exact = np.arange(count) < in_tree
    for each in rest:
        exact[each.constraints.rows] = False
    return bits(exact)
