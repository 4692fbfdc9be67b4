"""Problems from files: a table of subscribers, and one of brokers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from covey._argument_checks import check_local_path
from covey.cli.options import split_names
from covey.errors import InvalidArgumentError
from covey.plan import PUBLISHER, BrokerTree, Problem, Subscribers

__all__ = ["read_problem"]

_PARENT_COLUMN = "parent"


def read_problem(
    subscribers_path: Path,
    brokers_path: Path,
    position_columns: str,
    lower_columns: str,
    upper_columns: str,
    publisher: str,
    events_path: Path | None,
    attributes: Sequence[str] | None,
    *,
    max_rectangles: int,
    max_delay: float,
    target_load: float,
    max_load: float,
) -> Problem:
    """Read a problem from Parquet or CSV files, whose columns are named by options.

    In the table of brokers, the column `parent` contains the row number, from 0, of the broker
    above. If it is empty, or if there is no such column, the publisher is above the broker.

    Args:
        subscribers_path: table of subscribers.
        brokers_path: table of brokers.
        position_columns: columns with network coordinates in both tables, separated by commas.
        lower_columns: columns of subscribers with the lower ends of their intervals.
        upper_columns: columns of subscribers with the upper ends of their intervals.
        publisher: network coordinates of the publisher, separated by commas.
        events_path: table of typical events; None if there is none.
        attributes: columns of the events, one for each interval; None for all columns.
        max_rectangles: largest number of rectangles of a filter.
        max_delay: largest delay of a subscriber.
        target_load: load factor that a plan should not exceed.
        max_load: largest load factor that a leaf may have.

    Raises:
        InvalidArgumentError: a file cannot be read, or its columns do not fit the options.
    """
    at, low, high = (
        split_names(names) or [] for names in (position_columns, lower_columns, upper_columns)
    )
    if not at or not low:
        raise InvalidArgumentError(
            "--position, --lower and --upper must name at least one column each"
        )
    if len(low) != len(high):
        raise InvalidArgumentError(
            f"--lower {lower_columns} and --upper {upper_columns} must name the same number of "
            "columns"
        )
    if attributes is not None and not len(set(attributes)) == len(attributes) == len(low):
        said = ",".join(attributes)
        raise InvalidArgumentError(
            f"--attributes {said} must be {len(low)} different names, one for each column of "
            "--lower"
        )
    people, places = _read_table(subscribers_path), _read_table(brokers_path)
    start, above = _parse_point(publisher, len(at)), _parent_rows(places, brokers_path)
    tree = BrokerTree.from_arrays(start, _stack_columns(places, at, brokers_path), parents=above)
    wanted = Subscribers.from_arrays(
        *(_stack_columns(people, names, subscribers_path) for names in (at, low, high))
    )
    sample = None if events_path is None else _read_event_sample(events_path, attributes, len(low))
    return Problem(
        tree,
        wanted,
        max_rectangles=max_rectangles,
        max_delay=max_delay,
        target_load=target_load,
        max_load=max_load,
        event_sample=sample,
    )


def _parse_point(text: str, dimensions: int) -> list[float]:
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidArgumentError(
            f"--publisher {text} must be numbers, separated by commas"
        ) from None
    if len(found) != dimensions or not np.isfinite(found).all():
        raise InvalidArgumentError(
            f"--publisher {text} must be {dimensions} finite numbers, one for each column of "
            "--position"
        )
    return found


def _read_table(path: Path) -> pa.Table:
    check_local_path("the path of a table", path)
    if not path.exists():
        raise InvalidArgumentError(f"{path} does not exist: name a file or a folder")
    is_csv = path.suffix.lower() == ".csv"
    try:
        if path.is_dir() and not is_csv:
            return pq.read_table(path)
        with path.open("rb") as file:  # Arrow may take a path for a URI
            return pyarrow.csv.read_csv(file) if is_csv else pq.read_table(file)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InvalidArgumentError(
            f"{path} cannot be read as {'CSV' if is_csv else 'Parquet'}: {error}; a table is CSV "
            "if its name ends in .csv, otherwise Parquet"
        ) from None


def _parent_rows(brokers: pa.Table, path: Path) -> NDArray[np.int64] | None:
    if _PARENT_COLUMN not in brokers.column_names:
        return None
    try:
        return np.asarray(pc.fill_null(brokers[_PARENT_COLUMN].cast(pa.int64()), PUBLISHER))
    except pa.ArrowException:
        raise InvalidArgumentError(
            f"{path}: column {_PARENT_COLUMN} must be the row number of the broker above, "
            "from 0, or empty"
        ) from None


def _read_event_sample(
    path: Path, attributes: Sequence[str] | None, dimensions: int
) -> NDArray[np.float64]:
    table = _read_table(path)
    if attributes is None and table.num_columns != dimensions:
        has = ", ".join(table.column_names)
        raise InvalidArgumentError(
            f"{path} has the columns {has}: name {dimensions} of them with --attributes, one for "
            "each column of --lower"
        )
    return _stack_columns(table, attributes or table.column_names, path)


def _stack_columns(table: pa.Table, names: Sequence[str], path: Path) -> NDArray[np.float64]:
    missing = [name for name in names if name not in table.column_names]
    if missing:
        has = ", ".join(table.column_names)
        raise InvalidArgumentError(f"{path} has no column {missing[0]}: its columns are {has}")
    return np.stack([_to_finite_floats(table[name], name, path) for name in names], axis=1)


def _to_finite_floats(column: pa.ChunkedArray, name: str, path: Path) -> NDArray[np.float64]:
    """Return the finite numbers of a column.

    Raises:
        InvalidArgumentError: the column does not contain numbers, or one of them is null or not
            finite; the message names the first one.
    """
    try:
        if pa.types.is_boolean(column.type):
            raise pa.ArrowInvalid
        found = np.asarray(pc.fill_null(column.cast(pa.float64()), np.nan))
    except pa.ArrowException:
        raise InvalidArgumentError(
            f"{path}: column {name} must contain numbers, but has type {column.type}"
        ) from None
    wrong = np.flatnonzero(~np.isfinite(found))
    if len(wrong):
        value = column[wrong[0]].as_py()
        said = "empty" if value is None else value
        raise InvalidArgumentError(
            f"{path}: column {name} must contain finite numbers, but is {said} in row {wrong[0]}, "
            "counted from 0"
        )
    return found
