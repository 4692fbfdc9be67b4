"""Classified ads, and saved searches on them.

Every search constrains the category, the price, the latitude and the longitude. In addition, half
of the searches constrain the condition, about a quarter constrain the kind of seller, 3% constrain
the seller, and 60% have one to three keywords. In searches and in ads, towns, categories, sellers
and words follow Zipf's law. Prices are lognormal around the median price of their category.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.geometry import Regions
from covey.space import Space
from covey.space.keys import key_domain
from covey.space.ragged_array import RaggedArray
from covey.space.types import decimal_type
from covey.workload import constraints
from covey.workload.arrow_arrays import (
    build_record_batch,
    to_decimal_array,
    to_tag_lists,
    to_text_array,
)
from covey.workload.block_rng import BLOCK_ROWS, Columns, draw_blocks, make_generator
from covey.workload.constraints import (
    UNCONSTRAINED,
    ChoiceColumn,
    ConstraintColumn,
    EqualityColumn,
    IntervalColumn,
    KeywordColumn,
)
from covey.workload.vocabularies import make_vocabulary, to_object_array
from covey.workload.zipf import draw_zipf_ranks

__all__ = ["Classifieds"]

# Median price of the ads of each category, in euros; the most frequent category is first.
_MEDIAN_PRICE_BY_CATEGORY = {
    "cars": 9000, "phones": 250, "furniture": 120, "flats to rent": 900, "clothing": 25,
    "bicycles": 300, "computers": 450, "houses": 280_000, "children": 30, "motorcycles": 3500,
    "garden": 80, "kitchen": 70, "books": 10, "games": 35, "audio": 150, "cameras": 280,
    "tools": 90, "car parts": 60, "sports": 75, "music": 200, "antiques": 110, "jewellery": 130,
    "pets": 180, "boats": 7000, "tickets": 65,
}  # fmt: skip
_CONDITION_SHARES = {"new": 0.20, "like new": 0.25, "good": 0.35, "fair": 0.12, "for parts": 0.08}
_CONDITION_LISTS = tuple(c for k in (1, 2, 3) for c in combinations(_CONDITION_SHARES, k))
_SELLER_KINDS = ("dealer", "private")

_TOWN_COUNT, _TOWN_EXPONENT = 10_000, 0.7
_LATITUDE_RANGE, _LONGITUDE_RANGE = (36.0, 60.0), (-10.0, 30.0)
_KM_PER_DEGREE = 111.2
_SPREAD_KM = 10.0  # standard deviation of ads and centres of searches around their town
_REACH_RANGE_KM = (5.0, 100.0)  # distance from the centre of a search to the sides of its box

_LOG_PRICE_SPREAD = 0.8  # standard deviation of the logarithm of prices
_LOG_PRICE_REACH = (0.02, 0.10)  # from the drawn price of a search to an end, as a logarithm
_MAX_PRICE_EUR = 99_999_000
_PRICE_TYPE = decimal_type(10, 2)

_SELLER_COUNT, _DEALER_COUNT = 100_000, 100  # the sellers with the most ads are dealers
_WORD_COUNT, _WORDS_PER_AD, _MAX_KEYWORDS = 50_000, (5, 15), 3
_KEYWORD_COUNT_SHARES = (0.50, 0.35, 0.15)  # of the searches with keywords: with 1, 2 and 3

_KEYWORDS_SHARE = 0.60
_CONDITION_SHARE = 0.50
_SELLER_KIND_SHARE = 0.25
_SELLER_SHARE = 0.03
_MAX_PRICE_ONLY_SHARE = 0.08  # of searches: those without a lowest price
_WITHOUT_PRICE_SHARE = 0.04  # of ads: those without a price

Random = np.random.Generator
Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Classifieds:
    """Saved searches as subscriptions, and classified ads as events.

    Matches per ad at 8M subscriptions: about 30. This number is extrapolated from 1.9 matches at
    500,000 subscriptions, which `python tests/workload/test_matches.py classifieds 500000 1000`
    measures; the expected number of matches is proportional to the number of subscriptions.
    """

    seed: int = 0

    @property
    def name(self) -> str:
        return "classifieds"

    @property
    def space(self) -> Space:
        return Space.from_arrow(_make_schema())

    def generate_regions(self, start: int, stop: int) -> Regions:
        return constraints.build_regions(self.space, self._constraint_blocks(start, stop))

    def generate_predicates(self, start: int, stop: int) -> list[str]:
        return constraints.write_predicates(self._constraint_blocks(start, stop))

    def generate_events(self, start: int, stop: int) -> pa.RecordBatch:
        ads = draw_blocks(start, stop, self.seed, "classifieds events", self._draw_event_block)
        return build_record_batch(_make_schema(), ads, _to_event_arrays)

    def _constraint_blocks(self, start: int, stop: int) -> Iterator[list[ConstraintColumn]]:
        purpose = "classifieds subscriptions"
        return map(
            _to_constraints,
            draw_blocks(start, stop, self.seed, purpose, self._draw_subscription_block),
        )

    def _draw_subscription_block(self, random: Random) -> Columns:
        category = draw_zipf_ranks(random, len(_MEDIAN_PRICE_BY_CATEGORY), BLOCK_ROWS)
        seller = _leave_others_free(
            random, _SELLER_SHARE, draw_zipf_ranks(random, _SELLER_COUNT, BLOCK_ROWS)
        )
        kind = _leave_others_free(
            random, _SELLER_KIND_SHARE, random.integers(0, len(_SELLER_KINDS), BLOCK_ROWS)
        )
        conditions = random.integers(0, len(_CONDITION_LISTS), BLOCK_ROWS)
        return {
            "category": category,
            "condition": _leave_others_free(random, _CONDITION_SHARE, conditions),
            "kind": np.where(seller == UNCONSTRAINED, kind, UNCONSTRAINED),
            "seller": seller,
            "keywords": _draw_keywords(random),
            **self._draw_search_box(random),
            **_draw_price_ranges(random, category),
        }

    def _draw_event_block(self, random: Random) -> Columns:
        latitude, longitude = self._draw_points(random)
        category, seller = (
            draw_zipf_ranks(random, len(_MEDIAN_PRICE_BY_CATEGORY), BLOCK_ROWS),
            draw_zipf_ranks(random, _SELLER_COUNT, BLOCK_ROWS),
        )
        euros = np.floor(_draw_prices(random, category)).astype(np.int64)
        cents = np.where(random.random(BLOCK_ROWS) < 0.2, 99, 0)
        words = draw_zipf_ranks(random, _WORD_COUNT, BLOCK_ROWS * _WORDS_PER_AD[1]).reshape(
            BLOCK_ROWS, -1
        )
        return {
            "category": category,
            "latitude": latitude,
            "longitude": longitude,
            "price": 100 * euros + cents,
            "has_price": random.random(BLOCK_ROWS) >= _WITHOUT_PRICE_SHARE,
            "condition": random.choice(
                len(_CONDITION_SHARES), BLOCK_ROWS, p=list(_CONDITION_SHARES.values())
            ),
            "kind": np.where(seller < _DEALER_COUNT, 0, 1),
            "seller": seller,
            "words": _rank_to_word()[words],
            "word_count": random.integers(*_WORDS_PER_AD, BLOCK_ROWS, endpoint=True),
        }

    def _draw_search_box(self, random: Random) -> Columns:
        latitude, longitude = self._draw_points(random)
        min_km, max_km = _REACH_RANGE_KM
        reach_km = min_km * (max_km / min_km) ** random.random(BLOCK_ROWS)
        north, east = _km_to_degrees(reach_km, reach_km, latitude)
        return {
            "south": _round_degrees(latitude - north),
            "north": _round_degrees(latitude + north),
            "west": _round_degrees(longitude - east),
            "east": _round_degrees(longitude + east),
        }

    def _draw_points(self, random: Random) -> tuple[Floats, Floats]:
        """Return latitudes and longitudes of points around towns that are drawn by Zipf's law."""
        latitudes, longitudes = _draw_towns(self.seed)
        town = draw_zipf_ranks(random, _TOWN_COUNT, BLOCK_ROWS, exponent=_TOWN_EXPONENT)
        offset_km = random.normal(0, _SPREAD_KM, (2, BLOCK_ROWS))
        north, east = _km_to_degrees(offset_km[0], offset_km[1], latitudes[town])
        return _round_degrees(latitudes[town] + north), _round_degrees(longitudes[town] + east)


