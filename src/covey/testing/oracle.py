"""Spark as the oracle: what `where` keeps, beside what covey's regions contain."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.errors import ValueRefused
from covey.index import Scan
from covey.language import Parser, Predicates
from covey.quoting import quoted
from covey.space import Events, Settings, Space, Type
from covey.space.guard import guarded

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Disagreement", "Report", "compare", "ddl", "set_session", "spark_matches"]

Bools = NDArray[np.bool_]
Id = TypeVar("Id", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A predicate and an event on which Spark and covey differ; row -1: Spark refuses the text."""

    text: str
    row: int
    spark: bool | str


@dataclass(frozen=True, slots=True)
class Report:
    """What a comparison found: how many texts covey reads, and every disagreement."""

    read: int
    rejected: dict[int, Exception]
    disagreements: list[Disagreement]


def set_session(spark: SparkSession, settings: Settings) -> None:
    """Gives a Spark session the settings of a space."""
    spark.conf.set("spark.sql.session.timeZone", settings.time_zone)
    spark.conf.set("spark.sql.ansi.enabled", str(settings.ansi).lower())


def compare(
    spark: SparkSession, space: Space, table: pa.Table, texts: Sequence[str], at_once: int = 100
) -> Report:
    """Evaluates every text on every event both ways.

    Cost: a Spark query per `at_once` texts, about a second each; a chunk that Spark refuses is
    asked again text by text.
    """
    set_session(spark, space.settings)
    predicates = Parser(space).parse(texts)
    schema = ", ".join(f"`{column.name}` {ddl(column.type)}" for column in space.columns)
    frame = spark.createDataFrame(table, schema).coalesce(1).cache()
    try:
        ours = _ours(predicates, _with_derived(frame, predicates.space, table))
        read = [i for i in range(len(texts)) if i not in predicates.rejected]
        found: list[Disagreement] = []
        for start in range(0, len(read), at_once):
            chunk = read[start : start + at_once]
            for i, theirs in zip(chunk, _theirs(frame, [texts[i] for i in chunk]), strict=True):
                found += _differences(texts[i], ours[:, i], theirs)
        return Report(len(read), dict(predicates.rejected), found)
    finally:
        frame.unpersist()


def spark_matches(
    frame: DataFrame, predicates: Mapping[Id, str], row: str, at_once: int = 100
) -> set[tuple[Any, Id]]:
    """Return which rows of a frame Spark's `where` keeps for each predicate.

    Args:
        frame: the events.
        predicates: Spark SQL predicates by id.
        row: column whose values name the rows.
        at_once: predicates that are evaluated in one Spark job.

    Returns:
        Pairs of a row's name and the id of a predicate that is true for it.

    A row on which a predicate raises is not kept.

    Raises:
        PySparkException: Spark refuses a predicate.
        ValueRefused: `at_once` is less than 1.

    Cost: a Spark job per `at_once` predicates, about a second each.
    """
    if at_once < 1:
        raise ValueRefused(f"at_once must be at least 1, got {at_once}")
    found: set[tuple[Any, Id]] = set()
    ids, texts = list(predicates), list(predicates.values())
    for start in range(0, len(ids), at_once):
        answer = _evaluate(frame, texts[start : start + at_once], row)
        names = answer.column(0).to_pylist()
        for column, id_ in enumerate(ids[start : start + at_once], start=1):
            kept = np.flatnonzero(answer.column(column))
            found |= {(names[at], id_) for at in kept.tolist()}
    return found


def ddl(type_: Type) -> str:
    """A type as Spark's schemas spell it."""
    return str(replace(type_, length=0)) if type_.length else str(type_)


def _with_derived(frame: DataFrame, space: Space, table: pa.Table) -> Events:
    """The events with their derived attributes, as Spark computes them."""
    if space.derived:
        from pyspark.sql import functions as F

        columns = [
            F.expr(attribute.sql).alias(f"d{i}") for i, attribute in enumerate(space.derived)
        ]
        computed = frame.select(*columns).toArrow()
        for i, attribute in enumerate(space.derived):
            table = table.append_column(attribute.name, computed.column(i))
    return Events.from_arrow(table, space)


def _ours(predicates: Predicates, events: Events) -> Bools:
    answer = np.zeros((len(events), predicates.count), np.bool_)
    pairs = Scan(predicates.regions).matching(events)
    answer[pairs.asked, predicates.of[pairs.stored]] = True
    return answer


def _theirs(frame: DataFrame, texts: Sequence[str]) -> Iterator[Bools | str]:
    """Yield what Spark's `where` keeps for each text, or its complaint."""
    from pyspark.errors import PySparkException

    try:
        answer = _evaluate(frame, texts)
        yield from (np.asarray(answer.column(i)) for i in range(len(texts)))
    except PySparkException as error:
        if len(texts) == 1:
            yield str(error)[:300]
        else:
            for text in texts:
                yield from _theirs(frame, [text])


def _evaluate(frame: DataFrame, texts: Sequence[str], *columns: str) -> pa.Table:
    """Return the given columns, and one for each text: whether `where` keeps the row."""
    from pyspark.sql import functions as F

    # As `where` does, WHEN takes conditions only, and neither a text nor an untyped null. A row on
    # which a predicate raises is not kept, and is no reason to keep no other.
    kept = [
        F.when(F.expr(guarded(f"({text}\n)")), F.lit(True)).otherwise(F.lit(False)).alias(f"p{i}")
        for i, text in enumerate(texts)
    ]
    return frame.select(*map(quoted, columns), *kept).toArrow()


def _differences(text: str, ours: Bools, theirs: Bools | str) -> list[Disagreement]:
    if isinstance(theirs, str):
        return [Disagreement(text, -1, theirs)]
    return [
        Disagreement(text, int(row), bool(theirs[row])) for row in np.flatnonzero(ours != theirs)
    ]
