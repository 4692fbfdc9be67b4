"""Helpers for common predicates write texts with the right meaning."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from covey import Events, InvalidArgumentError, Space, parse, predicates
from covey.index import BruteForceIndex

GLOBE = Space.from_types({"lat": pa.float64(), "lon": pa.float64()})


def _kilometres(a: tuple[float, float], b: tuple[float, float]) -> float:
    (p, q), (r, s) = (map(math.radians, a), map(math.radians, b))
    haversine = math.sin((r - p) / 2) ** 2 + math.cos(p) * math.cos(r) * math.sin((s - q) / 2) ** 2
    return 2 * predicates.EARTH_RADIUS_KM * math.asin(math.sqrt(haversine))


@pytest.mark.parametrize("place", [(52.5, 13.4), (-16.0, 179.99), (89.9, 0.0)])
def test_within_km_is_the_great_circle_distance(place: tuple[float, float]) -> None:
    text = predicates.within_km("lat", "lon", *place, 50)
    parsed = parse(GLOBE, [text])
    (unit,) = parsed.space.derived
    assert unit.type.length == 3
    rng = np.random.default_rng(1)
    lat = np.clip(place[0] + rng.normal(0, 0.5, 500), -90, 90)
    lon = (place[1] + rng.normal(0, 0.5, 500) + 180) % 360 - 180
    phi, theta = np.radians(lat), np.radians(lon)
    vectors = np.stack([np.cos(phi) * np.cos(theta), np.cos(phi) * np.sin(theta), np.sin(phi)], 1)
    column = pa.array(vectors.astype(np.float32).tolist(), pa.list_(pa.float32()))
    events = Events.from_arrow(pa.table({"lat": lat, "lon": lon, unit.name: column}), parsed.space)
    matching_rows = set(BruteForceIndex(parsed.regions).match(events).query_rows.tolist())
    distances = [_kilometres(place, (a, o)) for a, o in zip(lat, lon, strict=True)]
    clear = [i for i, km in enumerate(distances) if abs(km - 50) > 0.002]
    assert {i for i in clear if distances[i] < 50} == matching_rows & set(clear)
    assert matching_rows


def test_one_derived_attribute_serves_all_circles() -> None:
    texts = [predicates.within_km("lat", "lon", i, i, 5) for i in range(20)]
    assert len(parse(GLOBE, texts).space.derived) == 1


def test_boxes_span_the_date_line() -> None:
    text = predicates.within_box("lat", "lon", -20, 170, -10, -170)
    events = Events.from_arrow(
        pa.table({"lat": [-15.0, -15.0, -15.0], "lon": [179.0, -179.0, 0.0]}), GLOBE
    )
    assert sorted(
        BruteForceIndex(parse(GLOBE, [text]).regions).match(events).query_rows.tolist()
    ) == [0, 1]


def test_tag_predicates_match_all_any_or_none() -> None:
    space = Space.from_types({"words": pa.list_(pa.string())})
    events = Events.from_arrow(pa.table({"words": [["red", "bike"], ["red"], ["it's"], []]}), space)

    def kept(text: str) -> list[int]:
        return sorted(
            set(BruteForceIndex(parse(space, [text]).regions).match(events).query_rows.tolist())
        )

    assert kept(predicates.has_all("words", ["red", "bike"])) == [0]
    assert kept(predicates.has_any("words", ["bike", "it's"])) == [0, 2]
    assert kept(predicates.has_none("words", ["red"])) == [2, 3]


def test_near_vector_takes_a_distance_or_a_similarity() -> None:
    with pytest.raises(ValueError, match="give exactly one of distance and similarity, got"):
        predicates.near_vector("v", [1.0])
    space = Space.from_types({"v": pa.list_(pa.float32())}, vectors={"v": 2})
    events = Events.from_arrow(
        pa.table({"v": pa.array([[1, 0], [0, 1]], pa.list_(pa.float32()))}), space
    )
    for text in (
        predicates.near_vector("v", [1, 0], distance=0.5),
        predicates.near_vector("v", [2, 0.1], similarity=0.9),
    ):
        assert BruteForceIndex(parse(space, [text]).regions).match(events).query_rows.tolist() == [
            0
        ]


@pytest.mark.parametrize("tokens", ["ab", [], [1], [None]])
def test_tokens_must_be_a_list_of_texts(tokens: object) -> None:
    with pytest.raises(InvalidArgumentError, match=r"list of (strings|texts)|must be a string"):
        predicates.has_all("words", tokens)  # type: ignore[arg-type]


def test_numpy_numbers_are_accepted_as_numbers() -> None:
    assert predicates.near_vector("v", [1.0], distance=np.float64(1)).endswith("<= 1.0D")
    with pytest.raises(InvalidArgumentError, match="predicate must be finite, got inf"):
        predicates.near_vector("v", [1.0], distance=float("inf"))
    with pytest.raises(InvalidArgumentError, match="centre_latitude must be between -90 and 90"):
        predicates.within_km("lat", "lon", 91, 0, 5)
