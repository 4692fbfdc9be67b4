"""Quoting of column names, so that Spark SQL reads each name unchanged."""

from __future__ import annotations

import re

__all__ = ["quote_identifier"]

_RESERVED_WORDS = (
    "true false null and or not in is like ilike rlike between exists case when then else end cast"
    " interval current_date current_timestamp current_time current_user localtimestamp user"
    " session_user array map struct if any some all distinct select from where"
)
_KEYWORDS = frozenset(_RESERVED_WORDS.split())
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def quote_identifier(name: str, *, is_field: bool = False) -> str:
    """Return the name of a column as Spark SQL, in backticks if it may need them.

    Args:
        name: the name of a column, or of a field of a struct column.
        is_field: whether `name` is a field. A field that is named like a keyword needs no
            backticks.

    >>> quote_identifier("price"), quote_identifier("to`day")
    ('price', '`to``day`')
    >>> quote_identifier("select"), quote_identifier("select", is_field=True)
    ('`select`', 'select')
    """
    if _PLAIN_NAME.fullmatch(name) and (is_field or name.lower() not in _KEYWORDS):
        return name
    return "`" + name.replace("`", "``") + "`"
