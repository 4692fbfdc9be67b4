"""Which leaves can serve a subscriber, as bits: leaf l is bit l % 64 of word l // 64."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.compiled import kernel

__all__ = ["largest_within", "near", "path_lengths", "within"]

Bits = NDArray[np.uint64]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@kernel
def path_lengths(places: Floats, brokers: Floats, latency: Floats) -> Floats:
    """How far each of some places is from the publisher by way of each leaf."""
    total = np.empty((len(places), len(brokers)))
    for i in range(len(places)):
        for leaf in range(len(brokers)):
            squared = 0.0
            for k in range(places.shape[1]):
                squared += (places[i, k] - brokers[leaf, k]) ** 2
            total[i, leaf] = np.sqrt(squared) + latency[leaf]
    return total


@kernel
def near(total: Floats, factor: float) -> Bits:
    """The leaves by way of which it is at most so many times as far as by the nearest."""
    bits = np.zeros((len(total), (total.shape[1] + 63) // 64), np.uint64)
    for i in range(len(total)):
        limit = factor * total[i].min()
        for leaf in range(total.shape[1]):
            if total[i, leaf] <= limit:
                bits[i, leaf >> 6] |= np.uint64(1) << np.uint64(leaf & 63)
    return bits


@kernel
def within(
    bits: Bits, lower: Floats, upper: Floats, low: Floats, high: Floats, counts: Ints
) -> Bits:
    """Of those leaves the ones of which some rectangle contains the box of the row."""
    found = np.zeros_like(bits)
    for i in range(len(bits)):
        for leaf in range(len(counts)):
            bit = np.uint64(1) << np.uint64(leaf & 63)
            if not bits[i, leaf >> 6] & bit:
                continue
            for rectangle in range(counts[leaf]):
                is_in = True
                for k in range(lower.shape[1]):
                    is_in &= low[leaf, rectangle, k] <= lower[i, k]
                    is_in &= high[leaf, rectangle, k] >= upper[i, k]
                if is_in:
                    found[i, leaf >> 6] |= bit
                    break
    return found


@kernel
def largest_within(bits: Bits, sets: Bits) -> Ints:
    """For each row the first of some sets that has no leaf but those of the row; or -1."""
    found = np.full(len(bits), -1, np.int64)
    for i in range(len(bits)):
        for number in range(len(sets)):
            is_in = True
            for word in range(bits.shape[1]):
                if sets[number, word] & ~bits[i, word]:
                    is_in = False
                    break
            if is_in:
                found[i] = number
                break
    return found
