"""Names of columns as Spark reads them back."""

from __future__ import annotations

import re

__all__ = ["quoted"]

_WORDS = (
    "true false null and or not in is like ilike rlike between exists case when then else end cast"
    " interval current_date current_timestamp current_time current_user localtimestamp user"
    " session_user array map struct if any some all distinct select from where"
)
_KEYWORDS = frozenset(_WORDS.split())
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def quoted(name: str, is_field: bool = False) -> str:
    """A column's name, or that of a field in one, as Spark reads it back.

    >>> quoted("price"), quoted("to`day"), quoted("select"), quoted("select", is_field=True)
    ('price', '`to``day`', '`select`', 'select')
    """
    if _NAME.fullmatch(name) and (is_field or name.lower() not in _KEYWORDS):
        return name
    return "`" + name.replace("`", "``") + "`"
