"""Numeric literals: rounded once, and compared with keys exactly for every guess."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.language.values.coercion import _find_first
from covey.language.values.literals import (
    decode_literal,
    list_element_types,
    round_to_float32,
    unquote,
)


def nearest(number: Decimal) -> float:
    """Return the float32 next to a number; of two equally near ones, that with last bit 0."""
    with localcontext(prec=1200):
        middle = np.float32(float(number))
        neighbours = [np.nextafter(middle, np.float32(to)) for to in (-np.inf, np.inf)]
        finite = [f for f in (middle, *neighbours) if np.isfinite(f)]
        return float(
            min(finite, key=lambda f: (abs(Decimal(float(f)) - number), f.view(np.uint32) % 2))
        )


@given(st.floats(width=32, allow_nan=False, allow_infinity=False), st.integers(-3, 3))
def test_a_number_half_way_between_two_floats_is_rounded_once(single: float, by: int) -> None:
    with localcontext(prec=1200):
        above = float(np.nextafter(np.float32(single), np.float32(np.inf)))
        if not np.isfinite(above):
            return
        number = (Decimal(single) + Decimal(above)) / 2 + by * Decimal(2) ** -400
    assert float(round_to_float32(number)) == nearest(number)


@given(
    st.decimals(
        allow_nan=False, allow_infinity=False, min_value=-Decimal(10**38), max_value=Decimal(10**38)
    )
)
def test_any_number_becomes_the_nearest_float(number: Decimal) -> None:
    assert float(round_to_float32(number)) == nearest(number)


@given(st.integers(-50, 50), st.integers(0, 60), st.integers(-99, 99), st.integers(-60, 60))
def test_a_guess_does_not_change_the_result(low: int, count: int, guess: int, at: int) -> None:
    expected = min(max(at, low), low + count)
    assert _find_first(low, low + count, guess, lambda key: key >= at) == expected


def test_a_good_guess_needs_few_comparisons() -> None:
    compared_keys: list[int] = []

    def holds(key: int) -> bool:
        compared_keys.append(key)
        return key >= 1234567

    assert _find_first(-(1 << 63), 1 << 63, 1234566, holds) == 1234567
    assert len(compared_keys) <= 4


@pytest.mark.parametrize(
    "raw",
    [
        "1e5", "1.5E3D", "-2F", "+1.5e0F", "3L", "7Y", "1.50", "99999999999", "'a'", "- 5.5e1",
        "-5", "+ 7", "- 12345678901", "-2147483648", "007.100BD", "0.000", "-12BD", ".5", "5.",
        "12345678901234567890123456789012345.5",
    ],
)  # fmt: skip
def test_the_type_of_a_literal_is_known_before_it_is_decoded(raw: str) -> None:
    assert list_element_types(f"({raw})") == (decode_literal(raw).type,)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (r"'a\nb'", "a\nb"), (r"'\101\u00e9\U0001F600'", "Aé😀"), (r"'\u12'", "u12"),
        (r"'\%\_\x'", r"\%\_x"), ("'it''s'", "it's"), ('"a""b\'\'"', 'a"b\'\''),
        (r"'\ud83d\ude00 \ud83d'", "😀 ?"), (r"'\U99999999'", "?"), (r"'\\'", "\\"),
        (r"'\8\018'", "8" + chr(0) + "18"),
    ],
)  # fmt: skip
def test_escapes_are_decoded_like_spark(raw: str, text: str) -> None:
    assert unquote(raw) == text
