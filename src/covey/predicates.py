"""Texts of predicates for shapes that people often mean and seldom write right.

Plain functions from values to Spark SQL; what they return can be joined with AND and OR.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from covey.language.spell import quote, single

__all__ = ["has_all", "has_any", "has_none", "near", "within_box", "within_km"]

EARTH_KM = 6371.0088


def within_km(
    latitude: str, longitude: str, at_latitude: float, at_longitude: float, km: float
) -> str:
    """Events within so many kilometres of a place on the globe, poles and date line included.

    `latitude` and `longitude` are columns (or expressions) in degrees. A circle on the globe is a
    ball round a unit vector, which becomes one derived attribute for all such predicates. Unit
    vectors are float32: a distance is off by up to about a metre.

    >>> print(within_km("lat", "lon", 52.5, 13.4, 5)[:60])
    vector_l2_distance(array(CAST(cos(radians(lat)) * cos(radian
    """
    if not (-90 <= at_latitude <= 90 and km >= 0):
        raise ValueError(f"no circle of {km} km round latitude {at_latitude}")
    phi, theta = math.radians(at_latitude), math.radians(at_longitude)
    place = (math.cos(phi) * math.cos(theta), math.cos(phi) * math.sin(theta), math.sin(phi))
    chord = 2 * math.sin(min(km / EARTH_KM, math.pi) / 2)
    lat, lon = f"radians({latitude})", f"radians({longitude})"
    unit = (
        f"array(CAST(cos({lat}) * cos({lon}) AS FLOAT), "
        f"CAST(cos({lat}) * sin({lon}) AS FLOAT), CAST(sin({lat}) AS FLOAT))"
    )
    return f"vector_l2_distance({unit}, {_vector(place)}) <= {chord!r}D"


def within_box(
    latitude: str, longitude: str, south: float, west: float, north: float, east: float
) -> str:
    """Events inside a box of degrees; with `west` > `east` it spans the date line.

    >>> within_box("lat", "lon", -20, 170, -10, -170)
    '(lat BETWEEN -20D AND -10D AND (lon >= 170D OR lon <= -170D))'
    """
    high = f"{latitude} BETWEEN {south!r}D AND {north!r}D"
    if west <= east:
        return f"({high} AND {longitude} BETWEEN {west!r}D AND {east!r}D)"
    return f"({high} AND ({longitude} >= {west!r}D OR {longitude} <= {east!r}D))"


def near(
    vector: str,
    centre: Sequence[float],
    *,
    distance: float | None = None,
    similarity: float | None = None,
) -> str:
    """Events whose vector is within an l2 distance of a centre, or at least so similar by cosine.

    >>> near("embedding", [0.5, 1], similarity=0.9)
    'vector_cosine_similarity(embedding, array(0.5F, 1.0F)) >= 0.9D'
    """
    if (distance is None) == (similarity is None):
        raise ValueError("give either a distance or a similarity")
    if distance is not None:
        return f"vector_l2_distance({vector}, {_vector(centre)}) <= {distance!r}D"
    return f"vector_cosine_similarity({vector}, {_vector(centre)}) >= {similarity!r}D"


def has_all(tags: str, tokens: Iterable[str]) -> str:
    """Events whose tags have every one of these tokens.

    >>> has_all("words", ["red", "bike"])
    "(array_contains(words, 'red') AND array_contains(words, 'bike'))"
    """
    return "(" + " AND ".join(f"array_contains({tags}, {quote(token)})" for token in tokens) + ")"


def has_any(tags: str, tokens: Iterable[str]) -> str:
    """Events whose tags have at least one of these tokens."""
    return f"arrays_overlap({tags}, array({', '.join(map(quote, tokens))}))"


def has_none(tags: str, tokens: Iterable[str]) -> str:
    """Events whose tags have none of these tokens (and, as Spark has it, no null element)."""
    return f"NOT {has_any(tags, tokens)}"


def _vector(centre: Sequence[float]) -> str:
    return f"array({', '.join(map(single, centre))})"
