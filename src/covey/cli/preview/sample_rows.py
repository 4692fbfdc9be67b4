"""A sample of events as a table that fits the terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from rich.table import Table
from rich.text import Text

from covey.cli.console_format import to_row_limit
from covey.sql_names import quote_identifier

__all__ = ["SampleRows", "fetch_sample_rows", "make_sample_table"]

_MAX_COLUMN_WIDTH = 30

SampleRows = list[dict[str, str | None]]


def fetch_sample_rows(events: DataFrame, max_rows: int) -> SampleRows:
    """Return at most `max_rows` events, with values as texts in Spark's format.

    Times are in the time zone of the session; null values are None.
    """
    columns = [F.col(quote_identifier(name)).cast("string").alias(name) for name in events.columns]
    return [row.asDict() for row in events.limit(to_row_limit(max_rows)).select(*columns).collect()]


def make_sample_table(
    rows: SampleRows, predicate: str, time_column: str | None, max_width: int
) -> tuple[Table, int]:
    """Return a table of the rows, and the number of columns that were left out.

    Columns that the predicate names come first, then the time, then the others.
    """
    names = list(rows[0])
    named = [name for name in names if re.search(rf"\b{re.escape(name)}\b", predicate, re.I)]
    first = [*named, time_column] if time_column is not None and time_column not in named else named
    shown = _select_fitting_columns(
        first + [name for name in names if name not in first], rows, max_width
    )
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in shown:
        made.add_column(Text(name), no_wrap=True, max_width=_MAX_COLUMN_WIDTH, overflow="ellipsis")
    for row in rows:
        values = [row[name] for name in shown]
        made.add_row(*(Text("null", "dim") if v is None else Text(_to_one_line(v)) for v in values))
    return made, len(names) - len(shown)


def _select_fitting_columns(names: Sequence[str], rows: SampleRows, max_width: int) -> list[str]:
    """Return the names of the first columns that fit on a line of `max_width` characters.

    At least one name is returned.
    """
    shown: list[str] = []
    for name in names:
        widest = max(len(name), *(len(_to_one_line(row[name] or "null")) for row in rows))
        max_width -= min(widest, _MAX_COLUMN_WIDTH) + 2
        if shown and max_width < -2:
            break
        shown.append(name)
    return shown


def _to_one_line(value: str) -> str:
    return value.replace("\n", " ")
