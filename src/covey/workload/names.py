"""Workloads by name, with the parameters that the papers and the benchmarks use."""

from __future__ import annotations

from collections.abc import Callable

from covey.errors import CoveyError
from covey.workload.alerts import Alerts
from covey.workload.balls import CubeBalls
from covey.workload.boxes import UniformBoxes, ZipfBoxes
from covey.workload.classifieds import Classifieds
from covey.workload.contract import Workload
from covey.workload.skewed import Skewed
from covey.workload.watches import Watches

__all__ = ["by_name", "names"]

_BY_NAME: dict[str, Callable[[int], Workload]] = {
    "uniform-boxes-2": lambda seed: UniformBoxes(d=2, width=0.002, seed=seed),
    "uniform-boxes-4": lambda seed: UniformBoxes(d=4, width=0.1, seed=seed),
    "uniform-boxes-8": lambda seed: UniformBoxes(d=8, width=0.3, seed=seed),
    "zipf-boxes-2": lambda seed: ZipfBoxes(d=2, seed=seed),
    "zipf-boxes-3": lambda seed: ZipfBoxes(d=3, seed=seed),
    "zipf-boxes-4": lambda seed: ZipfBoxes(d=4, seed=seed),
    "uniform-balls-4": lambda seed: CubeBalls("uniform", d=4, seed=seed),
    "uniform-balls-8": lambda seed: CubeBalls("uniform", d=8, seed=seed),
    "pareto-balls-4": lambda seed: CubeBalls("pareto", d=4, seed=seed),
    "pareto-balls-8": lambda seed: CubeBalls("pareto", d=8, seed=seed),
    "alerts": lambda seed: Alerts(seed=seed),
    "skewed": lambda seed: Skewed(seed=seed),
    "classifieds": lambda seed: Classifieds(seed=seed),
    "watches": lambda seed: Watches(seed=seed),
}


def names() -> tuple[str, ...]:
    """All names that `by_name` knows."""
    return tuple(_BY_NAME)


def by_name(name: str, seed: int = 0) -> Workload:
    """The workload of this name.

    >>> by_name("zipf-boxes-2").predicates(0, 1)
    ['x1 BETWEEN 0 AND 3 AND x2 BETWEEN 36 AND 39']
    """
    if name not in _BY_NAME:
        raise CoveyError(f"no workload is called {name!r}; there are {', '.join(names())}")
    return _BY_NAME[name](seed)
