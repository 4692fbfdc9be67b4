"""What a segment is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covey.index.boxes import Boxes
from covey.index.columns import Column
from covey.index.near import Near
from covey.index.rest import Rest
from covey.index.tree import Tree
from covey.index.vocabulary import Vocabulary

__all__ = ["Parts"]


class Parts(NamedTuple):
    """The arrays of a segment, by what they are for.

    Every region has a place, and `order` is the row number of the region at each. First come those
    that the tree leads to, then those that are found by a ball. `exact` has a bit for each place:
    whether its box says all of its region.
    """

    columns: tuple[Column, ...]
    vocabularies: Mapping[str, Vocabulary]
    order: NDArray[np.int32]
    boxes: Boxes
    exact: NDArray[np.uint64]
    tree: Tree
    near: tuple[Near, ...]
    rest: tuple[Rest, ...]
