"""The clock of predicates: the time that `current_timestamp()` and similar functions return.

Spark evaluates these functions, and uses one time for a whole batch. To repeat a past batch, they
are replaced by its time.
"""

from __future__ import annotations

import re

from covey.language.values.literals import SLOT_MARK, extract_literals

__all__ = ["bind_clock"]

_CALL = re.compile(r"(?<![\w`])(current_timestamp|current_date|localtimestamp)\(\)")
_CASTS = {
    "current_timestamp": "{}",
    "current_date": "CAST({} AS DATE)",
    "localtimestamp": "CAST({} AS TIMESTAMP_NTZ)",
}


def bind_clock(sql: str, time_ms: int) -> str:
    """Return a canonical expression with a fixed time in place of calls of the clock.

    Args:
        sql: the expression.
        time_ms: the time, in milliseconds since 1970.

    >>> bind_clock("(ts > current_timestamp())", 1500)
    '(ts > timestamp_millis(1500L))'
    >>> bind_clock("(note = 'current_date()')", 1500)
    "(note = 'current_date()')"
    """
    if not _CALL.search(sql):
        return sql
    template, raws = extract_literals(sql)
    pieces = _CALL.sub(
        lambda call: _CASTS[call[1]].format(f"timestamp_millis({time_ms}L)"), template
    ).split(SLOT_MARK)
    return "".join(map("".join, zip(pieces, [*raws, ""], strict=True)))
