"""One batch of changes: subscriptions that are added or replaced, and ids that are removed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.errors import SpaceError, ValueRefused
from covey.geometry import Regions
from covey.language import Predicates
from covey.space import Space
from covey.store.ids import IdKind, Ids
from covey.store.subscriptions import Owned

__all__ = ["Changes"]

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Changes:
    """What one new version changes; an id occurs at most once in all of it.

    `regions` row r belongs to `ids[of[r]]`. An id that the store has is replaced; removing one that
    it does not have is no error. An id without a region is a subscription that never matches.
    `ids` and `removed` are Arrow arrays, or what `pa.array` takes. `revisions` has an int64 for
    each of `ids`, 0 where none is given; the store keeps it with the subscription and compares it
    with nothing.

    >>> import pyarrow as pa
    >>> from covey import parse
    >>> space = Space.of({"price": pa.float64()})
    >>> changes = Changes.put([7, 8], parse(space, ["price > 5", "price IN (1, 2)"]), removed=[3])
    """

    ids: Any
    regions: Regions | None
    of: Rows
    removed: Any = ()
    revisions: Any = None

    @classmethod
    def put(
        cls, ids: Any, predicates: Predicates, removed: Any = (), revisions: Any = None
    ) -> Changes:
        """Subscription `ids[i]` becomes the i-th predicate; refuses what could not be read."""
        for row in sorted(predicates.rejected):
            raise predicates.rejected[row]
        if len(ids) != len(predicates):
            raise ValueRefused(f"{len(ids)} ids for {len(predicates)} predicates")
        return cls(ids, predicates.regions, predicates.of, removed, revisions)

    @classmethod
    def remove(cls, ids: Any) -> Changes:
        """These ids are removed, nothing is added."""
        return cls([], None, np.empty(0, np.int64), ids)

    def checked(self, space: Space, kind: IdKind) -> tuple[Owned | None, Ids]:
        """What is added (None if nothing), and the removed ids, if they fit a store."""
        ids, removed = Ids.of(self.ids, kind), Ids.of(self.removed, kind)
        if (twice := Ids.concat([ids, removed]).repeated()) is not None:
            raise ValueRefused(f"id {twice!r} is in one batch twice: give its last change only")
        revisions = _checked_revisions(self.revisions, len(ids))
        if not len(ids):
            return None, removed
        regions = Regions(space, 0, {}) if self.regions is None else self.regions
        check_space(regions.space, space, "store")
        of = np.asarray(self.of, np.int64)
        check_owners(of, len(regions), len(ids))
        return Owned(ids, regions, of, revisions), removed


def check_space(given: Space, mine: Space, whose: str) -> None:
    """Refuses regions of a space with other columns or settings."""
    if (given.columns, given.settings) != (mine.columns, mine.settings):
        raise SpaceError(
            f"the regions are of another space than the {whose}: parse predicates in "
            f"`{whose}.space`"
        )


def check_owners(of: NDArray[np.int64], regions: int, ids: int) -> None:
    """Refuses numbers of owners that are not one for each region, or of no id."""
    if len(of) != regions or not ((of >= 0) & (of < ids)).all():
        raise ValueRefused(f"`of` must name one of {ids} ids for each of {regions} regions")


def _checked_revisions(given: Any, ids: int) -> Rows:
    """Revisions that are one int64 for each id; 0 if none are given."""
    if given is None:
        return np.zeros(ids, np.int64)
    revisions = np.asarray(given)
    if revisions.shape != (ids,) or (ids and not np.can_cast(revisions.dtype, np.int64)):
        raise ValueRefused(
            f"`revisions` must be one int64 for each of {ids} ids, not {revisions.dtype} of "
            f"shape {revisions.shape}"
        )
    return revisions.astype(np.int64)