def _make_schema() -> pa.Schema:
    return pa.schema(
        [
            ("category", pa.string()),
            ("latitude", pa.float64()),
            ("longitude", pa.float64()),
            ("price", pa.decimal128(_PRICE_TYPE.precision, _PRICE_TYPE.scale)),
            ("condition", pa.string()),
            ("seller_kind", pa.string()),
            ("seller", pa.string()),
            ("words", pa.list_(pa.string())),
        ]
    )


def _to_constraints(block: Columns) -> list[ConstraintColumn]:
    keywords = block["keywords"]
    is_word = keywords < _WORD_COUNT
    tokens = RaggedArray.from_lengths(
        is_word.sum(axis=1), make_vocabulary(_WORD_COUNT)[keywords[is_word]]
    )
    return [
        EqualityColumn("category", to_object_array(_MEDIAN_PRICE_BY_CATEGORY), block["category"]),
        constraints.make_double_intervals("latitude", block["south"], block["north"]),
        constraints.make_double_intervals("longitude", block["west"], block["east"]),
        IntervalColumn("price", _PRICE_TYPE, block["price_from"], block["price_to"]),
        ChoiceColumn("condition", _CONDITION_LISTS, block["condition"]),
        EqualityColumn("seller_kind", to_object_array(_SELLER_KINDS), block["kind"]),
        EqualityColumn("seller", _seller_names(), block["seller"]),
        KeywordColumn("words", tokens),
    ]


