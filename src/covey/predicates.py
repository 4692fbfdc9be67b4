"""Texts of predicates for shapes that people often mean and seldom write right.

Plain functions from values to Spark SQL; what they return can be joined with AND and OR.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal

from covey._argument_checks import check_arguments, format_value
from covey.errors import InvalidArgumentError
from covey.language.values import float32_literal, quote_string

__all__ = ["has_all", "has_any", "has_none", "near_vector", "within_box", "within_km"]

Number = float | Decimal
EARTH_RADIUS_KM = 6371.0088


@check_arguments
def within_km(
    latitude: str,
    longitude: str,
    centre_latitude: Number,
    centre_longitude: Number,
    radius_km: Number,
) -> str:
    """Events within so many kilometres of a place on the globe, poles and date line included.

    `latitude` and `longitude` are columns (or expressions) in degrees. A circle on the globe is a
    ball round a unit vector, which becomes one derived attribute for all such predicates. Unit
    vectors are float32: the edge of a circle of up to some thousand kilometres is off by about a
    metre, that of half the globe by more.

    >>> print(within_km("lat", "lon", 52.5, 13.4, 5)[:60])
    vector_l2_distance(array(CAST(cos(radians(lat)) * cos(radian
    """
    centre_latitude, centre_longitude, radius_km = map(
        _check_finite, (centre_latitude, centre_longitude, radius_km)
    )
    if not (-90 <= centre_latitude <= 90 and radius_km >= 0):
        raise InvalidArgumentError(f"no circle of {radius_km} km round latitude {centre_latitude}")
    phi, theta = math.radians(centre_latitude), math.radians(centre_longitude)
    place = (math.cos(phi) * math.cos(theta), math.cos(phi) * math.sin(theta), math.sin(phi))
    chord = 2 * math.sin(min(radius_km / EARTH_RADIUS_KM, math.pi) / 2)
    lat, lon = f"radians({latitude})", f"radians({longitude})"
    unit = (
        f"array(CAST(cos({lat}) * cos({lon}) AS FLOAT), "
        f"CAST(cos({lat}) * sin({lon}) AS FLOAT), CAST(sin({lat}) AS FLOAT))"
    )
    return f"vector_l2_distance({unit}, {_vector_literal(place)}) <= {chord!r}D"


@check_arguments
def within_box(
    latitude: str, longitude: str, south: Number, west: Number, north: Number, east: Number
) -> str:
    """Events inside a box of degrees; with `west` > `east` it spans the date line.

    >>> within_box("lat", "lon", -20, 170, -10, -170)
    '(lat BETWEEN -20.0D AND -10.0D AND (lon >= 170.0D OR lon <= -170.0D))'
    """
    high = f"{latitude} BETWEEN {_double_literal(south)} AND {_double_literal(north)}"
    if west <= east:
        return (
            f"({high} AND {longitude} BETWEEN {_double_literal(west)} AND {_double_literal(east)})"
        )
    return (
        f"({high} AND ({longitude} >= {_double_literal(west)}"
        f" OR {longitude} <= {_double_literal(east)}))"
    )


@check_arguments
def near_vector(
    vector: str,
    centre: Sequence[Number],
    *,
    distance: Number | None = None,
    similarity: Number | None = None,
) -> str:
    """Events whose vector is within an l2 distance of a centre, or at least so similar by cosine.

    >>> near_vector("embedding", [0.5, 1], similarity=0.9)
    'vector_cosine_similarity(embedding, array(0.5F, 1.0F)) >= 0.9D'
    """
    if distance is not None and similarity is None:
        l2_distance = f"vector_l2_distance({vector}, {_vector_literal(centre)})"
        return f"{l2_distance} <= {_double_literal(distance)}"
    if similarity is not None and distance is None:
        cosine = f"vector_cosine_similarity({vector}, {_vector_literal(centre)})"
        return f"{cosine} >= {_double_literal(similarity)}"
    raise InvalidArgumentError("give either a distance or a similarity")


@check_arguments
def has_all(tags: str, tokens: Iterable[str]) -> str:
    """Events whose tags have every one of these tokens.

    >>> has_all("words", ["red", "bike"])
    "(array_contains(words, 'red') AND array_contains(words, 'bike'))"
    """
    return (
        "("
        + " AND ".join(
            f"array_contains({tags}, {quote_string(token)})" for token in _check_tokens(tokens)
        )
        + ")"
    )


@check_arguments
def has_any(tags: str, tokens: Iterable[str]) -> str:
    """Events whose tags have at least one of these tokens."""
    return f"arrays_overlap({tags}, array({', '.join(map(quote_string, _check_tokens(tokens)))}))"


@check_arguments
def has_none(tags: str, tokens: Iterable[str]) -> str:
    """Events whose tags have none of these tokens (and, as Spark has it, no null element)."""
    return f"NOT {has_any(tags, tokens)}"


def _vector_literal(centre: Sequence[Number]) -> str:
    return f"array({', '.join(float32_literal(_check_finite(x)) for x in centre)})"


def _double_literal(value: Number) -> str:
    """A number as a double literal."""
    return f"{_check_finite(value)!r}D"


def _check_finite(value: Number) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise InvalidArgumentError(f"{format_value(value)} is no number to compare with")
    return number


def _check_tokens(tokens: Iterable[str]) -> list[str]:
    """Tokens as a list of texts; one text would be taken for its letters."""
    listed = [] if isinstance(tokens, str) else list(tokens)
    if not listed or not all(isinstance(token, str) for token in listed):
        raise InvalidArgumentError("give the tokens as a list of texts: ['red', 'bike']")
    return listed
