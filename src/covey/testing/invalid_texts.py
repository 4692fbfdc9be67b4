"""Invalid predicate texts for tests of the parser, from noise to slightly damaged predicates."""

from __future__ import annotations

import random

from hypothesis import strategies as st

from covey.space import Space
from covey.testing.random_cases import random_predicate

__all__ = ["malformed_predicates"]

_TOKEN_TEXT = (
    r"a b c d price city day ts tags vec flag `x y` AND OR NOT IN BETWEEN LIKE IS NULL TRUE FALSE "
    r"CASE WHEN THEN ELSE END CAST AS INT DATE TIMESTAMP DECIMAL(10,2) ARRAY<FLOAT> array( lower( "
    r"array_contains( arrays_overlap( vector_l2_distance( if( coalesce( f( ( ) [ ] { } , . ; : ? * "
    r"/ % + - || = == <> != < <= > >= <=> & | ^ ~ ! -> => :: ' '' ` \ -- /* */ 0 1 5. .5 1e3 "
    r"1e400 99999999999999999999999999999999999999 -9223372036854775808 1.5BD 3L 0x1F 'x' 'it''s' "
    r"'\u0041' r'\' X'1F' '2024-02-30' INTERVAL 1 DAY SELECT FROM WHERE EXISTS ESCAPE DISTINCT é "
    r"😀"
)
_TOKENS = _TOKEN_TEXT.split(" ")
_CONTROL_CHARACTERS = ["\0", "\n", "\t", "\u2028", '"']


def malformed_predicates(space: Space) -> st.SearchStrategy[str]:
    """Return a strategy that draws random characters, random words, and damaged predicates.

    A few of these texts are valid predicates by chance.
    """
    words = st.lists(st.sampled_from(_TOKENS + _CONTROL_CHARACTERS), max_size=14).map(" ".join)
    joined = st.lists(st.sampled_from(_TOKENS + _CONTROL_CHARACTERS), max_size=10).map("".join)
    return st.one_of(
        st.text(max_size=40),
        words,
        joined,
        st.integers(0, 2**63).map(lambda s: _damage_predicate(s, space)),
    )


def _damage_predicate(seed: int, space: Space) -> str:
    """Return a random predicate with one to four pieces deleted, doubled, reversed or inserted."""
    rng = random.Random(seed)
    text = random_predicate(rng, space, depth=rng.choice([0, 1, 2]))
    for _ in range(rng.choice([1, 1, 2, 4])):
        i, j = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        piece = text[i : min(j, i + rng.choice([1, 2, 5, 20]))]
        tail = text[i + len(piece) :]
        new = rng.choice(
            ["", piece * 2, piece[::-1], rng.choice(_TOKENS), piece + rng.choice(_TOKENS)]
        )
        text = text[:i] + new + tail
    return text
