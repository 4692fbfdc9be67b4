"""Builder of a segment: regions as boxes of codes, their order, and the tree over them."""

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
from covey.index.segment.coded_boxes import CodedBoxes, pack_bits
from covey.index.segment.data import SegmentData, without_late
from covey.index.segment.encoded_column import LAST, EncodedColumn
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
"""Rows of regions, and their constraints on one attribute, with integers instead of keys."""
_MAX_FREE_SHARE = 0.5  # share of unbounded intervals beyond which boxes are grouped by attribute


def build_segment_data(
    regions: Regions, sample: Events | None, shared_codebooks: SharedCodebooks
) -> SegmentData:
    """Build all arrays of a segment from regions, with an optional sample of events."""
    scalars, tags = _select_kind(regions, Scalars), _select_kind(regions, Tags)
    batches = {name: constraints.batch for name, constraints in scalars.items()}
    columns = shared_codebooks.columns_for(len(regions), batches)
    vocabularies = {
        name: TokenVocabulary.from_tags(constraints.batch) for name, constraints in tags.items()
    }
    integers = [
        (constraints.rows, column.encode_constraints(constraints.batch))
        for column, constraints in zip(columns, scalars.values(), strict=True)
    ]
    # Spark evaluates late conditions, so the tree cannot find regions by them.
    lead_vocabularies = without_late(vocabularies)
    codes, inexact_rows = _encode_boxes(len(regions), columns, integers, bool(lead_vocabularies))
    max_codes = np.zeros(codes.shape[1] // 2, np.int64)
    max_codes[: len(columns)] = [2 * len(column.codebook.boundaries) + 3 for column in columns]
    if lead_vocabularies:
        max_codes[len(columns)] = LAST - 2
    sample_codes = (
        None if sample is None else EncodedQuery.from_events(sample, columns, lead_vocabularies).low
    )
    chance_below = compute_chance_below(sample_codes, max_codes)
    ball_rows = _find_ball_rows(regions)
    is_in_tree = np.ones(len(codes), np.bool_)
    for rows in ball_rows.values():
        is_in_tree[rows] = False
    groups, chance = find_most_selective(codes, chance_below)
    if _measure_free_share(codes, len(columns)) <= _MAX_FREE_SHARE:
        groups[:] = 0
    if lead_vocabularies:
        has_sample = sample is not None
        chance[~is_in_tree] = 0.0  # regions that are found by a ball have no lead token
        has_lead_token = _assign_lead_tokens(
            codes, len(columns), tags, lead_vocabularies, chance, chance_below, has_sample
        )
        groups[has_lead_token] = len(columns)
    in_tree = np.flatnonzero(is_in_tree)
    tree_order, leaves = order_boxes(codes[in_tree], groups[in_tree], chance_below, MAX_CHILDREN)
    order = np.concatenate([in_tree[tree_order], *ball_rows.values()]).astype(np.int32)
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
    """Return, by attribute, the constraints whose batch is an instance of `kind`."""
    return {n: c for n, c in regions.constraints.items() if isinstance(c.batch, kind)}


def _encode_boxes(
    count: int, columns: Sequence[EncodedColumn], integers: Sequence[Integers], has_tokens: bool
) -> tuple[Codes, list[Ints]]:
    """Return regions as boxes of codes, and for each column the constraints that are not exact.

    These are returned as rows of the batch of the column; see `Codebook.encode_intervals`.
    """
    width = padded_width(len(columns) + has_tokens)
    codes = np.zeros((count, 2 * width), np.uint16)
    codes[:, width:] = LAST
    inexact_rows = []
    for k, (column, (rows, batch)) in enumerate(zip(columns, integers, strict=True)):
        codes[rows, k], codes[rows, width + k], is_exact = column.codebook.encode_intervals(batch)
        inexact_rows.append(np.flatnonzero(~is_exact))
    return codes, inexact_rows


def _measure_free_share(codes: Codes, columns: int) -> float:
    """Return the share of unbounded intervals among all pairs of a region and an attribute."""
    lower, upper = np.split(codes, 2, axis=1)
    is_free = (lower[:, :columns] == 0) & (upper[:, :columns] == LAST)
    return float(is_free.mean()) if is_free.size else 1.0


def _assign_lead_tokens(
    codes: Codes, column: int, tags: Mapping[str, Any],
    vocabularies: Mapping[str, TokenVocabulary], chance: Floats, chance_below: Floats,
    has_sample: bool,
) -> Bools:  # fmt: skip
    """Write the codes of lead tokens to `column`, and return for each region whether it has one.

    The lead token of a region is the rarest token that it requires, by which the tree finds the
    region. A region has one only if an event is less likely to have this token than to be within
    the region on its most selective attribute. `chance` has the probability of being within each
    region on that attribute; for a region with a lead token, the probability of the token replaces
    it.
    """
    width = codes.shape[1] // 2
    codes[:, column], codes[:, width + column] = NO_TOKEN, NO_TOKEN
    has_lead_token = np.zeros(len(codes), np.bool_)
    for name, vocabulary in vocabularies.items():
        constraints = tags[name]
        tokens = find_required_tokens(vocabulary.encode_constraints(constraints.batch))
        token_rows = constraints.rows[np.repeat(np.arange(len(tokens)), tokens.lengths)]
        token_codes = vocabulary.codes[tokens.values].astype(np.int64)
        shares = chance_below[column, token_codes + 1] - chance_below[column, token_codes]
        if not has_sample:
            shares = compute_token_shares(tokens.values)
        order = np.lexsort((shares, token_rows))
        rarest = order[np.r_[True, np.diff(token_rows[order]) > 0][: len(order)]]
        better = rarest[shares[rarest] < chance[token_rows[rarest]]]
        rows = token_rows[better]
        codes[rows, column] = codes[rows, width + column] = token_codes[better]
        chance[rows] = shares[better]
        has_lead_token[rows] = True
    return has_lead_token


def _find_ball_rows(regions: Regions) -> dict[str, Ints]:
    """Return by attribute the rows of the regions that are found by a ball on this attribute.

    A region with single balls on several attributes is found by the first of them.
    """
    rows_by_attribute: dict[str, Ints] = {}
    is_assigned = np.zeros(len(regions), np.bool_)
    for name, constraints in _select_kind(regions, Balls).items():
        rows = constraints.rows[is_single_ball(constraints.batch)]
        rows_by_attribute[name] = rows[~is_assigned[rows]]
        is_assigned[rows] = True
    return {name: rows for name, rows in rows_by_attribute.items() if len(rows)}


def _build_ball_indexes(
    regions: Regions, ball_rows: Mapping[str, Ints], first_ordinal: int
) -> tuple[BallIndex, ...]:
    """Build an index of balls for each attribute; the first ordinal is `first_ordinal`."""
    ball_indexes = []
    for name, rows in ball_rows.items():
        constraints = regions.constraints[name]
        batch = constraints.batch.take(constraints.locate_rows(rows)[0])
        assert isinstance(batch, Balls)
        ball_indexes.append(BallIndex.build(name, first_ordinal, batch))
        first_ordinal += len(rows)
    return tuple(ball_indexes)


def _build_boxes(
    codes: Codes, order: NDArray[np.int32], integers: Sequence[Integers]
) -> CodedBoxes:
    """Return boxes with codes and with the ends that codes do not determine.

    `codes` are in the order of the boxes; `order` has the row of the region of each box.
    """
    width = codes.shape[1] // 2
    ends: list[Ints | None] = [None] * codes.shape[1]
    for k, (rows, batch) in enumerate(integers):
        for column, interval_ends in ((k, batch.lower), (width + k, batch.upper)):
            keys = np.zeros(len(order), np.int64)
            keys[rows] = interval_ends
            ends[column] = keys[order]
    return CodedBoxes.build(codes, ends)


def _build_residuals(
    regions: Regions, columns: Sequence[EncodedColumn], integers: Sequence[Integers],
    inexact_rows: Sequence[Ints], vocabularies: Mapping[str, TokenVocabulary],
    ball_rows: Mapping[str, Ints], ordinals: Ints,
) -> tuple[ResidualConstraints, ...]:  # fmt: skip
    """Return the residual constraints of each attribute, sorted by ordinal."""
    residuals = []
    for column, (rows, batch), chosen in zip(columns, integers, inexact_rows, strict=True):
        if len(chosen):
            residuals.append(
                ResidualConstraints(
                    column.name, column, _arrange_by_ordinal(rows, batch, chosen, ordinals)
                )
            )
    for name, constraints in regions.constraints.items():
        if isinstance(constraints.batch, Scalars):
            continue
        encoded_batch = constraints.batch
        if isinstance(encoded_batch, Tags):
            encoded_batch = vocabularies[name].encode_constraints(encoded_batch)
        ball_found_rows = ball_rows.get(name, np.empty(0, np.int64))
        chosen = np.flatnonzero(~np.isin(constraints.rows, ball_found_rows))
        if len(chosen):
            by_ordinal = _arrange_by_ordinal(constraints.rows, encoded_batch, chosen, ordinals)
            residuals.append(ResidualConstraints(name, vocabularies.get(name), by_ordinal))
    return tuple(residuals)


def _arrange_by_ordinal(
    rows: Ints, batch: ConstraintBatch, chosen: Ints, ordinals: Ints
) -> Constraints:
    """Return the constraints at the rows `chosen` of a batch, sorted by ordinal."""
    chosen_ordinals = ordinals[rows[chosen]]
    by_ordinal = np.argsort(chosen_ordinals)
    return Constraints(chosen_ordinals[by_ordinal], batch.take(chosen[by_ordinal]))


def _build_exact_bits(
    box_count: int, tree_count: int, residuals: Sequence[ResidualConstraints]
) -> NDArray[np.uint64]:
    """Return one bit per ordinal, set if the tree finds the region and its box is exact.

    The box is not exact if the region has a residual constraint.
    """
    is_exact = np.arange(box_count) < tree_count
    for residual in residuals:
        is_exact[residual.constraints.rows] = False
    return pack_bits(is_exact)
