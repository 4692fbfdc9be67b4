"""Boxes of the uniform, Zipf and skewed workloads."""

from __future__ import annotations

import numpy as np
import pytest

from covey.errors import CoveyError
from covey.geometry import Regions
from covey.geometry.scalars import Scalars
from covey.space import Events
from covey.space.events import ScalarColumn
from covey.space.keys import decode_floats
from covey.space.types import DOUBLE
from covey.workload import SkewedBoxes, UniformBoxes, ZipfBoxes

COUNT = 50_000


def sides(regions: Regions) -> np.ndarray:
    """Return the lower and upper ends of all boxes, with shape (2, attributes, boxes)."""
    batches = [column_constraints.batch for column_constraints in regions.constraints.values()]
    return np.array([[getattr(b, end) for b in batches] for end in ("lower", "upper")])


def test_uniform_boxes_have_uniform_widths_and_centres() -> None:
    lower, upper = decode_floats(
        sides(UniformBoxes(dimensions=3, max_width=0.2).generate_regions(0, COUNT)), DOUBLE
    )
    widths, centres = upper - lower, (upper + lower) / 2
    assert widths.shape == (3, COUNT)
    assert np.quantile(widths, [0, 0.5, 1]) == pytest.approx([0, 0.1, 0.2], abs=0.002)
    assert np.quantile(centres, [0, 0.5, 1]) == pytest.approx([0, 0.5, 1], abs=0.01)


def test_width_and_dimensions_change_the_boxes() -> None:
    narrow = UniformBoxes(dimensions=2, max_width=0.1).generate_predicates(0, 1)
    assert narrow != UniformBoxes(dimensions=2, max_width=0.2).generate_predicates(0, 1)
    with pytest.raises(CoveyError, match="dimensions=0"):
        UniformBoxes(dimensions=0)


def test_zipf_boxes_have_cells_per_side_cells_of_256() -> None:
    lower, upper = sides(ZipfBoxes(dimensions=4, cells_per_side=4).generate_regions(0, COUNT))
    assert (upper - lower == 3).all()
    assert (lower.min(), upper.max()) == (0, 255)
    cells = np.bincount(lower.reshape(-1), minlength=253)
    assert cells[:3] / cells[0] == pytest.approx([1, 1 / 2, 1 / 3], abs=0.02)


def test_a_zipf_exponent_of_zero_is_uniform() -> None:
    lower, _ = sides(ZipfBoxes(dimensions=2, subscription_exponent=0.0).generate_regions(0, COUNT))
    cells = np.bincount(lower.reshape(-1), minlength=253)
    assert cells.max() < 1.3 * cells.mean()


def test_zipf_events_are_uniform_without_an_event_exponent() -> None:
    for exponent, top in ((0.0, 1 / 256), (1.0, 0.163)):
        workload = ZipfBoxes(dimensions=2, event_exponent=exponent)
        events = Events.from_arrow(workload.generate_events(0, COUNT), workload.space)
        cells = [
            column.keys for column in events.columns.values() if isinstance(column, ScalarColumn)
        ]
        assert np.mean(np.array(cells) == 0) == pytest.approx(top, abs=0.003)


def test_skewed_sizes_follow_the_80_20_rule() -> None:
    lower, upper = decode_floats(sides(SkewedBoxes().generate_regions(0, 200_000)), DOUBLE)
    widths = np.sort((upper - lower).mean(axis=0))
    assert widths[-len(widths) // 5 :].sum() / widths.sum() > 0.6
    assert np.median(widths) < 0.002


def test_skewed_events_are_dense_where_subscriptions_are() -> None:
    regions, events = (
        SkewedBoxes().generate_regions(0, COUNT),
        SkewedBoxes().generate_events(0, COUNT),
    )
    batch = regions.constraints["x1"].batch
    assert isinstance(batch, Scalars)
    starts = np.histogram(decode_floats(batch.lower, DOUBLE), bins=40, range=(-0.2, 1.2))[0]
    points = np.histogram(events.column("x1").to_numpy(), bins=40, range=(-0.2, 1.2))[0]
    assert np.corrcoef(starts, points)[0, 1] > 0.95
    assert starts.max() > 3 * starts.mean()


def test_boxes_have_the_expected_texts() -> None:
    assert ZipfBoxes().generate_predicates(0, 2) == [
        "x1 BETWEEN 0 AND 3 AND x2 BETWEEN 36 AND 39",
        "x1 BETWEEN 50 AND 53 AND x2 BETWEEN 97 AND 100",
    ]
    assert UniformBoxes(dimensions=2, max_width=0.002).generate_predicates(0, 1) == [
        "x1 BETWEEN 0.9604164492939963D AND 0.9608734472545147D "
        "AND x2 BETWEEN 0.3817443520623751D AND 0.3834167592725235D"
    ]
