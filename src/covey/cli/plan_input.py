"""Problems from files: a table of subscribers, and one of brokers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from covey.errors import ValueRefused
from covey.plan import PUBLISHER, BrokerTree, Problem, Subscribers

__all__ = ["problem_of"]

_PARENT = "parent"


def problem_of(
    subscribers: Path, brokers: Path, position: str, lower: str, upper: str, publisher: str,
    events: Path | None, *, alpha: int, max_delay: float, load: float, most_load: float,
) -> Problem:  # fmt: skip
    """The problem that files and the names of their columns say.

    A column `parent` of the brokers is the row of the broker above, from 0 on; empty or missing, it
    is the publisher.
    """
    at, low, high = _names(position), _names(lower), _names(upper)
    if len(low) != len(high):
        raise ValueRefused(f"--lower {lower} and --upper {upper}: as many columns each")
    people, places = _table(subscribers), _table(brokers)
    parents = None
    if _PARENT in places.column_names:
        above = pc.fill_null(places[_PARENT].cast(pa.int64()), PUBLISHER)
        parents = np.asarray(above)
    tree = BrokerTree.of(_point(publisher, len(at)), _columns(places, at, brokers), parents)
    wanted = Subscribers.of(*(_columns(people, names, subscribers) for names in (at, low, high)))
    sample = None
    if events is not None:
        table = _table(events)
        sample = _columns(table, _attributes(table, low, events), events)
    return Problem(
        tree, wanted, alpha=alpha, max_delay=max_delay, load=load, most_load=most_load,
        events=sample,
    )  # fmt: skip


def _names(given: str) -> list[str]:
    return [name.strip() for name in given.split(",")]


def _point(given: str, d: int) -> list[float]:
    try:
        found = [float(part) for part in given.split(",")]
    except ValueError:
        raise ValueRefused(f"--publisher {given}: numbers with commas between") from None
    if len(found) != d:
        raise ValueRefused(f"--publisher {given}: {d} numbers, as positions have")
    return found


def _table(path: Path) -> pa.Table:
    if not path.exists():
        raise ValueRefused(f"there is no {path}")
    try:
        return pyarrow.csv.read_csv(path) if path.suffix == ".csv" else pq.read_table(path)
    except pa.ArrowInvalid as error:
        raise ValueRefused(f"{path} is neither Parquet nor CSV: {error}") from None


def _attributes(table: pa.Table, low: list[str], path: Path) -> list[str]:
    """As many columns as boxes have sides: the first ones that are numbers."""
    numbers = [
        field.name
        for field in table.schema
        if pa.types.is_floating(field.type) or pa.types.is_integer(field.type)
    ]
    if len(numbers) < len(low):
        raise ValueRefused(f"{path} has {len(numbers)} columns of numbers: {len(low)} are needed")
    return numbers[: len(low)]


def _columns(table: pa.Table, names: list[str], path: Path) -> NDArray[np.float64]:
    missing = [name for name in names if name not in table.column_names]
    if missing:
        has = ", ".join(table.column_names)
        raise ValueRefused(f"{path} has no column {missing[0]}: it has {has}")
    found = []
    for name in names:
        column = table[name]
        if column.null_count:
            raise ValueRefused(f"{path}: column {name} has {column.null_count} empty values")
        try:
            found.append(np.asarray(column.cast(pa.float64())))
        except pa.ArrowInvalid:
            raise ValueRefused(f"{path}: column {name} is {column.type}, not numbers") from None
    return np.stack(found, axis=1)
