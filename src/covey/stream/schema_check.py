"""Check of the schema of events before Spark starts, so that a mistake is reported at once.

Only some mistakes are found: unknown types, columns without a type, brackets that do not match, and
Avro schemas that are not JSON of a record. Spark reads the schema later and may find more.
"""

from __future__ import annotations

import json
import re
from difflib import get_close_matches

from covey.errors import InvalidArgumentError

__all__ = ["check_event_schema", "list_schema_columns"]

_TYPES = (
    "BIGINT", "BINARY", "BOOLEAN", "BYTE", "CHAR", "CHARACTER", "DATE", "DEC", "DECIMAL", "DOUBLE",
    "FLOAT", "GEOGRAPHY", "GEOMETRY", "INT", "INTEGER", "INTERVAL", "LONG", "NUMERIC", "REAL",
    "SHORT", "SMALLINT", "STRING", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "TINYINT",
    "VARCHAR", "VARIANT", "VOID", "ARRAY", "MAP", "STRUCT",
)  # fmt: skip
_COLUMN = re.compile(r"\s*(`(?:[^`]|``)+`|[^\s:`<>(),]+)\s*:?\s*(.*)", re.DOTALL)
_TYPE_NAME = re.compile(r"\s*([A-Za-z_]+)\s*(.*)", re.DOTALL)
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)


def check_event_schema(schema: str, format_: str) -> None:
    """Raise an error if a schema of events has a mistake that can be found without Spark.

    Args:
        schema: columns such as `title STRING, price DOUBLE`, or the Avro schema of a record, as
            JSON.
        format_: `json` for columns, `avro` for an Avro schema.

    Raises:
        InvalidArgumentError: the schema is wrong.

    >>> check_event_schema("title STRING, price DOUBEL", "json")
    Traceback (most recent call last):
    covey.errors.InvalidArgumentError: [events] schema: column price has the unknown type DOUBEL, \
did you mean DOUBLE?
    """
    if format_ == "avro":
        _check_avro(schema)
    else:
        for column, type_text in _split_columns(schema):
            _check_type(column, type_text)


def list_schema_columns(schema: str, format_: str) -> list[str]:
    """Return the names of the columns of a schema that `check_event_schema` accepts."""
    if format_ == "avro":
        return [str(field["name"]) for field in json.loads(schema)["fields"]]
    names = [column for column, _ in _split_columns(schema)]
    return [n[1:-1].replace("``", "`") if n.startswith("`") else n for n in names]


def _check_avro(schema: str) -> None:
    try:
        record = json.loads(schema)
    except ValueError as error:
        raise InvalidArgumentError(
            f"[events] schema is not the Avro schema of a record: it is not JSON ({error})"
        ) from None
    if not isinstance(record, dict) or record.get("type") != "record":
        raise InvalidArgumentError(
            '[events] schema is not the Avro schema of a record: its "type" must be "record"'
        )
    fields = record.get("fields")
    if not isinstance(fields, list) or not all(isinstance(f, dict) and "name" in f for f in fields):
        raise InvalidArgumentError(
            '[events] schema is not the Avro schema of a record: its "fields" must be a list '
            'of objects with a "name"'
        )


def _split_columns(schema: str) -> list[tuple[str, str]]:
    """Return the name and the type of each column of a Spark schema, as they are written."""
    body = _QUOTED.sub("''", schema).strip()  # empties the texts of comments on columns
    if outer := re.fullmatch(r"(?i)struct\s*<(.*)>", body, re.DOTALL):
        body = outer[1]
    columns = []
    for number, part in enumerate(_split_at_commas(body), start=1):
        found = _COLUMN.fullmatch(part)
        if found is None or not found[2].strip():
            raise InvalidArgumentError(
                f"[events] schema: column {number} ({part.strip() or 'empty'}) has no type; write "
                "NAME TYPE, with commas between columns: symbol STRING, price DOUBLE"
            )
        columns.append((found[1], found[2]))
    return columns


def _split_at_commas(text: str) -> list[str]:
    """Split a text at its commas, except commas in brackets or in names between backticks."""
    parts, depth, start, is_name = [], 0, 0, False
    for place, sign in enumerate(text):
        is_name ^= sign == "`"
        if is_name:
            continue
        depth += (sign in "<(") - (sign in ">)")
        if depth < 0:
            break
        if sign == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    if depth:
        raise InvalidArgumentError(f"[events] schema: the brackets do not match in {text!r}")
    return [*parts, text[start:]]


def _check_type(column: str, type_text: str) -> None:
    found = _TYPE_NAME.match(type_text)
    name = "" if found is None else found[1].upper()
    if found is None or name not in _TYPES:
        shown = found[1] if found is not None else type_text.strip()
        near = get_close_matches(shown.upper(), _TYPES, 1)
        known = f": the types of Spark are {', '.join(_TYPES)}"
        hint = f", did you mean {near[0]}?" if near else known
        raise InvalidArgumentError(
            f"[events] schema: column {column} has the unknown type {shown}{hint}"
        )
    inner = re.match(r"\s*<(.*)>", found[2], re.DOTALL)
    if inner is not None and name == "ARRAY":
        _check_type(column, inner[1])
    elif inner is not None and name == "MAP":
        for part in _split_at_commas(inner[1]):
            _check_type(column, part)
    elif inner is not None and name == "STRUCT" and inner[1].strip():
        for field, field_type in _split_columns(inner[1]):
            _check_type(f"{column}.{field}", field_type)
