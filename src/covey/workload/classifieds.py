"""Classified ads and the searches that people saved on them.

A search names a category and a price range, mostly a box round a place and often a condition or a
kind of seller; some follow one seller, and 60% give one to three keywords. Places, categories,
sellers and words follow Zipf's law, searches like ads. Prices are lognormal round their category's.
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
from covey.space.keys import domain
from covey.space.ragged import Ragged
from covey.space.types import decimal
from covey.workload import drawn
from covey.workload.arrow import decimals, record_batch, tags, texts
from covey.workload.drawn import FREE, Drawn, Equal, Intervals, Keywords, OneOf
from covey.workload.rows import BLOCK, Columns, columns, generator
from covey.workload.words import as_objects, vocabulary
from covey.workload.zipf import zipf

__all__ = ["Classifieds"]

# Each with the price, in euros, that half of its ads are below; the most frequent first.
_CATEGORIES = {
    "cars": 9000, "phones": 250, "furniture": 120, "flats to rent": 900, "clothing": 25,
    "bicycles": 300, "computers": 450, "houses": 280_000, "children": 30, "motorcycles": 3500,
    "garden": 80, "kitchen": 70, "books": 10, "games": 35, "audio": 150, "cameras": 280,
    "tools": 90, "car parts": 60, "sports": 75, "music": 200, "antiques": 110, "jewellery": 130,
    "pets": 180, "boats": 7000, "tickets": 65,
}  # fmt: skip
_CONDITIONS = {"new": 0.20, "like new": 0.25, "good": 0.35, "fair": 0.12, "for parts": 0.08}
_CONDITION_LISTS = tuple(c for k in (1, 2, 3) for c in combinations(_CONDITIONS, k))
_KINDS = ("dealer", "private")

_PLACES, _PLACE_EXPONENT = 10_000, 0.7
_LATITUDES, _LONGITUDES = (36.0, 60.0), (-10.0, 30.0)
_KM_PER_DEGREE = 111.2
_SPREAD_KM = 10.0  # of ads and searches round their place
_REACH_KM = (5.0, 100.0)  # from a search's centre to the sides of its box

_PRICE_SPREAD = 0.8  # standard deviation of the logarithm
_PRICE_REACH = (0.02, 0.10)  # from a search's price to its ends, on the same scale
_DEAREST = 99_999_000  # euros
_MONEY = decimal(10, 2)

_SELLERS, _DEALERS = 100_000, 100  # the busiest are dealers
_WORDS, _WORDS_PER_AD, _MOST_KEYWORDS = 50_000, (5, 15), 3
_KEYWORDS = (0.50, 0.35, 0.15)  # how many give 1, 2, 3 of those who give any

_WITH_KEYWORDS = 0.60
_WITH_CONDITION = 0.50
_WITH_KIND = 0.25
_WITH_SELLER = 0.03
_UP_TO = 0.08  # searches with a highest price only
_ON_REQUEST = 0.04  # ads without a price

Random = np.random.Generator
Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Classifieds:
    """Saved searches and ads. Matches per ad at 8M subscriptions: about 30.

    Extrapolated from 1.9 at 500,000 by `python tests/workload/test_matches.py classifieds 500000
    1000`; expected matches are proportional to the number of subscriptions.
    """

    seed: int = 0

    @property
    def name(self) -> str:
        return "classifieds"

    @property
    def space(self) -> Space:
        return Space.from_arrow(_schema())

    def regions(self, start: int, stop: int) -> Regions:
        return drawn.regions(self.space, self._subscriptions(start, stop))

    def predicates(self, start: int, stop: int) -> list[str]:
        return drawn.predicates(self._subscriptions(start, stop))

    def events(self, start: int, stop: int) -> pa.RecordBatch:
        ads = columns(start, stop, self.seed, "classifieds events", self._draw_ads)
        return record_batch(_schema(), ads, _ads)

    def _subscriptions(self, start: int, stop: int) -> Iterator[list[Drawn]]:
        purpose = "classifieds subscriptions"
        return map(_searches, columns(start, stop, self.seed, purpose, self._draw_searches))

    def _draw_searches(self, random: Random) -> Columns:
        category = zipf(random, len(_CATEGORIES), BLOCK)
        seller = _some(random, _WITH_SELLER, zipf(random, _SELLERS, BLOCK))
        kind = _some(random, _WITH_KIND, random.integers(0, len(_KINDS), BLOCK))
        conditions = random.integers(0, len(_CONDITION_LISTS), BLOCK)
        return {
            "category": category,
            "condition": _some(random, _WITH_CONDITION, conditions),
            "kind": np.where(seller == FREE, kind, FREE),
            "seller": seller,
            "keywords": _draw_keywords(random),
            **self._draw_box(random),
            **_draw_price_range(random, category),
        }

    def _draw_ads(self, random: Random) -> Columns:
        latitude, longitude = self._draw_point(random)
        category, seller = zipf(random, len(_CATEGORIES), BLOCK), zipf(random, _SELLERS, BLOCK)
        euros = np.floor(_draw_price(random, category)).astype(np.int64)
        cents = np.where(random.random(BLOCK) < 0.2, 99, 0)
        words = zipf(random, _WORDS, BLOCK * _WORDS_PER_AD[1]).reshape(BLOCK, -1)
        return {
            "category": category,
            "latitude": latitude,
            "longitude": longitude,
            "price": 100 * euros + cents,
            "has_price": random.random(BLOCK) >= _ON_REQUEST,
            "condition": random.choice(len(_CONDITIONS), BLOCK, p=list(_CONDITIONS.values())),
            "kind": np.where(seller < _DEALERS, 0, 1),
            "seller": seller,
            "words": _rank_to_word()[words],
            "word_count": random.integers(*_WORDS_PER_AD, BLOCK, endpoint=True),
        }

    def _draw_box(self, random: Random) -> Columns:
        latitude, longitude = self._draw_point(random)
        least, most = _REACH_KM
        reach_km = least * (most / least) ** random.random(BLOCK)
        north, east = _degrees(reach_km, reach_km, latitude)
        return {
            "south": _rounded(latitude - north),
            "north": _rounded(latitude + north),
            "west": _rounded(longitude - east),
            "east": _rounded(longitude + east),
        }

    def _draw_point(self, random: Random) -> tuple[Floats, Floats]:
        """Latitudes and longitudes round Zipf places."""
        latitudes, longitudes = _places(self.seed)
        place = zipf(random, _PLACES, BLOCK, _PLACE_EXPONENT)
        off_km = random.normal(0, _SPREAD_KM, (2, BLOCK))
        north, east = _degrees(off_km[0], off_km[1], latitudes[place])
        return _rounded(latitudes[place] + north), _rounded(longitudes[place] + east)


def _schema() -> pa.Schema:
    return pa.schema(
        [
            ("category", pa.string()),
            ("latitude", pa.float64()),
            ("longitude", pa.float64()),
            ("price", pa.decimal128(_MONEY.precision, _MONEY.scale)),
            ("condition", pa.string()),
            ("seller_kind", pa.string()),
            ("seller", pa.string()),
            ("words", pa.list_(pa.string())),
        ]
    )


def _searches(part: Columns) -> list[Drawn]:
    keywords = part["keywords"]
    given = keywords < _WORDS
    tokens = Ragged.from_lengths(given.sum(axis=1), vocabulary(_WORDS)[keywords[given]])
    return [
        Equal("category", as_objects(_CATEGORIES), part["category"]),
        drawn.doubles("latitude", part["south"], part["north"]),
        drawn.doubles("longitude", part["west"], part["east"]),
        Intervals("price", _MONEY, part["price_from"], part["price_to"]),
        OneOf("condition", _CONDITION_LISTS, part["condition"]),
        Equal("seller_kind", as_objects(_KINDS), part["kind"]),
        Equal("seller", _seller_names(), part["seller"]),
        Keywords("words", tokens),
    ]


def _ads(part: Columns) -> list[pa.Array]:
    money = _MONEY.precision, _MONEY.scale
    return [
        texts(as_objects(_CATEGORIES), part["category"]),
        pa.array(part["latitude"]),
        pa.array(part["longitude"]),
        decimals(part["price"], part["has_price"], *money),
        texts(as_objects(_CONDITIONS), part["condition"]),
        texts(as_objects(_KINDS), part["kind"]),
        texts(_seller_names(), part["seller"]),
        tags(vocabulary(_WORDS), part["words"], part["word_count"]),
    ]


def _draw_keywords(random: Random) -> Codes:
    """Up to three words a row, in order and each once; what is not a word is `_WORDS`."""
    words = _rank_to_word()[zipf(random, _WORDS, BLOCK * _MOST_KEYWORDS)].reshape(BLOCK, -1)
    counts = 1 + random.choice(len(_KEYWORDS), BLOCK, p=_KEYWORDS)
    counts[random.random(BLOCK) >= _WITH_KEYWORDS] = 0
    words[np.arange(_MOST_KEYWORDS) >= counts[:, None]] = _WORDS
    words.sort(axis=1)
    words[:, 1:][words[:, 1:] == words[:, :-1]] = _WORDS
    return words


def _draw_price_range(random: Random, category: Codes) -> Columns:
    wanted = _draw_price(random, category)
    reach = np.exp(random.uniform(*_PRICE_REACH, (2, BLOCK)))
    lower = 100 * np.floor(wanted / reach[0]).astype(np.int64)
    upper = 100 * np.ceil(np.minimum(wanted * reach[1], _DEAREST)).astype(np.int64)
    lower[random.random(BLOCK) < _UP_TO] = domain(_MONEY).low
    return {"price_from": lower, "price_to": upper}


def _draw_price(random: Random, category: Codes) -> Floats:
    usual = np.array(list(_CATEGORIES.values()), np.float64)[category]
    return np.minimum(usual * np.exp(random.normal(0, _PRICE_SPREAD, BLOCK)), _DEAREST)


def _some(random: Random, share: float, codes: Codes) -> Codes:
    """The codes, for all but a share of the rows left free."""
    return np.where(random.random(BLOCK) < share, codes, FREE)


def _degrees(north_km: Floats, east_km: Floats, latitude: Floats) -> tuple[Floats, Floats]:
    narrowing = np.cos(np.radians(latitude))
    return north_km / _KM_PER_DEGREE, east_km / (_KM_PER_DEGREE * narrowing)


def _rounded(degrees: Floats) -> Floats:
    return np.round(degrees, 5)  # about a metre


@lru_cache(maxsize=4)
def _places(seed: int) -> tuple[Floats, Floats]:
    random = generator(seed, "classifieds places")
    return random.uniform(*_LATITUDES, _PLACES), random.uniform(*_LONGITUDES, _PLACES)


@lru_cache(maxsize=1)
def _rank_to_word() -> Codes:
    """Which word is the most frequent, the next, …: none of it has to do with the alphabet."""
    return generator(0, "classifieds words").permutation(_WORDS)


@lru_cache(maxsize=1)
def _seller_names() -> NDArray[np.object_]:
    words = vocabulary(_SELLERS)[generator(0, "classifieds sellers").permutation(_SELLERS)]
    return as_objects(f"{word}'s" if i % 10 == 0 else word for i, word in enumerate(words.tolist()))
