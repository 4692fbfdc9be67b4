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

from covey.cli.options import listed
from covey.errors import ValueRefused
from covey.plan import PUBLISHER, BrokerTree, Problem, Subscribers

__all__ = ["problem_of"]

_PARENT = "parent"


def problem_of(
    subscribers: Path, brokers: Path, position: str, lower: str, upper: str, publisher: str,
    events: Path | None, attributes: Sequence[str] | None, *, alpha: int, max_delay: float,
    load: float, most_load: float,
) -> Problem:  # fmt: skip
    """The problem that files and the names of their columns say.

    A column `parent` of the brokers is the row of the broker above, from 0 on; empty or missing, it
    is the publisher. The columns of events are `attributes`, or all of them.
    """
    at, low, high = (listed(names) or [] for names in (position, lower, upper))
    if not at or not low:
        raise ValueRefused("--position, --lower and --upper name a column at least")
    if len(low) != len(high):
        raise ValueRefused(f"--lower {lower} and --upper {upper}: as many columns each")
    if attributes is not None and not len(set(attributes)) == len(attributes) == len(low):
        said = ",".join(attributes)
        raise ValueRefused(f"--attributes {said}: {len(low)} different names, as boxes have sides")
    people, places = _table(subscribers), _table(brokers)
    start, above = _point(publisher, len(at)), _parents(places, brokers)
    tree = BrokerTree.of(start, _columns(places, at, brokers), above)
    wanted = Subscribers.of(*(_columns(people, names, subscribers) for names in (at, low, high)))
    sample = None if events is None else _sample(events, attributes, len(low))
    return Problem(
        tree, wanted, alpha=alpha, max_delay=max_delay, load=load, most_load=most_load,
        events=sample,
    )  # fmt: skip


def _point(given: str, d: int) -> list[float]:
    try:
        found = [float(part) for part in given.split(",")]
    except ValueError:
        raise ValueRefused(f"--publisher {given}: numbers with commas between") from None
    if len(found) != d or not np.isfinite(found).all():
        raise ValueRefused(f"--publisher {given}: {d} finite numbers, as positions have")
    return found


def _table(path: Path) -> pa.Table:
    if not path.exists():
        raise ValueRefused(f"there is no {path}")
    try:
        is_csv = path.suffix.lower() == ".csv"
        return pyarrow.csv.read_csv(path) if is_csv else pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise ValueRefused(
            f"{path} is neither Parquet nor CSV, which ends in .csv: {error}"
        ) from None


def _parents(places: pa.Table, path: Path) -> NDArray[np.int64] | None:
    if _PARENT not in places.column_names:
        return None
    try:
        return np.asarray(pc.fill_null(places[_PARENT].cast(pa.int64()), PUBLISHER))
    except pa.ArrowException:
        raise ValueRefused(
            f"{path}: column {_PARENT} is the row of the broker above, from 0 on, or empty"
        ) from None


def _sample(path: Path, attributes: Sequence[str] | None, d: int) -> NDArray[np.float64]:
    table = _table(path)
    if attributes is None and table.num_columns != d:
        has = ", ".join(table.column_names)
        raise ValueRefused(
            f"{path} has the columns {has}: say with --attributes which {d} are what is wanted"
        )
    return _columns(table, attributes or table.column_names, path)


def _columns(table: pa.Table, names: Sequence[str], path: Path) -> NDArray[np.float64]:
    missing = [name for name in names if name not in table.column_names]
    if missing:
        has = ", ".join(table.column_names)
        raise ValueRefused(f"{path} has no column {missing[0]}: it has {has}")
    return np.stack([_numbers(table[name], name, path) for name in names], axis=1)


def _numbers(column: pa.ChunkedArray, name: str, path: Path) -> NDArray[np.float64]:
    """Finite ones; the first that is not is named."""
    try:
        if pa.types.is_boolean(column.type):
            raise pa.ArrowInvalid
        found = np.asarray(pc.fill_null(column.cast(pa.float64()), np.nan))
    except pa.ArrowException:
        raise ValueRefused(f"{path}: column {name} is {column.type}, not numbers") from None
    wrong = np.flatnonzero(~np.isfinite(found))
    if len(wrong):
        value = column[wrong[0]].as_py()
        said = "empty" if value is None else value
        raise ValueRefused(f"{path}: column {name} is {said} in row {wrong[0]}, counted from 0")
    return found
