"""Some events as a table that fits the terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from rich.table import Table
from rich.text import Text

from covey.quoting import quoted

__all__ = ["Cells", "cells", "table"]

_WIDEST = 30

Cells = list[dict[str, str | None]]


def cells(events: DataFrame, count: int) -> Cells:
    """Some rows as Spark writes values as text, times in the session's zone."""
    columns = [F.col(quoted(name)).cast("string").alias(name) for name in events.columns]
    return [row.asDict() for row in events.limit(count).select(*columns).collect()]


def table(rows: Cells, predicate: str, time: str | None, width: int) -> tuple[Table, int]:
    """The rows, and how many columns were left out.

    Columns that the predicate names come first, then the time, then the others.
    """
    names = list(rows[0])
    named = [name for name in names if re.search(rf"\b{re.escape(name)}\b", predicate, re.I)]
    first = [*named, time] if time is not None and time not in named else named
    shown = _fitting(first + [name for name in names if name not in first], rows, width)
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in shown:
        made.add_column(Text(name), no_wrap=True, max_width=_WIDEST, overflow="ellipsis")
    for row in rows:
        values = [row[name] for name in shown]
        made.add_row(*(Text("null", "dim") if v is None else Text(_line(v)) for v in values))
    return made, len(names) - len(shown)


def _fitting(names: Sequence[str], rows: Cells, width: int) -> list[str]:
    """The first columns that a line has room for, one at least."""
    shown: list[str] = []
    for name in names:
        widest = max(len(name), *(len(_line(row[name] or "null")) for row in rows))
        width -= min(widest, _WIDEST) + 2
        if shown and width < -2:
            break
        shown.append(name)
    return shown


def _line(value: str) -> str:
    return value.replace("\n", " ")
