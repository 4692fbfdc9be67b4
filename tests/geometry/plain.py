"""Scores in plain Python, one at a time in float32, as the oracle of `covey.geometry.distances`."""

from __future__ import annotations

import numpy as np

from covey.geometry.distances import Metric


def plain_sum(products: list[np.float32]) -> np.float32:
    """Return the sum in Spark's order: blocks of eight, then the other products one by one."""
    total, whole = np.float32(0), len(products) // 8 * 8
    for start in range(0, whole, 8):
        block = products[start]
        for product in products[start + 1 : start + 8]:
            block = np.float32(block + product)
        total = np.float32(total + block)
    for product in products[whole:]:
        total = np.float32(total + product)
    return total


def plain_score(metric: Metric, a: list[float], b: list[float]) -> np.float32 | None:
    """Return one score, or None if it is null."""
    x, y = [np.float32(v) for v in a], [np.float32(v) for v in b]
    with np.errstate(all="ignore"):
        if metric is Metric.L2:
            gaps = [p - q for p, q in zip(x, y, strict=True)]
            return np.float32(np.sqrt(plain_sum([gap * gap for gap in gaps])))
        squares = plain_sum([p * p for p in x]) * plain_sum([q * q for q in y])
        norm = np.sqrt(squares)
        if norm < np.finfo(np.float32).tiny:
            return None
        return np.float32(plain_sum([p * q for p, q in zip(x, y, strict=True)]) / norm)
