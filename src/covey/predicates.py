"""Functions that return predicates for circles, boxes, vectors, tags and networks.

Such predicates are common, and mistakes are easy when they are written by hand. The functions take
column names, which must be written as in Spark SQL, and plain values. They return Spark SQL that
can be combined with other conditions by AND and OR.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Iterable, Sequence
from decimal import Decimal

from covey._argument_checks import check_arguments, format_value
from covey.errors import InvalidArgumentError
from covey.language.values import float32_literal, quote_string

__all__ = [
    "has_all", "has_any", "has_none", "in_network", "near_vector", "within_box", "within_km",
]  # fmt: skip

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
    """Return the predicate of events within a circle on the globe.

    The circle may contain a pole or cross the date line. The predicate compares the distance of two
    unit vectors, one for the centre and one for the event. The vector of the event is one derived
    attribute, which all predicates on the same columns share. The vectors are float32, so the edge
    of the circle is off by about a metre if the radius is up to some thousand kilometres, and by
    more if the circle covers half the globe.

    Args:
        latitude: column or expression with the event's latitude in degrees.
        longitude: column or expression with the event's longitude in degrees.
        centre_latitude: latitude of the centre in degrees, from -90 to 90.
        centre_longitude: longitude of the centre in degrees.
        radius_km: radius in kilometres along the surface, at least 0.

    Raises:
        InvalidArgumentError: a number is not finite or out of its range.

    >>> print(within_km("lat", "lon", 52.5, 13.4, 5)[:60])
    vector_l2_distance(array(CAST(cos(radians(lat)) * cos(radian
    """
    centre_latitude, centre_longitude, radius_km = map(
        _check_finite, (centre_latitude, centre_longitude, radius_km)
    )
    if not (-90 <= centre_latitude <= 90 and radius_km >= 0):
        raise InvalidArgumentError(
            "centre_latitude must be between -90 and 90 and radius_km at least 0, "
            f"got {centre_latitude} and {radius_km}"
        )
    phi, theta = math.radians(centre_latitude), math.radians(centre_longitude)
    centre = (math.cos(phi) * math.cos(theta), math.cos(phi) * math.sin(theta), math.sin(phi))
    chord = 2 * math.sin(min(radius_km / EARTH_RADIUS_KM, math.pi) / 2)
    lat, lon = f"radians({latitude})", f"radians({longitude})"
    unit = (
        f"array(CAST(cos({lat}) * cos({lon}) AS FLOAT), "
        f"CAST(cos({lat}) * sin({lon}) AS FLOAT), CAST(sin({lat}) AS FLOAT))"
    )
    return f"vector_l2_distance({unit}, {_vector_literal(centre)}) <= {chord!r}D"


@check_arguments
def within_box(
    latitude: str, longitude: str, south: Number, west: Number, north: Number, east: Number
) -> str:
    """Return the predicate of events in a latitude-longitude box, its edges included.

    Args:
        latitude: column or expression with the event's latitude in degrees.
        longitude: column or expression with the event's longitude in degrees.
        south: smallest latitude in degrees.
        west: western edge in degrees; larger than `east` if the box crosses the date line.
        north: largest latitude in degrees.
        east: eastern edge in degrees.

    Raises:
        InvalidArgumentError: a number is not finite.

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
    """Return the predicate of events whose vector is close to a centre.

    Args:
        vector: column with the event's vector.
        centre: a number per dimension; each is rounded to float32.
        distance: largest l2 distance from the centre.
        similarity: smallest cosine similarity with the centre.

    Raises:
        InvalidArgumentError: a number is not finite, or not exactly one of `distance` and
            `similarity` is given.

    >>> near_vector("embedding", [0.5, 1], similarity=0.9)
    'vector_cosine_similarity(embedding, array(0.5F, 1.0F)) >= 0.9D'
    """
    if distance is not None and similarity is None:
        l2_distance = f"vector_l2_distance({vector}, {_vector_literal(centre)})"
        return f"{l2_distance} <= {_double_literal(distance)}"
    if similarity is not None and distance is None:
        cosine = f"vector_cosine_similarity({vector}, {_vector_literal(centre)})"
        return f"{cosine} >= {_double_literal(similarity)}"
    count = "neither" if distance is None else "both"
    raise InvalidArgumentError(f"give exactly one of distance and similarity, got {count}")


@check_arguments
def has_all(tags: str, tokens: Iterable[str]) -> str:
    """Return the predicate of events whose tags contain every one of the tokens.

    Args:
        tags: column with an array of strings.
        tokens: at least one text.

    Raises:
        InvalidArgumentError: `tokens` is empty or a single text, or an element is not a text.

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
    """Return the predicate of events whose tags contain at least one of the tokens.

    The arguments and the errors are those of `has_all`.
    """
    return f"arrays_overlap({tags}, array({', '.join(map(quote_string, _check_tokens(tokens)))}))"


@check_arguments
def has_none(tags: str, tokens: Iterable[str]) -> str:
    """Return the predicate of events whose tags contain none of the tokens.

    The predicate does not match an event whose tags are null or have a null element, because for
    Spark the null might be one of the tokens. The arguments and the errors are those of `has_all`.
    """
    return f"NOT {has_any(tags, tokens)}"


_BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = f"^({_BYTE}[.]){{3}}{_BYTE}$"
_GROUPS = "([0-9a-f]{1,4}(:[0-9a-f]{1,4}){0,6})?"
_SHORT_IPV6 = f"^{_GROUPS}::{_GROUPS}$"
_IPV6 = "^([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}$"


@check_arguments
def in_network(address: str, network: str) -> str:
    """Return the predicate of events whose IP address lies in a network.

    The address is converted to a number (IPv4) or to its 32 hexadecimal digits (IPv6), so that a
    network is an interval. All predicates on the same column and family share this conversion. The
    predicate does not match a text that is not an address of the network's family. An IPv6 address
    that ends in the notation of IPv4, such as `::ffff:1.2.3.4`, is not recognized.

    Args:
        address: column with the event's address as a text.
        network: the network, such as `10.0.0.0/8` or `2001:db8::/32`, or a single address.

    Raises:
        InvalidArgumentError: `network` is not a network, or has bits outside of its prefix.

    >>> in_network("ip", "10.0.0.0/8").partition(" END ")[2]
    'BETWEEN 167772160L AND 184549375L'
    """
    try:
        found = ipaddress.ip_network(network)
    except ValueError as error:
        raise InvalidArgumentError(
            f"{format_value(network)} is not a network such as 10.0.0.0/8: {error}"
        ) from None
    low, high = found.network_address, found.broadcast_address
    if found.version == 4:
        parts = " + ".join(
            f"CAST(split_part({address}, '.', {i + 1}) AS BIGINT) * {256 ** (3 - i)}L"
            for i in range(4)
        )
        number = f"CASE WHEN {address} RLIKE {quote_string(_IPV4)} THEN {parts} ELSE -1L END"
        return f"{number} BETWEEN {int(low)}L AND {int(high)}L"
    text = f"lower({address})"
    before, after = (f"split_part({text}, '::', {i})" for i in (1, 2))
    counts = [f"if({part} = '', 0, size(split({part}, ':')))" for part in (before, after)]
    zeros = f"substring(':0:0:0:0:0:0:0:0', 1, 2 * (8 - {counts[0]} - {counts[1]}))"
    filled = f"concat({before}, {zeros}, if({after} = '', '', concat(':', {after})))"
    full = f"if(contains({text}, '::'), ltrim(':', {filled}), {text})"
    hexadecimal = f"array_join(transform(split({full}, ':'), part -> lpad(part, 4, '0')), '')"
    is_short = f"{text} RLIKE {quote_string(_SHORT_IPV6)} AND {counts[0]} + {counts[1]} < 8"
    is_valid = f"{text} RLIKE {quote_string(_IPV6)} OR ({is_short})"
    digits = f"CASE WHEN {is_valid} THEN {hexadecimal} END"
    low_digits, high_digits = (quote_string(f"{int(end):032x}") for end in (low, high))
    return f"{digits} BETWEEN {low_digits} AND {high_digits}"


def _vector_literal(centre: Sequence[Number]) -> str:
    """Return numbers as an array of float literals of Spark SQL."""
    return f"array({', '.join(float32_literal(_check_finite(x)) for x in centre)})"


def _double_literal(value: Number) -> str:
    """Return a number as a double literal of Spark SQL."""
    return f"{_check_finite(value)!r}D"


def _check_finite(value: Number) -> float:
    """Return a number as a float; raise InvalidArgumentError unless it is finite."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise InvalidArgumentError(
            f"the numbers of a predicate must be finite, got {format_value(value)}"
        )
    return number


def _check_tokens(tokens: Iterable[str]) -> list[str]:
    """Return the tokens as a list; raise InvalidArgumentError unless they are texts.

    A single text is refused, because it would be read as a list of its letters.
    """
    token_list = [] if isinstance(tokens, str) else list(tokens)
    if not token_list or not all(isinstance(token, str) for token in token_list):
        raise InvalidArgumentError(
            "tokens must be a non-empty list of texts, such as ['red', 'bike']"
        )
    return token_list
