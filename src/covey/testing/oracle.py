"""Spark as the oracle: what `where` keeps, beside what covey's regions contain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.index import Scan
from covey.language import Parser, Predicates
from covey.space import Events, Settings, Space, Type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Disagreement", "Report", "compare", "ddl", "set_session"]

Bools = NDArray[np.bool_]


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


def ddl(type_: Type) -> str:
    """A type as Spark's schemas spell it."""
    return str(replace(type_, length=0)) if type_.length else str(type_)


def _with_derived(frame: DataFrame, space: Space, table: pa.Table) -> Events:
    """The events with their derived attributes, as Spark computes them."""
    if space.derived:
        from pyspark.sql import functions as F

        columns = [
            F.expr(attribute.name).alias(f"d{i}") for i, attribute in enumerate(space.derived)
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
    """What Spark's `where` keeps for each text, or its complaint."""
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    try:
        columns = [
            F.coalesce(F.expr(text), F.lit(False)).alias(f"p{i}") for i, text in enumerate(texts)
        ]
        answer = frame.select(*columns).toArrow()
        yield from (np.asarray(answer.column(i)) for i in range(len(texts)))
    except PySparkException as error:
        if len(texts) == 1:
            yield str(error)[:300]
        else:
            for text in texts:
                yield from _theirs(frame, [text])


def _differences(text: str, ours: Bools, theirs: Bools | str) -> list[Disagreement]:
    if isinstance(theirs, str):
        return [Disagreement(text, -1, theirs)]
    return [
        Disagreement(text, int(row), bool(theirs[row])) for row in np.flatnonzero(ours != theirs)
    ]
