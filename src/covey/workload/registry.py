"""Workloads by name, with the parameters that the papers and the benchmarks use."""

from __future__ import annotations

from collections.abc import Callable

from covey.errors import CoveyError
from covey.workload.alerts import Alerts
from covey.workload.balls import CubeBalls
from covey.workload.boxes import UniformBoxes, ZipfBoxes
from covey.workload.classifieds import Classifieds
from covey.workload.embedding_watches import EmbeddingWatches
from covey.workload.protocol import Workload
from covey.workload.skewed_boxes import SkewedBoxes

__all__ = ["create_workload", "list_workloads"]

_FACTORY_BY_NAME: dict[str, Callable[[int], Workload]] = {
    "uniform-boxes-2": lambda seed: UniformBoxes(dimensions=2, max_width=0.002, seed=seed),
    "uniform-boxes-4": lambda seed: UniformBoxes(dimensions=4, max_width=0.1, seed=seed),
    "uniform-boxes-8": lambda seed: UniformBoxes(dimensions=8, max_width=0.3, seed=seed),
    "zipf-boxes-2": lambda seed: ZipfBoxes(dimensions=2, seed=seed),
    "zipf-boxes-3": lambda seed: ZipfBoxes(dimensions=3, seed=seed),
    "zipf-boxes-4": lambda seed: ZipfBoxes(dimensions=4, seed=seed),
    "uniform-balls-4": lambda seed: CubeBalls("uniform", dimensions=4, seed=seed),
    "uniform-balls-8": lambda seed: CubeBalls("uniform", dimensions=8, seed=seed),
    "pareto-balls-4": lambda seed: CubeBalls("pareto", dimensions=4, seed=seed),
    "pareto-balls-8": lambda seed: CubeBalls("pareto", dimensions=8, seed=seed),
    "alerts": lambda seed: Alerts(seed=seed),
    "skewed": lambda seed: SkewedBoxes(seed=seed),
    "classifieds": lambda seed: Classifieds(seed=seed),
    "watches": lambda seed: EmbeddingWatches(seed=seed),
}


def list_workloads() -> tuple[str, ...]:
    """Return the names of all workloads."""
    return tuple(_FACTORY_BY_NAME)


def create_workload(name: str, seed: int = 0) -> Workload:
    """Build the workload with this name; `list_workloads` returns all names.

    `seed` is the seed of all random numbers of the workload.

    Raises:
        CoveyError: if there is no workload with this name.

    >>> create_workload("zipf-boxes-2").generate_predicates(0, 1)
    ['x1 BETWEEN 0 AND 3 AND x2 BETWEEN 36 AND 39']
    """
    if name not in _FACTORY_BY_NAME:
        raise CoveyError(f"unknown workload {name!r}: use one of {', '.join(list_workloads())}")
    return _FACTORY_BY_NAME[name](seed)
