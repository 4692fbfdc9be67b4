"""Columns of tables: their names are read before Spark starts where that is cheap, and checked.

The header of a CSV or Parquet file on this machine is read without Spark, so that a wrong file or
option is reported at once. Spark reads the whole table later, and may find more.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DoubleType

from covey.cli.io.formats import FileFormat, is_local_path
from covey.cli.io.sources import TableSource
from covey.errors import InvalidArgumentError
from covey.sql_names import quote_identifier

__all__ = [
    "check_columns",
    "check_subscription_columns",
    "read_events",
    "read_header",
]

_MAX_CHECKED_ROWS = 100_000
_PARQUET_MAGIC = (b"PAR1", b"PARE")
_OTHER_DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}


def read_header(source: TableSource) -> list[str] | None:
    """Return the names of the columns of a table, or None if only Spark can find them.

    They are read from a single CSV or Parquet file on this machine, unless the user gives a schema.
    In CSV, the number of values in each of the first 100,000 rows is checked too.

    Raises:
        InvalidArgumentError: the file is empty, has no rows, has a row with too few or too many
            values, or is not a Parquet file.
    """
    import pyarrow as pa  # commands that do not read tables start without it

    path = Path(source.path)
    if source.schema is not None or not is_local_path(source.path) or not path.is_file():
        return None
    try:
        if source.format is FileFormat.CSV:
            return _read_csv_header(source)
        if source.format is FileFormat.PARQUET:
            return _read_parquet_header(source)
    except (OSError, csv.Error, pa.ArrowException):  # Spark reports it, if it cannot read it either
        return None
    return None


def _read_csv_header(source: TableSource) -> list[str] | None:
    import pyarrow as pa

    stream = pa.input_stream(source.path)  # decompresses files such as events.csv.gz
    with io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline="") as text:
        rows = csv.reader(text)
        header = next((row for row in rows if not _is_blank(row)), None)
        is_empty = True
        for row in islice(rows, _MAX_CHECKED_ROWS):
            is_empty &= not row
            if header is not None and len(row) != len(header) and not _is_blank(row):
                raise _wrong_row_error(source, header, row, rows.line_num)
    if header is None or is_empty:
        raise source.empty_error("" if header is None else "the file has only a header")
    is_plain = all(header) and len({name.lower() for name in header}) == len(header)
    return header if is_plain else None  # Spark renames columns without a name of their own


def _read_parquet_header(source: TableSource) -> list[str]:
    with Path(source.path).open("rb") as file:
        magic = file.read(4)
    if not magic:
        raise source.empty_error()
    if magic not in _PARQUET_MAGIC:
        raise source.unreadable_error("it is not a Parquet file")
    import pyarrow.parquet as pq

    metadata = pq.read_metadata(source.path)
    if not metadata.num_rows:
        raise source.empty_error("the file has columns, but no rows")
    names: list[str] = metadata.schema.to_arrow_schema().names
    return names


def _is_blank(row: list[str]) -> bool:
    return len(row) < 2 and not "".join(row).strip()


def _wrong_row_error(
    source: TableSource, header: list[str], row: list[str], line: int
) -> InvalidArgumentError:
    """Return the error for a row of a CSV that has another number of values than the header."""
    advice = (
        _guess_header_mistake(source, header)
        or "put a text that contains a comma, such as a predicate, in double quotes"
    )
    count = "1 value" if len(row) == 1 else f"{len(row)} values"
    return InvalidArgumentError(
        f"the {source.label} at {source.path}: the row that ends on line {line} has {count}, but "
        f"the header has {len(header)}: {','.join(row):.60}; {advice}"
    )


def check_columns(
    source: TableSource,
    columns: Sequence[str] | None,
    names: Sequence[str],
    options: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Raise InvalidArgumentError if one of the names is not a column of a table.

    Args:
        source: the table.
        columns: the columns of the table; with None, which means unknown, nothing is checked.
        names: the names; the first one that is missing is reported.
        options: by name, the option with which the user can name another column.
    """
    missing = [name for name in names if columns is not None and name not in columns]
    if missing and columns is not None:
        option = options.get(missing[0])
        advice = _guess_header_mistake(source, columns) or (
            "" if option is None else f"name one of them with {option}"
        )
        raise _missing_column_error(source, columns, missing[0], advice)


def check_subscription_columns(
    subscriptions: TableSource,
    columns: Sequence[str] | None,
    id_column: str,
    predicate_column: str,
    others: Sequence[str] = (),
    *,
    event_columns: Sequence[str] | None = None,
) -> None:
    """Raise InvalidArgumentError if the subscriptions lack one of the columns.

    If the column of ids or of predicates is missing, the message names the option for another one,
    or says that the two tables may be swapped.

    Args:
        subscriptions: the table of subscriptions.
        columns: its columns; with None, which means unknown, nothing is checked.
        id_column: column with the id.
        predicate_column: column with the predicate.
        others: further columns that the table must have.
        event_columns: columns of the table of events; None if they are unknown.
    """
    options = {id_column: "--id", predicate_column: "--predicate"}
    missing = [name for name in options if columns is not None and name not in columns]
    if missing and columns is not None and set(options) <= set(event_columns or ()):
        advice = "the events have both columns: are the two tables swapped?"
        raise _missing_column_error(subscriptions, columns, missing[0], advice)
    check_columns(subscriptions, columns, [*options, *others], options)


def _missing_column_error(
    source: TableSource, columns: Sequence[str], name: str, advice: str
) -> InvalidArgumentError:
    shown = ", ".join(columns[:12]) + ("…" if len(columns) > 12 else "")
    return InvalidArgumentError(
        f"the {source.label} at {source.path} have no column {name!r}: their columns are {shown}"
        f"{advice and '; '}{advice}"
    )


def _guess_header_mistake(source: TableSource, columns: Sequence[str]) -> str:
    """Return what seems to be wrong with the header of a CSV; empty if it looks like a header."""
    if source.format is not FileFormat.CSV:
        return ""
    delimiters = [name for sign, name in _OTHER_DELIMITERS.items() if sign in columns[0]]
    if len(columns) == 1 and delimiters:
        return f"the values seem to be separated by {delimiters[0]}: separate them by commas"
    if any(re.fullmatch(r"[-+]?[\d.]+", name) or re.search("[<>=]", name) for name in columns):
        return (
            "the first line seems to be a row, not a header: add a first line with the names of "
            "the columns"
        )
    return ""


def read_events(
    source: TableSource, spark: SparkSession, vector_lengths: Mapping[str, int]
) -> DataFrame:
    """Read events; vectors of float64, which are common in JSON, are cast to float32.

    Args:
        source: the table of events.
        spark: the session.
        vector_lengths: length of the vectors in each column of vectors.

    Raises:
        InvalidArgumentError: the table cannot be read, has no rows, or lacks a column of vectors.
    """
    events = source.read(spark)
    check_columns(source, events.columns, list(vector_lengths))
    for name in vector_lengths:
        type_ = events.schema[name].dataType
        if isinstance(type_, ArrayType) and isinstance(type_.elementType, DoubleType):
            events = events.withColumn(name, F.col(quote_identifier(name)).cast("array<float>"))
    return events