def _to_event_arrays(block: Columns) -> list[pa.Array]:
    money = _PRICE_TYPE.precision, _PRICE_TYPE.scale
    return [
        to_text_array(to_object_array(_MEDIAN_PRICE_BY_CATEGORY), block["category"]),
        pa.array(block["latitude"]),
        pa.array(block["longitude"]),
        to_decimal_array(block["price"], block["has_price"], *money),
        to_text_array(to_object_array(_CONDITION_SHARES), block["condition"]),
        to_text_array(to_object_array(_SELLER_KINDS), block["kind"]),
        to_text_array(_seller_names(), block["seller"]),
        to_tag_lists(make_vocabulary(_WORD_COUNT), block["words"], block["word_count"]),
    ]


def _draw_keywords(random: Random) -> Codes:
    """Return a row of three word numbers for each search; `_WORD_COUNT` means no word.

    The words of a row are distinct and ascending.
    """
    words = _rank_to_word()[
        draw_zipf_ranks(random, _WORD_COUNT, BLOCK_ROWS * _MAX_KEYWORDS)
    ].reshape(BLOCK_ROWS, -1)
    counts = 1 + random.choice(len(_KEYWORD_COUNT_SHARES), BLOCK_ROWS, p=_KEYWORD_COUNT_SHARES)
    counts[random.random(BLOCK_ROWS) >= _KEYWORDS_SHARE] = 0
    words[np.arange(_MAX_KEYWORDS) >= counts[:, None]] = _WORD_COUNT
    words.sort(axis=1)
    words[:, 1:][words[:, 1:] == words[:, :-1]] = _WORD_COUNT
    return words


def _draw_price_ranges(random: Random, category: Codes) -> Columns:
    price_eur = _draw_prices(random, category)
    reach = np.exp(random.uniform(*_LOG_PRICE_REACH, (2, BLOCK_ROWS)))
    lower = 100 * np.floor(price_eur / reach[0]).astype(np.int64)
    upper = 100 * np.ceil(np.minimum(price_eur * reach[1], _MAX_PRICE_EUR)).astype(np.int64)
    lower[random.random(BLOCK_ROWS) < _MAX_PRICE_ONLY_SHARE] = key_domain(_PRICE_TYPE).low
    return {"price_from": lower, "price_to": upper}


def _draw_prices(random: Random, category: Codes) -> Floats:
    """Return for each row a random price in euros, around the median price of its category."""
    median_eur = np.array(list(_MEDIAN_PRICE_BY_CATEGORY.values()), np.float64)[category]
    return np.minimum(
        median_eur * np.exp(random.normal(0, _LOG_PRICE_SPREAD, BLOCK_ROWS)), _MAX_PRICE_EUR
    )


def _leave_others_free(random: Random, share: float, codes: Codes) -> Codes:
    """Return the codes of a random share of the rows, and `UNCONSTRAINED` for all other rows."""
    return np.where(random.random(BLOCK_ROWS) < share, codes, UNCONSTRAINED)


def _km_to_degrees(north_km: Floats, east_km: Floats, latitude: Floats) -> tuple[Floats, Floats]:
    narrowing = np.cos(np.radians(latitude))
    return north_km / _KM_PER_DEGREE, east_km / (_KM_PER_DEGREE * narrowing)


def _round_degrees(degrees: Floats) -> Floats:
    return np.round(degrees, 5)  # about a metre


@lru_cache(maxsize=4)
def _draw_towns(seed: int) -> tuple[Floats, Floats]:
    random = make_generator(seed, "classifieds places")
    return random.uniform(*_LATITUDE_RANGE, _TOWN_COUNT), random.uniform(
        *_LONGITUDE_RANGE, _TOWN_COUNT
    )


@lru_cache(maxsize=1)
def _rank_to_word() -> Codes:
    """Return for each frequency rank the number of a word, as a random permutation."""
    return make_generator(0, "classifieds words").permutation(_WORD_COUNT)


@lru_cache(maxsize=1)
def _seller_names() -> NDArray[np.object_]:
    """Return the name of each seller; every tenth name has an apostrophe, which SQL must escape."""
    words = make_vocabulary(_SELLER_COUNT)[
        make_generator(0, "classifieds sellers").permutation(_SELLER_COUNT)
    ]
    return to_object_array(
        f"{word}'s" if i % 10 == 0 else word for i, word in enumerate(words.tolist())
    )
