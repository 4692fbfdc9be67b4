"""Console, numbers and grids for the output of commands."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

__all__ = ["format_percent", "make_console", "make_grid", "to_row_limit"]


def make_console(*, stderr: bool = False) -> Console:
    """Return a console that prints texts unchanged: markup and emoji codes of rich are off.

    Ids, predicates, column names and paths may contain such codes: `[/red]` would be an error,
    `[red]` would disappear, and `:heart:` would become an emoji. For style, use `rich.text.Text`.
    """
    return Console(stderr=stderr, markup=False, emoji=False)


def format_percent(part: float, whole: float) -> str:
    """Return a part of a whole as a percentage, with two significant digits if it is below 1%.

    >>> format_percent(1, 3), format_percent(1, 100_000), format_percent(0, 5), format_percent(2, 2)
    ('33.3%', '0.001%', '0%', '100%')
    """
    percent = 100 * part / whole if whole else 0.0
    if percent in (0.0, 100.0):
        return f"{percent:.0f}%"
    return f"{percent:.1f}%" if percent >= 1 else f"{percent:.2g}%"


def to_row_limit(max_rows: int) -> int:
    """Return a row limit that Spark accepts: `max_rows`, but at most 2³¹ - 1."""
    return min(max_rows, (1 << 31) - 1)


def make_grid(number_columns: int = 1) -> Table:
    """Return an empty grid with a column for names, columns for numbers, and a column for words.

    Args:
        number_columns: number of the columns for numbers, which are right-aligned.
    """
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    for _ in range(number_columns):
        table.add_column(justify="right", no_wrap=True)
    table.add_column()
    return table
