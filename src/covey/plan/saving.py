"""Plans in a folder: brokers and filters in JSON, and who is served where in a table."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from covey.errors import ValueRefused
from covey.plan.filters import Filters
from covey.plan.plan import Plan
from covey.plan.tree import BrokerTree

__all__ = ["SavedPlan"]

_PLAN, _ASSIGNMENT, _FORMAT = "plan.json", "assignment.parquet", 1


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """What a stream needs of a plan.

    `attributes` are the names of an event's coordinates; `received` is what should come to each
    broker, as the plan says: a share of events if it was made from some, else a volume.
    """

    tree: BrokerTree
    filters: Filters
    attributes: tuple[str, ...]
    received: NDArray[np.float64]
    is_share: bool

    @classmethod
    def of(cls, plan: Plan, attributes: Sequence[str]) -> SavedPlan:
        """The plan, with a name for each coordinate of events."""
        d = plan.filters.lower.shape[2]
        if len(attributes) != d or len(set(attributes)) != d:
            raise ValueRefused(f"{list(attributes)}: {d} different attributes, one a coordinate")
        problem = plan.problem
        return cls(
            problem.tree, plan.filters, tuple(attributes), plan.received, problem.events is not None
        )

    def save(self, folder: str | Path, assignment: NDArray[np.int32] | None = None) -> None:
        """Writes it to a folder that is not there yet, with the assignment if that is given."""
        place = Path(folder)
        self.check_free(place)
        place.mkdir(parents=True)
        if assignment is not None:
            rows = pa.table({"subscriber": np.arange(len(assignment)), "broker": assignment})
            pq.write_table(rows, place / _ASSIGNMENT)
        written = place / f"{_PLAN}.new"
        written.write_text(json.dumps(self._said(), indent=1))
        os.replace(written, place / _PLAN)

    @staticmethod
    def check_free(place: Path) -> None:
        """Raises if a plan cannot be written to a folder: something is there, or in its way."""
        above = next(one for one in place.absolute().parents if one.exists())
        if place.exists() or not above.is_dir():
            there = place if place.exists() else above
            raise ValueRefused(f"there is something at {there}: choose another folder")

    def _said(self) -> dict[str, Any]:
        filters = [
            [[low.tolist(), high.tolist()] for low, high in zip(*self.filters.of(b), strict=True)]
            for b in range(len(self.tree))
        ]
        return {
            "format": _FORMAT, "attributes": self.attributes,
            "publisher": self.tree.publisher.tolist(), "brokers": self.tree.brokers.tolist(),
            "parents": self.tree.parents.tolist(), "filters": filters,
            "received": self.received.tolist(), "is_share": self.is_share,
        }  # fmt: skip

    @classmethod
    def load(cls, folder: str | Path) -> SavedPlan:
        """A plan that was saved."""
        path = Path(folder) / _PLAN
        try:
            said = json.loads(path.read_text())
            found = said.get("format")
        except (FileNotFoundError, NotADirectoryError):
            raise ValueRefused(
                f"there is no plan at {folder}: `covey plan make` makes it"
            ) from None
        except (ValueError, AttributeError):
            raise ValueRefused(f"{path} is no plan: it is not JSON of one") from None
        if found != _FORMAT:
            raise ValueRefused(f"{path} is of format {found}: this covey reads {_FORMAT}")
        try:
            return cls._read(said)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise ValueRefused(f"{path} is no plan: {error!r}") from None

    @classmethod
    def _read(cls, said: dict[str, Any]) -> SavedPlan:
        tree = BrokerTree.of(said["publisher"], said["brokers"], said["parents"])
        counts = np.array([len(one) for one in said["filters"]], np.int64)
        lower = np.zeros((len(tree), max(1, int(counts.max())), len(said["attributes"])))
        upper = np.zeros_like(lower)
        for broker, one in enumerate(said["filters"]):
            for number, (low, high) in enumerate(one):
                lower[broker, number], upper[broker, number] = low, high
        return cls(
            tree, Filters(lower, upper, counts), tuple(said["attributes"]),
            np.array(said["received"]), bool(said["is_share"]),
        )  # fmt: skip
