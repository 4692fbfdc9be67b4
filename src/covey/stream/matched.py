"""A batch of events to the rows that leave: decoded by Spark, matched by its Python workers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from covey.errors import ValueRefused
from covey.spark.lifetimes import LIFETIME
from covey.spark.schemas import column_named
from covey.store import Snapshot
from covey.stream.events import READ, Decoding
from covey.stream.notices import KEPT, ROWS, Notices

__all__ = ["Matched"]

_FROM_KAFKA = ("topic", "partition", "offset", "timestamp", "key", "value")
_TECHNICAL = ("covey.event", "covey.letter", "covey.key", "covey.included")


class Matched:
    """Makes the rows of batches; what depends on the version's attributes only is made once."""

    def __init__(self, decoding: Decoding, include: Sequence[str], place: str) -> None:
        known = {name.lower(): name for name in decoding.schema.names}
        for name in include:
            if name.lower() not in known:
                raise ValueRefused(
                    f"[notifications] include names {name!r}, but events have "
                    f"{', '.join(decoding.schema.names)}"
                )
        self._decoding, self._place = decoding, place
        self._include = [known[name.lower()] for name in include]
        self._flat = self._flattened()
        self._attributes = lru_cache(8)(_attributes)

    def rows(self, frame: DataFrame, snapshot: Snapshot, version: int) -> DataFrame:
        """A row for each notification and for each event that cannot be read, and tallies."""
        names = tuple(snapshot.constrained)
        derived = frozenset(one.name for one in snapshot.space.derived)
        read = frame.select(*_FROM_KAFKA, self._decoding.read.alias(READ))
        chosen = read.select(*self._flat).select(*self._attributes(names, derived))
        places = {name: KEPT + i for i, name in enumerate(names)}
        label = snapshot.version.label
        return chosen.mapInArrow(Notices(self._place, version, label, places), ROWS)

    def _flattened(self) -> list[Column]:
        """What is kept of an event, its time, and its columns under their own names.

        An event that cannot be read has no time, so that nobody's lifetime contains it.
        """
        decoding = self._decoding
        letter = decoding.letter
        included = F.lit(None).cast("string")
        if self._include:
            included = F.to_json(
                F.struct(*(decoding.column(name).alias(name) for name in self._include)),
                {"ignoreNullFields": "false"},
            )
        kept = (decoding.event, letter, F.when(letter.isNotNull(), F.col("key")), included)
        technical = [one.alias(name) for one, name in zip(kept, _TECHNICAL, strict=True)]
        time = F.when(letter.isNull(), F.col("timestamp")).alias(LIFETIME)
        columns = [decoding.column(name).alias(name) for name in decoding.schema.names]
        return [*technical, time, *columns]


def _attributes(names: Sequence[str], derived: frozenset[str]) -> list[Column]:
    """What workers get, as columns whose names do not count."""
    given = [column_named(name) for name in _TECHNICAL]
    given += [F.expr(name) if name in derived else column_named(name) for name in names]
    return [column.alias(f"c{i}") for i, column in enumerate(given)]
