"""One batch of changes: subscriptions that are added or replaced, and ids that are removed."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey._argument_checks import as_numeric_array, check_arguments, format_value
from covey.errors import InvalidArgumentError, SchemaError
from covey.geometry import Regions
from covey.language import Predicates
from covey.space import Space
from covey.store.ids import IdKind, Ids
from covey.store.segments.segment import SubscriptionBatch

__all__ = ["Changes", "check_same_space", "check_subscription_rows"]

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Changes:
    """What one new version changes; an id occurs at most once in all of it.

    `regions` row r belongs to `ids[subscription_rows[r]]`. An id that the store has is replaced;
    removing one that it does not have is no error. An id without a region is a subscription that
    never matches. `ids` and `removed_ids` are Arrow arrays, or what `pa.array_type` takes.
    `revisions` has an int64 for each of `ids`, 0 where none is given; the store keeps it with the
    subscription and compares it with nothing.

    >>> import pyarrow as pa
    >>> from covey import parse
    >>> space = Space.from_types({"price": pa.float64()})
    >>> predicates = parse(space, ["price > 5", "price IN (1, 2)"])
    >>> changes = Changes.upsert([7, 8], predicates, removed_ids=[3])
    """

    ids: object
    regions: Regions | None
    subscription_rows: Rows
    removed_ids: object = ()
    revisions: object = None

    @classmethod
    @check_arguments
    def upsert(
        cls,
        ids: Sized,
        predicates: Predicates,
        *,
        removed_ids: object = (),
        revisions: object = None,
    ) -> Changes:
        """Subscription `ids[i]` becomes the i-th predicate; refuses what could not be read."""
        for row in sorted(predicates.rejected):
            raise predicates.rejected[row]
        if not hasattr(ids, "__len__") or len(ids) != len(predicates):
            many = len(ids) if hasattr(ids, "__len__") else format_value(ids)
            raise InvalidArgumentError(
                f"{many} ids for {len(predicates)} predicates: give a list with an id for each"
            )
        return cls(ids, predicates.regions, predicates.predicate_rows, removed_ids, revisions)

    @classmethod
    def remove(cls, ids: object) -> Changes:
        """These ids are removed, nothing is added."""
        return cls([], None, np.empty(0, np.int64), ids)

    def validate(self, space: Space, id_kind: IdKind) -> tuple[SubscriptionBatch | None, Ids]:
        """What is added (None if nothing), and the removed ids, if they fit a store."""
        ids, removed = (
            Ids.from_values(self.ids, id_kind),
            Ids.from_values(self.removed_ids, id_kind),
        )
        if (twice := Ids.concat([ids, removed]).first_duplicate()) is not None:
            raise InvalidArgumentError(
                f"id {twice!r} is in one batch twice: give its last change only"
            )
        revisions = _validate_revisions(self.revisions, len(ids))
        if not len(ids):
            return None, removed
        regions = Regions(space, 0, {}) if self.regions is None else self.regions
        if not isinstance(regions, Regions):
            raise InvalidArgumentError(
                f"regions must be of type Regions, got {format_value(regions)}"
            )
        check_same_space(regions.space, space, "store")
        of = as_numeric_array("subscription_rows", self.subscription_rows, np.int64)
        check_subscription_rows(of, len(regions), len(ids))
        return SubscriptionBatch(ids, regions, of, revisions), removed


def check_same_space(space: Space, expected: Space, holder: str) -> None:
    """Refuses regions of a space with other columns or settings."""
    if space.columns != expected.columns or not space.settings.agrees_with(expected.settings):
        raise SchemaError(
            f"the regions are of another space than the {holder}: parse predicates in "
            f"`{holder}.space`"
        )


def check_subscription_rows(
    subscription_rows: NDArray[np.int64], region_count: int, id_count: int
) -> None:
    """Refuses numbers of owners that are not one for each region, or of no id."""
    if (
        subscription_rows.shape != (region_count,)
        or not ((subscription_rows >= 0) & (subscription_rows < id_count)).all()
    ):
        raise InvalidArgumentError(
            f"`subscription_rows` must name one of {id_count} ids for each of {region_count} "
            "regions"
        )


def _validate_revisions(values: Any, id_count: int) -> Rows:
    """Revisions that are one int64 for each id; 0 if none are given."""
    if values is None:
        return np.zeros(id_count, np.int64)
    revisions = as_numeric_array("revisions", values, None)
    if revisions.shape != (id_count,) or (id_count and not np.can_cast(revisions.dtype, np.int64)):
        raise InvalidArgumentError(
            f"`revisions` must be one int64 for each of {id_count} ids, not {revisions.dtype} of "
            f"shape {revisions.shape}"
        )
    return revisions.astype(np.int64)
