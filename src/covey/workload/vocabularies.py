"""Vocabularies: distinct made-up words, the same in every process."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from covey.workload.block_rng import make_generator

__all__ = ["make_tickers", "make_vocabulary", "to_object_array"]

_CONSONANTS, _VOWELS = "bcdfghjklmnprstvwxyz", "aeiou"
_SYLLABLES = len(_CONSONANTS) * len(_VOWELS)
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@lru_cache(maxsize=8)
def make_vocabulary(count: int) -> NDArray[np.object_]:
    """Return `count` distinct words of three syllables, in alphabetical order.

    `count` is at most a million, the number of all such words.

    >>> make_vocabulary(50_000)[:3].tolist()
    ['babafu', 'babage', 'babame']
    """
    numbers = np.sort(make_generator(0, "words").choice(_SYLLABLES**3, count, replace=False))
    syllables = [consonant + vowel for consonant in _CONSONANTS for vowel in _VOWELS]
    return to_object_array(
        syllables[n // _SYLLABLES**2]
        + syllables[n // _SYLLABLES % _SYLLABLES]
        + syllables[n % _SYLLABLES]
        for n in numbers.tolist()
    )


@lru_cache(maxsize=8)
def make_tickers(count: int) -> NDArray[np.object_]:
    """Return `count` distinct words of four capital letters, in random order.

    `count` is at most 456,976, the number of all such words.

    >>> make_tickers(3).tolist()
    ['BFMM', 'YZKD', 'CWJL']
    """
    numbers = make_generator(0, "tickers").choice(len(_LETTERS) ** 4, count, replace=False)
    return to_object_array(
        "".join(_LETTERS[n // 26**k % 26] for k in range(4)) for n in numbers.tolist()
    )


def to_object_array(words: Iterable[str]) -> NDArray[np.object_]:
    """Return words as an array of Python strings, so that equal rows can share one string."""
    word_list = list(words)
    array = np.empty(len(word_list), object)
    array[:] = word_list
    return array
