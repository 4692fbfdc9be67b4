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
    """Batch of changes that makes one new version; each id occurs at most once in a batch.

    If the store has an id already, its subscription is replaced. If no region belongs to an id,
    the subscription never matches.

    Args:
        ids: ids to add or replace: an Arrow array, or any value that `pa.array` accepts.
        regions: the regions of all these subscriptions; None if there are none.
        subscription_rows: for each region the row in `ids` of its subscription.
        removed_ids: ids to remove; ids that the store does not have are ignored.
        revisions: an int64 for each of `ids`; None for 0 everywhere. The store keeps the revision
            of a subscription and does not interpret it.

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
        """Return changes that set the predicate of subscription `ids[i]` to the i-th predicate.

        Args:
            ids: ids to add or replace, one for each predicate.
            predicates: parsed predicates.
            removed_ids: ids to remove, none of which is in `ids`.
            revisions: an int64 for each of `ids`; see `Changes`.

        Raises:
            PredicateError: if a predicate was rejected; the error of the first one is raised.
            InvalidArgumentError: if there is not exactly one id for each predicate.
        """
        for row in sorted(predicates.rejected):
            raise predicates.rejected[row]
        if not hasattr(ids, "__len__") or len(ids) != len(predicates):
            id_count = len(ids) if hasattr(ids, "__len__") else format_value(ids)
            raise InvalidArgumentError(
                f"{id_count} ids for {len(predicates)} predicates: give a list with one id per "
                "predicate"
            )
        return cls(ids, predicates.regions, predicates.predicate_rows, removed_ids, revisions)

    @classmethod
    def remove(cls, ids: object) -> Changes:
        """Return changes that remove the given ids and add nothing."""
        return cls([], None, np.empty(0, np.int64), ids)

    def validate(self, space: Space, id_kind: IdKind) -> tuple[SubscriptionBatch | None, Ids]:
        """Check the changes, and return them as added subscriptions and removed ids.

        Args:
            space: the space of the store, which the regions must have as well.
            id_kind: the type of the store's ids.

        Returns:
            The added subscriptions, or None if the batch adds none, and the removed ids.

        Raises:
            InvalidArgumentError: if an id occurs twice, or an argument has a wrong type or shape.
            SchemaError: if the columns or settings of the regions' space differ from `space`.
        """
        ids, removed = (
            Ids.from_values(self.ids, id_kind),
            Ids.from_values(self.removed_ids, id_kind),
        )
        if (duplicate_id := Ids.concat([ids, removed]).first_duplicate()) is not None:
            raise InvalidArgumentError(
                f"id {duplicate_id!r} occurs twice in one batch: give only its last change"
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
        subscription_rows = as_numeric_array("subscription_rows", self.subscription_rows, np.int64)
        check_subscription_rows(subscription_rows, len(regions), len(ids))
        return SubscriptionBatch(ids, regions, subscription_rows, revisions), removed


def check_same_space(space: Space, expected: Space, holder: str) -> None:
    """Raise SchemaError if the columns or settings of `space` and `expected` differ.

    `holder` is the name of the object that has the expected space; it is used in the message.
    """
    if space.columns != expected.columns or not space.settings.agrees_with(expected.settings):
        raise SchemaError(
            f"the space of the regions has other columns or settings than the space of the "
            f"{holder}: parse predicates in `{holder}.space`"
        )


def check_subscription_rows(
    subscription_rows: NDArray[np.int64], region_count: int, id_count: int
) -> None:
    """Raise InvalidArgumentError unless each region has a row number from 0 to below `id_count`."""
    if (
        subscription_rows.shape != (region_count,)
        or not ((subscription_rows >= 0) & (subscription_rows < id_count)).all()
    ):
        raise InvalidArgumentError(
            f"`subscription_rows` must have {region_count} row numbers, at least 0 and below "
            f"{id_count}: for each region the row of its id"
        )


def _validate_revisions(values: Any, id_count: int) -> Rows:
    """Return the revisions as one int64 for each id; all 0 if `values` is None."""
    if values is None:
        return np.zeros(id_count, np.int64)
    revisions = as_numeric_array("revisions", values, None)
    if revisions.shape != (id_count,) or (id_count and not np.can_cast(revisions.dtype, np.int64)):
        raise InvalidArgumentError(
            f"`revisions` must be one int64 for each of {id_count} ids, got {revisions.dtype} of "
            f"shape {revisions.shape}"
        )
    return revisions.astype(np.int64)
