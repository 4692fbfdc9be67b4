"""Fitted filters for the subscribers of leaves, and for the brokers above the leaves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel
from covey.plan.kernels.box_unions import BandwidthMeasure, covers_box
from covey.plan.kernels.path_widening import FilterState
from covey.plan.kernels.rectangle_fit import fit_rectangles, keep_maximal

__all__ = ["GroupArrays", "TreeArrays", "fit_inner_brokers", "refit_filters"]

Bools = NDArray[np.bool_]
Boxes = NDArray[np.int32]
Ints = NDArray[np.int64]
Numbers = NDArray[np.int32]


class GroupArrays(NamedTuple):
    """Groups of equal subscribers: four fields of `covey.plan.groups.demand_groups.DemandGroups`.

    `box_classes` has a box of cells per row; `leaf_sets` has a set per row and a column per leaf.
    """

    box_classes: Boxes
    leaf_sets: Bools
    class_of_group: Numbers
    leaf_set_of_group: Numbers


class TreeArrays(NamedTuple):
    """Broker tree for kernels.

    Args:
        inner_brokers: the brokers that have brokers below them, each before its parent.
        children: the children of all inner brokers, one broker after another.
        child_starts: the children of `inner_brokers[i]` begin at `child_starts[i]` and end before
            `child_starts[i + 1]`.
        related_leaves: for each leaf the other leaves, sorted by the number of subscribers that
            both may serve, largest first.
    """

    inner_brokers: Ints
    children: Ints
    child_starts: Ints
    related_leaves: Ints


@kernel
def refit_filters(
    class_counts: Ints, is_touched: Bools, state: FilterState, groups: GroupArrays, paths: Ints,
    tree: TreeArrays, measure: BandwidthMeasure, seed: int, scratch: Boxes,
) -> None:  # fmt: skip
    """Fit the filters of touched leaves to their subscribers, then those of the brokers above them.

    The filter of a leaf is replaced only if the fitted one has less bandwidth. For the brokers
    above, see `fit_inner_brokers`.

    Args:
        class_counts: number of subscribers of each box class (column) that each leaf (row) serves.
        is_touched: the leaves whose filters are fitted.
        state: the filters; changed in place.
        groups: the groups of subscribers.
        paths: the path of each leaf.
        tree: the broker tree.
        measure: the bandwidth of boxes.
        seed: the seed of the random orders in which boxes are tried.
        scratch: working memory for five filters.
    """
    is_changed = np.zeros(len(state.box_counts), np.bool_)
    out = np.empty(state.filters.shape[1:], np.int32)
    for leaf in np.flatnonzero(is_touched):
        chosen = np.flatnonzero(class_counts[leaf])
        count = keep_maximal(groups.box_classes, chosen, len(chosen))
        broker = paths[leaf, 0]
        limit = state.bandwidths[broker] * (1 - 1e-12)
        box_count, volume = fit_rectangles(
            groups.box_classes, chosen, count, measure, limit, seed + leaf, out, scratch
        )
        is_changed[broker] = True
        if volume < limit:
            state.filters[broker, :box_count] = out[:box_count]
            state.box_counts[broker], state.bandwidths[broker] = box_count, volume
    fit_inner_brokers(is_changed, state, tree, measure, seed, scratch)


@kernel
def fit_inner_brokers(
    is_changed: Bools,
    state: FilterState,
    tree: TreeArrays,
    measure: BandwidthMeasure,
    seed: int,
    scratch: Boxes,
) -> None:
    """Fit the filters of all brokers above changed ones; `state` is changed in place.

    A filter is replaced if it does not cover the filters below it, or if the fitted one has less
    bandwidth. `is_changed` becomes True for all brokers above changed ones.
    """
    width = state.filters.shape[2]
    for position in range(len(tree.inner_brokers)):
        broker = tree.inner_brokers[position]
        below = tree.children[tree.child_starts[position] : tree.child_starts[position + 1]]
        if not is_changed[below].any():
            continue
        is_changed[broker] = True
        boxes = np.empty((len(below) * state.filters.shape[1], width), np.int32)
        count = 0
        for child in below:
            for i in range(state.box_counts[child]):
                boxes[count] = state.filters[child, i]
                count += 1
        chosen = np.arange(count)
        count = keep_maximal(boxes, chosen, count)
        out = np.empty(state.filters.shape[1:], np.int32)
        limit = state.bandwidths[broker] * (1 - 1e-12)
        for row in chosen[:count]:
            if not covers_box(
                state.filters[broker], state.box_counts[broker], boxes[row], scratch[3]
            ):
                limit = np.inf
                break
        box_count, volume = fit_rectangles(boxes, chosen, count, measure, limit, seed, out, scratch)
        if volume < limit:
            state.filters[broker, :box_count] = out[:box_count]
            state.box_counts[broker], state.bandwidths[broker] = box_count, volume
