"""Numbers as people read them."""

from __future__ import annotations

__all__ = ["share"]


def share(part: float, whole: float) -> str:
    """A part of a whole in per cent, with two digits where it is small.

    >>> share(1, 3), share(1, 100_000), share(0, 5), share(2, 2)
    ('33.3%', '0.001%', '0%', '100%')
    """
    percent = 100 * part / whole if whole else 0.0
    if percent in (0.0, 100.0):
        return f"{percent:.0f}%"
    return f"{percent:.1f}%" if percent >= 1 else f"{percent:.2g}%"
