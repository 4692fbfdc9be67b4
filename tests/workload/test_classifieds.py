"""Classifieds have the documented shape."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from covey.geometry.regions import Constraints
from covey.geometry.scalars import ONLY, Scalars
from covey.geometry.tags import Tags
from covey.space.events import ValueState
from covey.space.keys import decode_floats, key_domain
from covey.space.types import DOUBLE, decimal_type
from covey.workload import Classifieds

COUNT = 50_000


@pytest.fixture(scope="module")
def constraints() -> dict[str, Constraints]:
    return dict(Classifieds().generate_regions(0, COUNT).constraints)


def test_attributes_are_constrained_with_the_documented_shares(
    constraints: dict[str, Constraints],
) -> None:
    shares = {
        name: len(column_constraints.rows) / COUNT
        for name, column_constraints in constraints.items()
    }
    assert shares == pytest.approx(
        {
            "category": 1, "latitude": 1, "longitude": 1, "price": 1, "condition": 0.5,
            "seller_kind": 0.97 * 0.25, "seller": 0.03, "words": 0.6,
        },
        abs=0.01,
    )  # fmt: skip


def test_searches_have_one_to_three_distinct_keywords(constraints: dict[str, Constraints]) -> None:
    words = constraints["words"].batch
    assert isinstance(words, Tags)
    assert (words.tokens.lengths == 1).all()
    assert np.bincount(words.groups.lengths)[1:] / len(words) == pytest.approx(
        [0.5, 0.35, 0.15], abs=0.02
    )
    for i in range(200):
        rule = words.row(i)
        tokens = words.tokens.values[words.groups.row(i)].tolist()
        assert tokens == sorted({token for group in rule.groups for token in group})
        assert rule == rule.normalize()
        assert (rule.states, rule.forbidden, rule.only) == (ValueState.VALUE, frozenset(), None)


def test_boxes_reach_5_to_100_km(constraints: dict[str, Constraints]) -> None:
    latitude = constraints["latitude"].batch
    assert isinstance(latitude, Scalars)
    heights = decode_floats(latitude.upper, DOUBLE) - decode_floats(latitude.lower, DOUBLE)
    reach_km = heights * 111.2 / 2
    assert (reach_km.min(), reach_km.max()) == pytest.approx((5, 100), rel=0.01)
    assert np.median(reach_km) == pytest.approx(np.sqrt(5 * 100), rel=0.05)


def test_conditions_are_lists_of_one_to_three(constraints: dict[str, Constraints]) -> None:
    condition = constraints["condition"].batch
    assert isinstance(condition, Scalars)
    assert sorted(set(condition.lists.lengths[condition.listed == ONLY].tolist())) == [2, 3]
    assert (
        condition.lower[condition.listed != ONLY] == condition.upper[condition.listed != ONLY]
    ).all()


def test_prices_are_ranges_or_an_upper_bound(constraints: dict[str, Constraints]) -> None:
    price, money = constraints["price"].batch, key_domain(decimal_type(10, 2))
    assert isinstance(price, Scalars)
    assert (price.upper < money.high).all()
    assert np.mean(price.lower == money.low) == pytest.approx(0.08, abs=0.01)


def test_ads_have_the_documented_shape() -> None:
    ads = Classifieds().generate_events(0, COUNT)
    lengths = Counter(len(words) for words in ads.column("words").to_pylist())
    assert sorted(lengths) == list(range(5, 16))
    assert ads.column("price").null_count / COUNT == pytest.approx(0.04, abs=0.01)
    assert len(set(ads.column("category").to_pylist())) == 25
    sellers = zip(
        ads.column("seller").to_pylist(), ads.column("seller_kind").to_pylist(), strict=True
    )
    # a seller is always of the same kind
    assert max(Counter(seller for seller, _ in set(sellers)).values()) == 1


def test_searches_and_ads_prefer_the_same_values(constraints: dict[str, Constraints]) -> None:
    ads, category, words = (
        Classifieds().generate_events(0, COUNT),
        constraints["category"].batch,
        constraints["words"].batch,
    )
    assert isinstance(category, Scalars)
    assert isinstance(words, Tags)
    assert _top(category.lower.tolist()) == _top(ads.column("category").to_pylist()) == "cars"
    assert _top(words.tokens.values.tolist()) == _top(ads.column("words").flatten().to_pylist())


def _top(texts: list[str]) -> str:
    return Counter(texts).most_common(1)[0][0]


def test_classifieds_have_the_expected_texts() -> None:
    texts = Classifieds().generate_predicates(0, 201)
    assert texts[3] == (
        "category = 'tools' AND latitude BETWEEN 43.13753D AND 43.27131D "
        "AND longitude BETWEEN 26.31962D AND 26.50314D AND price BETWEEN 177.00 AND 196.00 "
        "AND array_contains(words, 'bikofo') AND array_contains(words, 'hulapu')"
    )
    assert texts[1].endswith("condition IN ('new', 'good', 'for parts')")
    assert texts[200].endswith(r"seller = 'nureva\'s'")
