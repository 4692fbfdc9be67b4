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

from covey._argument_checks import check_arguments, check_local_path
from covey.errors import InvalidArgumentError
from covey.plan.model.broker_tree import BrokerTree
from covey.plan.model.filters import BrokerFilters
from covey.plan.model.plan import Plan

__all__ = ["SavedPlan"]

_PLAN, _ASSIGNMENT, _FORMAT = "plan.json", "assignment.parquet", 1


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """What a stream needs of a plan.

    `attributes` are the names of an event's coordinates; `received` is what should come to each
    broker, as the plan says: a share of events if it was made from some, else a volume.
    """

    tree: BrokerTree
    filters: BrokerFilters
    attributes: tuple[str, ...]
    bandwidth_by_broker: NDArray[np.float64]
    is_event_share: bool

    @classmethod
    @check_arguments
    def from_plan(cls, plan: Plan, attributes: Sequence[str]) -> SavedPlan:
        """The plan, with a name for each coordinate of events."""
        d = plan.filters.lower.shape[2]
        if len(attributes) != d or len(set(attributes)) != d:
            raise InvalidArgumentError(
                f"{list(attributes)}: {d} different attributes, one a coordinate"
            )
        problem = plan.problem
        return cls(
            problem.tree,
            plan.filters,
            tuple(attributes),
            plan.bandwidth_by_broker,
            problem.event_sample is not None,
        )

    @check_arguments
    def save(self, folder: str | Path, assignment: NDArray[np.int32] | None = None) -> None:
        """Writes it to a folder that is not there yet, with the assignment if that is given."""
        place = Path(folder)
        self.check_free(place)
        try:
            place.mkdir(parents=True)
            if assignment is not None:
                rows = pa.table({"subscriber": np.arange(len(assignment)), "broker": assignment})
                with (place / _ASSIGNMENT).open("wb") as file:  # Arrow may take a path for a URI
                    pq.write_table(rows, file)
            written = place / f"{_PLAN}.new"
            written.write_text(json.dumps(self._to_json(), indent=1))
            os.replace(written, place / _PLAN)
        except OSError as error:
            raise InvalidArgumentError(
                f"a plan cannot be written to {folder}: {error.strerror or error}"
            ) from None

    @staticmethod
    @check_arguments
    def check_free(folder: Path) -> None:
        """Raises if a plan cannot be written to a folder: something is there, or in its way."""
        check_local_path("the folder of a plan", folder)
        above = next(one for one in folder.absolute().parents if one.exists())
        if folder.exists() or not above.is_dir():
            there = folder if folder.exists() else above
            raise InvalidArgumentError(f"there is something at {there}: choose another folder")

    def _to_json(self) -> dict[str, Any]:
        filters = [
            [
                [low.tolist(), high.tolist()]
                for low, high in zip(*self.filters.rectangles_of(b), strict=True)
            ]
            for b in range(len(self.tree))
        ]
        return {
            "format": _FORMAT, "attributes": self.attributes,
            "publisher": self.tree.publisher.tolist(), "brokers": self.tree.brokers.tolist(),
            "parents": self.tree.parents.tolist(), "filters": filters,
            "received": self.bandwidth_by_broker.tolist(), "is_share": self.is_event_share,
        }  # fmt: skip

    @classmethod
    @check_arguments
    def load(cls, folder: str | Path) -> SavedPlan:
        """A plan that was saved."""
        check_local_path("the folder of a plan", folder)
        path = Path(folder) / _PLAN
        try:
            said = json.loads(path.read_text())
            found = said.get("format")
        except (FileNotFoundError, NotADirectoryError):
            raise InvalidArgumentError(
                f"there is no plan at {folder}: `covey plan make` makes it"
            ) from None
        except OSError as error:
            raise InvalidArgumentError(
                f"{path} cannot be read: {error.strerror or error}"
            ) from None
        except (ValueError, AttributeError, RecursionError):
            raise InvalidArgumentError(f"{path} is no plan: it is not JSON of one") from None
        if found != _FORMAT:
            raise InvalidArgumentError(f"{path} is of format {found}: this covey reads {_FORMAT}")
        try:
            return cls._from_json(said)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InvalidArgumentError(f"{path} is no plan: {error!r}") from None

    @classmethod
    def _from_json(cls, document: dict[str, Any]) -> SavedPlan:
        tree = BrokerTree.from_arrays(
            document["publisher"], document["brokers"], parents=document["parents"]
        )
        counts = np.array([len(one) for one in document["filters"]], np.int64)
        lower = np.zeros((len(tree), max(1, int(counts.max())), len(document["attributes"])))
        upper = np.zeros_like(lower)
        for broker, one in enumerate(document["filters"]):
            for number, (low, high) in enumerate(one):
                lower[broker, number], upper[broker, number] = low, high
        return cls(
            tree, BrokerFilters(lower, upper, counts), tuple(document["attributes"]),
            np.array(document["received"]), bool(document["is_share"]),
        )  # fmt: skip
