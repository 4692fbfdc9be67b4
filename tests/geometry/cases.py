"""Spaces and pairs of rows that the property tests of geometry share."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.geometry.relations import contains, covers
from covey.space import Attribute, Events, SessionSettings, Space
from covey.testing.random_cases import random_space
from covey.testing.strategies import spaces

EVERY = random_space(SessionSettings(), vector_length=3)

# Relations are exact in these spaces. Between balls they may err, on the side that `balls` states.
flat_spaces = spaces().filter(lambda space: not any(a.type.is_vector for a in space))
vector_spaces = st.just(Space((EVERY["vec"], EVERY["flag"])))
scalar_attributes = st.sampled_from([a for a in EVERY if a.type.is_scalar])


def space_of(attribute: Attribute) -> Space:
    """Return a space with one attribute."""
    return Space((attribute,))


def pairs_of(a: Regions, b: Regions) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows of `a` and rows of `b` such that every pair occurs once."""
    return np.repeat(np.arange(len(a)), len(b)), np.tile(np.arange(len(b)), len(a))


def every_cover(outer: Regions, inner: Regions) -> NDArray[np.bool_]:
    """Return a matrix whose entry [i, j] says whether row i of `outer` covers row j of `inner`."""
    i, j = pairs_of(outer, inner)
    return covers(outer, i, inner, j).reshape(len(outer), len(inner))


def every_match(regions: Regions, events: Events) -> NDArray[np.bool_]:
    """Return a matrix whose entry [i, e] says whether region i contains event e."""
    i = np.repeat(np.arange(len(regions)), len(events))
    e = np.tile(np.arange(len(events)), len(regions))
    return contains(regions, i, events, e).reshape(len(regions), len(events))
