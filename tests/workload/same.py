"""Comparison of two batches of regions, array by array."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from covey.geometry import Regions


def assert_same_regions(one: Regions, other: Regions) -> None:
    assert len(one) == len(other)
    assert sorted(one.constraints) == sorted(other.constraints)
    for name in one.constraints:
        _assert_same(one.constraints[name], other.constraints[name], name)


def _assert_same(one: Any, other: Any, where: str) -> None:
    assert type(one) is type(other), where
    if isinstance(one, np.ndarray):
        assert one.shape == other.shape, where
        assert np.array_equal(one, other), where
    elif is_dataclass(one):
        for part in fields(one):
            _assert_same(getattr(one, part.name), getattr(other, part.name), f"{where}.{part.name}")
    else:
        assert one == other, where
