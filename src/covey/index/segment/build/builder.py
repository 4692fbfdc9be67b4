"""How a segment is built from regions: codes, the order of boxes, the tree over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.balls import Balls
from covey.geometry.regions import ConstraintBatch, Constraints
from covey.geometry.scalars import Scalars
from covey.geometry.tags import Tags
from covey.index.kernels.box_partition import find_most_selective
from covey.index.segment.balls.ball_index import BallIndex, is_single_ball
from covey.index.segment.bitmap_tree import MAX_CHILDREN, BitmapTree
from covey.index.segment.build.box_order import compute_chance_below, order_boxes
from covey.index.segment.build.shared_codebooks import SharedCodebooks
from covey.index.segment.codebook import LAST
from covey.index.segment.coded_boxes import CodedBoxes, pack_bits
from covey.index.segment.data import SegmentData
from covey.index.segment.encoded_column import EncodedColumn
from covey.index.segment.query.encoded_query import EncodedQuery, padded_width
from covey.index.segment.query.residuals import ResidualConstraints
from covey.index.segment.token_vocabulary import (
    NO_TOKEN,
    TokenVocabulary,
    compute_token_shares,
    find_required_tokens,
)
from covey.space import Events

__all__ = ["build_segment_data"]

Bools = NDArray[np.bool_]
Codes = NDArray[np.uint16]
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Integers = tuple[Ints, Scalars]
_MAX_FREE_SHARE = 0.5


def build_segment_data(
    regions: Regions, sample: Events | None, shared_codebooks: SharedCodebooks
) -> SegmentData:
    """What a segment of these regions is made of."""
    scalars, tags = _select_kind(regions, Scalars), _select_kind(regions, Tags)
    batches = {name: given.batch for name, given in scalars.items()}
    columns = shared_codebooks.columns_for(len(regions), batches)
    vocabularies = {name: TokenVocabulary.from_tags(given.batch) for name, given in tags.items()}
    integers = [
        (given.rows, column.encode_constraints(given.batch))
        for column, given in zip(columns, scalars.values(), strict=True)
    ]
    codes, inexact_rows = _encode_boxes(len(regions), columns, integers, bool(vocabularies))
    max_codes = np.zeros(codes.shape[1] // 2, np.int64)
    max_codes[: len(columns)] = [2 * len(column.codebook.boundaries) + 3 for column in columns]
    if vocabularies:
        max_codes[len(columns)] = LAST - 2
    seen = None if sample is None else EncodedQuery.from_events(sample, columns, vocabularies).low
    below = compute_chance_below(seen, max_codes)
    ball_rows = _find_ball_rows(regions)
    is_in_tree = np.ones(len(codes), np.bool_)
    for rows in ball_rows.values():
        is_in_tree[rows] = False
    groups, chance = find_most_selective(codes, below)
    if _measure_free_share(codes, len(columns)) <= _MAX_FREE_SHARE:
        groups[:] = 0
    if vocabularies:
        sampled = sample is not None
        chance[~is_in_tree] = 0.0  # no token leads to what is found by a ball
        by_token = _assign_lead_tokens(
            codes, len(columns), tags, vocabularies, chance, below, sampled
        )
        groups[by_token] = len(columns)
    in_tree = np.flatnonzero(is_in_tree)
    within, leaves = order_boxes(codes[in_tree], groups[in_tree], below, MAX_CHILDREN)
    order = np.concatenate([in_tree[within], *ball_rows.values()]).astype(np.int32)
    boxes = _build_boxes(codes[order], order, integers)
    ordinals = np.empty(len(order), np.int64)
    ordinals[order] = np.arange(len(order))
    ball_indexes = _build_ball_indexes(regions, ball_rows, len(in_tree))
    residuals = _build_residuals(
        regions, columns, integers, inexact_rows, vocabularies, ball_rows, ordinals
    )
    exact = _build_exact_bits(len(order), len(in_tree), residuals)
    tree = BitmapTree.build(boxes.codes[: len(in_tree)], leaves)
    return SegmentData(columns, vocabularies, order, boxes, exact, tree, ball_indexes, residuals)


def _select_kind(regions: Regions, kind: type) -> dict[str, Any]:
    return {n: c for n, c in regions.constraints.items() if isinstance(c.batch, kind)}


def _encode_boxes(
    count: int, columns: Sequence[EncodedColumn], integers: Sequence[Integers], has_tokens: bool
) -> tuple[Codes, list[Ints]]:
    """Regions as boxes of codes, and for each column the constraints that codes cannot say."""
    width = padded_width(len(columns) + has_tokens)
    codes = np.zeros((count, 2 * width), np.uint16)
    codes[:, width:] = LAST
    inexact_rows = []
    for k, (column, (rows, batch)) in enumerate(zip(columns, integers, strict=True)):
        codes[rows, k], codes[rows, width + k], said = column.codebook.encode_intervals(batch)
        inexact_rows.append(np.flatnonzero(~said))
    return codes, inexact_rows


def _measure_free_share(codes: Codes, columns: int) -> float:
    """Of all constraints that there could be, how many there are not."""
    lower, upper = np.split(codes, 2, axis=1)
    free = (lower[:, :columns] == 0) & (upper[:, :columns] == LAST)
    return float(free.mean()) if free.size else 1.0


def _assign_lead_tokens(
    codes: Codes, column: int, tags: Mapping[str, Any],
    vocabularies: Mapping[str, TokenVocabulary], chance: Floats, chance_below: Floats,
    has_sample: bool,
) -> Bools:  # fmt: skip
    """Writes the codes of the tokens that regions are found by; gives those regions."""
    width = codes.shape[1] // 2
    codes[:, column], codes[:, width + column] = NO_TOKEN, NO_TOKEN
    led = np.zeros(len(codes), np.bool_)
    for name, given in tags.items():
        vocabulary = vocabularies[name]
        tokens = find_required_tokens(vocabulary.encode_constraints(given.batch))
        owner = given.rows[np.repeat(np.arange(len(tokens)), tokens.lengths)]
        code = vocabulary.codes[tokens.values].astype(np.int64)
        likely = chance_below[column, code + 1] - chance_below[column, code]
        if not has_sample:
            likely = compute_token_shares(tokens.values)
        rarest = np.lexsort((likely, owner))
        first = rarest[np.r_[True, np.diff(owner[rarest]) > 0][: len(rarest)]]
        better = first[likely[first] < chance[owner[first]]]
        rows = owner[better]
        codes[rows, column] = codes[rows, width + column] = code[better]
        chance[rows] = likely[better]
        led[rows] = True
    return led


def _find_ball_rows(regions: Regions) -> dict[str, Ints]:
    """The regions that are found by a ball, by attribute."""
    led: dict[str, Ints] = {}
    taken = np.zeros(len(regions), np.bool_)
    for name, given in _select_kind(regions, Balls).items():
        rows = given.rows[is_single_ball(given.batch)]
        led[name] = rows[~taken[rows]]
        taken[rows] = True
    return {name: rows for name, rows in led.items() if len(rows)}


def _build_ball_indexes(
    regions: Regions, ball_rows: Mapping[str, Ints], first_ordinal: int
) -> tuple[BallIndex, ...]:
    """The regions that are found by a ball, one attribute after another."""
    found = []
    for name, rows in ball_rows.items():
        given = regions.constraints[name]
        batch = given.batch.take(given.locate_rows(rows)[0])
        assert isinstance(batch, Balls)
        found.append(BallIndex.build(name, first_ordinal, batch))
        first_ordinal += len(rows)
    return tuple(found)


def _build_boxes(
    codes: Codes, order: NDArray[np.int32], integers: Sequence[Integers]
) -> CodedBoxes:
    """Boxes in their order, with the ends that their codes do not tell."""
    width = codes.shape[1] // 2
    ends: list[Ints | None] = [None] * codes.shape[1]
    for k, (rows, batch) in enumerate(integers):
        for column, given in ((k, batch.lower), (width + k, batch.upper)):
            keys = np.zeros(len(order), np.int64)
            keys[rows] = given
            ends[column] = keys[order]
    return CodedBoxes.build(codes, ends)


def _build_residuals(
    regions: Regions, columns: Sequence[EncodedColumn], integers: Sequence[Integers],
    inexact_rows: Sequence[Ints], vocabularies: Mapping[str, TokenVocabulary],
    ball_rows: Mapping[str, Ints], ordinals: Ints,
) -> tuple[ResidualConstraints, ...]:  # fmt: skip
    """What boxes cannot say, by the ordinals of boxes."""
    found = []
    for column, (rows, batch), chosen in zip(columns, integers, inexact_rows, strict=True):
        if len(chosen):
            found.append(
                ResidualConstraints(
                    column.name, column, _arrange_by_ordinal(rows, batch, chosen, ordinals)
                )
            )
    for name, given in regions.constraints.items():
        if isinstance(given.batch, Scalars):
            continue
        kept = given.batch
        if isinstance(kept, Tags):
            kept = vocabularies[name].encode_constraints(kept)
        led = ball_rows.get(name, np.empty(0, np.int64))
        chosen = np.flatnonzero(~np.isin(given.rows, led))
        if len(chosen):
            placed = _arrange_by_ordinal(given.rows, kept, chosen, ordinals)
            found.append(ResidualConstraints(name, vocabularies.get(name), placed))
    return tuple(found)


def _arrange_by_ordinal(
    rows: Ints, batch: ConstraintBatch, chosen: Ints, ordinals: Ints
) -> Constraints:
    """Some constraints, by the ordinals of their boxes."""
    at = ordinals[rows[chosen]]
    by_ordinal = np.argsort(at)
    return Constraints(at[by_ordinal], batch.take(chosen[by_ordinal]))


def _build_exact_bits(
    box_count: int, tree_count: int, residuals: Sequence[ResidualConstraints]
) -> NDArray[np.uint64]:
    """A bit for each ordinal: whether its box says all."""
    exact = np.arange(box_count) < tree_count
    for each in residuals:
        exact[each.constraints.rows] = False
    return pack_bits(exact)
