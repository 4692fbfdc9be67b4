"""Numbers and grids as commands print them on the console."""

from __future__ import annotations

from rich.table import Table

__all__ = ["format_percent", "make_grid"]


def format_percent(part: float, whole: float) -> str:
    """A part of a whole in per cent, with two digits where it is small.

    >>> format_percent(1, 3), format_percent(1, 100_000), format_percent(0, 5), format_percent(2, 2)
    ('33.3%', '0.001%', '0%', '100%')
    """
    percent = 100 * part / whole if whole else 0.0
    if percent in (0.0, 100.0):
        return f"{percent:.0f}%"
    return f"{percent:.1f}%" if percent >= 1 else f"{percent:.2g}%"


def make_grid(number_columns: int = 1) -> Table:
    """A column of names, so many of numbers, which are to the right, and one of words."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    for _ in range(number_columns):
        table.add_column(justify="right", no_wrap=True)
    table.add_column()
    return table
