"""File format of plans: a folder with a JSON file of brokers and filters, and the assignment.

The assignment is a Parquet file with the columns `subscriber` and `broker`.
"""

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
    """The part of a plan that a stream needs, as it is saved in a folder.

    Args:
        tree: the brokers.
        filters: the rectangles of each broker.
        attributes: the attribute name of each coordinate of events.
        bandwidth_by_broker: the bandwidth of each broker according to the plan.
        is_event_share: True if bandwidth is a share of sampled events, False if it is a volume.
    """

    tree: BrokerTree
    filters: BrokerFilters
    attributes: tuple[str, ...]
    bandwidth_by_broker: NDArray[np.float64]
    is_event_share: bool

    @classmethod
    @check_arguments
    def from_plan(cls, plan: Plan, attributes: Sequence[str]) -> SavedPlan:
        """Return the savable part of a plan, with an attribute name for each coordinate of events.

        Raises:
            InvalidArgumentError: if there are fewer or more names than coordinates, or a name
                occurs twice.
        """
        d = plan.filters.lower.shape[2]
        if len(attributes) != d or len(set(attributes)) != d:
            raise InvalidArgumentError(
                f"attributes must be {d} different names, one for each coordinate of events, "
                f"got {list(attributes)}"
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
        """Write the plan to a new folder, together with the assignment if one is passed.

        Args:
            folder: a folder that does not exist; its parents are created.
            assignment: the broker of each subscriber; without it `assignment.parquet` is not
                written.

        Raises:
            InvalidArgumentError: if the folder exists or cannot be written.
        """
        directory = Path(folder)
        self.check_free(directory)
        try:
            directory.mkdir(parents=True)
            if assignment is not None:
                table = pa.table({"subscriber": np.arange(len(assignment)), "broker": assignment})
                with (directory / _ASSIGNMENT).open("wb") as file:  # Arrow may read a path as a URI
                    pq.write_table(table, file)
            temporary_file = directory / f"{_PLAN}.new"
            temporary_file.write_text(json.dumps(self._to_json(), indent=1))
            os.replace(temporary_file, directory / _PLAN)
        except OSError as error:
            raise InvalidArgumentError(
                f"the plan cannot be written to {folder} ({error.strerror or error}): choose "
                "another folder"
            ) from None

    @staticmethod
    @check_arguments
    def check_free(folder: Path) -> None:
        """Raise InvalidArgumentError if the folder exists, or a part of its path is a file."""
        check_local_path("the folder of a plan", folder)
        if folder.exists():
            raise InvalidArgumentError(f"{folder} exists already: choose another folder")
        parent = next(ancestor for ancestor in folder.absolute().parents if ancestor.exists())
        if not parent.is_dir():
            raise InvalidArgumentError(
                f"{folder} cannot be created, because {parent} is not a folder: choose another path"
            )

    def _to_json(self) -> dict[str, Any]:
        """Return the content of `plan.json`."""
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
        """Return the plan that was saved in a folder.

        Raises:
            InvalidArgumentError: if the folder has no `plan.json`, or this file cannot be read, has
                an unknown format number, or is damaged.
        """
        check_local_path("the folder of a plan", folder)
        path = Path(folder) / _PLAN
        try:
            document = json.loads(path.read_text())
            file_format = document.get("format")
        except (FileNotFoundError, NotADirectoryError):
            raise InvalidArgumentError(
                f"there is no plan at {folder}: make one with `covey plan make`"
            ) from None
        except OSError as error:
            raise InvalidArgumentError(
                f"{path} cannot be read: {error.strerror or error}"
            ) from None
        except (ValueError, AttributeError, RecursionError):
            raise InvalidArgumentError(
                f"{path} is not a plan, because its content is not a JSON object: make it again "
                "with `covey plan make`"
            ) from None
        if file_format != _FORMAT:
            raise InvalidArgumentError(
                f"{path} has format {file_format}, but this release of covey reads format "
                f"{_FORMAT}: make it again with `covey plan make`"
            )
        try:
            return cls._from_json(document)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InvalidArgumentError(
                f"{path} is not a valid plan ({error!r}): make it again with `covey plan make`"
            ) from None

    @classmethod
    def _from_json(cls, document: dict[str, Any]) -> SavedPlan:
        """Return the plan from the content of `plan.json`.

        Raises KeyError, TypeError, ValueError or IndexError if the content is damaged.
        """
        tree = BrokerTree.from_arrays(
            document["publisher"], document["brokers"], parents=document["parents"]
        )
        counts = np.array([len(rectangles) for rectangles in document["filters"]], np.int64)
        lower = np.zeros((len(tree), max(1, int(counts.max())), len(document["attributes"])))
        upper = np.zeros_like(lower)
        for broker, rectangles in enumerate(document["filters"]):
            for number, (low, high) in enumerate(rectangles):
                lower[broker, number], upper[broker, number] = low, high
        return cls(
            tree, BrokerFilters(lower, upper, counts), tuple(document["attributes"]),
            np.array(document["received"]), bool(document["is_share"]),
        )  # fmt: skip
