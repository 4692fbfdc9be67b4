"""Balls in the unit cube, and watches on the unit sphere."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from covey.errors import CoveyError
from covey.geometry.balls import Balls
from covey.space import Events
from covey.space.events import VectorColumn
from covey.space.keys import decode_floats
from covey.space.types import FLOAT
from covey.workload import CubeBalls, EmbeddingWatches, Workload

COUNT = 50_000


def balls(workload: Workload, count: int) -> tuple[NDArray[np.float32], NDArray[np.floating]]:
    (column_constraints,) = workload.generate_regions(0, count).constraints.values()
    assert isinstance(column_constraints.batch, Balls)
    return column_constraints.batch.centres, decode_floats(column_constraints.batch.upper, FLOAT)


@pytest.mark.parametrize("d", [4, 20])
def test_uniform_radii_have_uniform_quantiles(d: int) -> None:
    centres, radii = balls(CubeBalls("uniform", dimensions=d, max_radius=0.5), COUNT)
    assert centres.shape == (COUNT, d)
    assert np.quantile(radii, [0, 0.25, 0.5, 1]) == pytest.approx([0, 0.125, 0.25, 0.5], abs=0.005)
    assert np.quantile(centres, [0, 0.5, 1]) == pytest.approx([0, 0.5, 1], abs=0.01)


def test_pareto_radii_are_mostly_small() -> None:
    _, radii = balls(CubeBalls("pareto", max_radius=0.5), COUNT)
    assert (radii.min(), radii.max()) == pytest.approx((0.005, 0.5), rel=0.05)
    assert np.mean(radii < 0.2 * 0.5) > 0.9
    largest = np.sort(radii)[-COUNT // 5 :]
    assert largest.sum() / radii.sum() > 0.55


def test_an_unknown_law_is_refused() -> None:
    with pytest.raises(CoveyError, match=r"'uniform' or 'pareto', got 'normal'"):
        CubeBalls("normal")  # type: ignore[arg-type]


def test_watches_are_unit_vectors_in_clusters() -> None:
    centres, radii = balls(EmbeddingWatches(), 3000)
    assert centres.dtype == np.float32
    assert np.linalg.norm(centres, axis=1) == pytest.approx(1, abs=1e-5)
    assert (radii.min(), radii.max()) == pytest.approx((0.8 * 0.7265, 1.1 * 0.7265), rel=0.01)
    workload = EmbeddingWatches()
    column = Events.from_arrow(workload.generate_events(0, 100), workload.space)["embedding"]
    assert isinstance(column, VectorColumn)
    nearest = np.sort(np.sqrt(np.maximum(0, 2 - 2 * column.matrix @ centres.T)), axis=1)
    assert np.median(nearest[:, 0]) == pytest.approx(0.8, abs=0.05)  # in the same cluster
    assert np.median(nearest) == pytest.approx(np.sqrt(2), abs=0.05)  # in another cluster


def test_balls_have_the_expected_texts() -> None:
    assert CubeBalls("pareto").generate_predicates(0, 1) == [
        "vector_l2_distance(position, CAST(array(0.5330616, 0.7478224, 0.0058998466, 0.34526122) "
        "AS ARRAY<FLOAT>)) <= 0.04416605F"
    ]
