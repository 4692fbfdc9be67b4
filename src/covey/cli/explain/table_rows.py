"""Reading of single rows of tables with Arrow: an event by number or key, a subscription by id.

Numbers, texts and booleans have the same types as in Spark. In CSV and JSON, other values may have
other types than in Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset

from covey.cli.io.columns import check_columns, check_subscription_columns, read_header
from covey.cli.io.formats import FileFormat, is_local_path
from covey.cli.io.sources import TableSource
from covey.errors import InvalidArgumentError

__all__ = ["EventKey", "EventRow", "can_read_with_arrow", "find_subscription", "read_event"]


@dataclass(frozen=True, slots=True)
class EventKey:
    """Reference to an event: its row number, or a column and a value.

    A column and a value refer to the first event that has this value in this column.

    Args:
        row: row number, from 0; it is not used if there is a column.
        column: column with the value; None if the event is named by its row number.
        value: the value, as a text.
    """

    row: int = 0
    column: str | None = None
    value: str = ""

    @classmethod
    def from_options(cls, row: int | None, key: str | None) -> EventKey:
        """Return the key for the options `--row` and `--key`; without both it is row 0.

        Raises:
            InvalidArgumentError: both options are given, or `--key` is not COLUMN=VALUE.

        >>> EventKey.from_options(None, "tick=5")
        EventKey(row=0, column='tick', value='5')
        """
        if key is None:
            return cls(row or 0)
        if row is not None:
            raise InvalidArgumentError("--row and --key both name an event: give one of them")
        column, equals, value = key.partition("=")
        if not column or not equals:
            raise InvalidArgumentError(f"--key must be COLUMN=VALUE, for example tick=5, got {key}")
        return cls(0, column, value)

    def __str__(self) -> str:
        return f"row {self.row}" if self.column is None else f"{self.column} = {self.value}"


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event, with its values by column, and the schema of its table.

    `has_types` is false if the types were inferred from texts, as for CSV and JSON.
    """

    schema: pa.Schema
    values: Mapping[str, Any]
    has_types: bool = True


def can_read_with_arrow(source: TableSource) -> bool:
    """Return whether Arrow reads the table as Spark would, except for times in CSV and JSON.

    Arrow does not read tables on other file systems, Delta tables, and tables with a schema that
    the user gives.
    """
    return (
        is_local_path(source.path) and source.format is not FileFormat.DELTA and not source.schema
    )


def read_event(source: TableSource, key: EventKey) -> EventRow:
    """Read the event that a key names.

    Raises:
        InvalidArgumentError: there is no such event, or the table cannot be read.
    """
    try:
        table = _open_dataset(source)
        if key.column is None:
            rows = table.head(key.row + 1).slice(key.row)
        else:
            check_columns(source, table.schema.names, [key.column])
            is_same = pc.field(key.column).cast(pa.string()) == key.value
            rows = table.head(1, filter=is_same)
    except (pa.ArrowException, OSError) as error:
        raise source.unreadable_error(str(error).splitlines()[0]) from None
    if not rows.num_rows:
        raise missing_event_error(source, key)
    return EventRow(rows.schema, rows.to_pylist()[0], source.format is FileFormat.PARQUET)


def find_subscription(
    source: TableSource, id_column: str, predicate_column: str, subscription_id: str
) -> str:
    """Return the predicate of a subscription, as the user wrote it.

    Raises:
        InvalidArgumentError: there is no such subscription, or the table cannot be read.
    """
    try:
        table = _open_dataset(source)
        check_subscription_columns(source, table.schema.names, id_column, predicate_column)
        is_same = pc.field(id_column).cast(pa.string()) == subscription_id
        rows = table.head(1, columns=[predicate_column], filter=is_same).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise source.unreadable_error(str(error).splitlines()[0]) from None
    if not rows:
        raise missing_subscription_error(source.path, subscription_id)
    if rows[0][predicate_column] is None:
        raise InvalidArgumentError(
            f"subscription {subscription_id} of {source.path} has no predicate: write one in the "
            "table"
        )
    return str(rows[0][predicate_column])


def missing_event_error(source: TableSource, key: EventKey) -> InvalidArgumentError:
    """Return the error for an event that is not in its table."""
    return InvalidArgumentError(
        f"{source.path} has no event with {key}: name another event with --row or --key"
    )


def missing_subscription_error(path: str, subscription_id: str) -> InvalidArgumentError:
    """Return the error for a subscription that is not in its table or model."""
    return InvalidArgumentError(
        f"{path} has no subscription {subscription_id}: name another subscription with "
        "--subscription, or the column of ids with --id"
    )


def _open_dataset(source: TableSource) -> pa.dataset.Dataset:
    texts = dict.fromkeys(source.text_columns, pa.string())
    format_: Any = source.format.value
    if source.format is FileFormat.CSV:
        format_ = pa.dataset.CsvFileFormat(
            parse_options=pa.csv.ParseOptions(newlines_in_values=bool(texts)),
            convert_options=pa.csv.ConvertOptions(
                column_types=texts, null_values=[""], strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )  # fmt: skip
    read_header(source)  # has better messages than Arrow
    return pa.dataset.dataset(str(Path(source.path).absolute()), format=format_)
