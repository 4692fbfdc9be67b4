"""Tables without lines, as summaries have them."""

from __future__ import annotations

from rich.table import Table

__all__ = ["grid"]


def grid(numbers: int = 1) -> Table:
    """A column of names, so many of numbers, which are to the right, and one of words."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    for _ in range(numbers):
        table.add_column(justify="right", no_wrap=True)
    table.add_column()
    return table
