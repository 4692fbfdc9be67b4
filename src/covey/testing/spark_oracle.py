"""Spark as the oracle: what `where` keeps, beside what covey's regions contain."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covey.errors import InvalidArgumentError
from covey.index import BruteForceIndex
from covey.language import Parser, Predicates
from covey.space import Events, SessionSettings, Space, Type
from covey.space.guard import guard_expression
from covey.space.time_zones import TimeZones
from covey.sql_names import quote_identifier

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "Disagreement",
    "OracleReport",
    "compare_with_spark",
    "configure_session",
    "match_with_spark",
    "to_ddl",
]

Bools = NDArray[np.bool_]
Id = TypeVar("Id", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A predicate and an event on which Spark and covey differ; row -1: Spark refuses the text."""

    predicate: str
    event_row: int
    spark_answer: bool | str


@dataclass(frozen=True, slots=True)
class OracleReport:
    """What a comparison found: how many texts covey reads, and every disagreement."""

    parsed_count: int
    rejected: dict[int, Exception]
    disagreements: list[Disagreement]


def configure_session(spark: SparkSession, settings: SessionSettings) -> None:
    """Gives a Spark session the settings of a space."""
    spark.conf.set("spark.sql.session.timeZone", settings.time_zone)
    spark.conf.set("spark.sql.ansi.enabled", str(settings.ansi).lower())


def compare_with_spark(
    spark: SparkSession,
    space: Space,
    table: pa.Table,
    predicate_texts: Sequence[str],
    *,
    max_predicates_per_job: int = 100,
) -> OracleReport:
    """Evaluates every text on every event both ways.

    Cost: a Spark query per `max_predicates_per_job` texts, about a second each; a chunk that Spark
    refuses is asked again text by text.
    """
    configure_session(spark, space.settings)
    settings = space.settings.with_time_zones(_read_time_zones(spark))
    space = replace(space, settings=settings)
    predicates = Parser(space).parse(predicate_texts)
    schema = ", ".join(f"`{column.name}` {to_ddl(column.type)}" for column in space.columns)
    frame = spark.createDataFrame(table, schema).coalesce(1).cache()
    try:
        ours = _match_with_covey(predicates, _add_derived(frame, predicates.space, table))
        read = [i for i in range(len(predicate_texts)) if i not in predicates.rejected]
        found: list[Disagreement] = []
        for start in range(0, len(read), max_predicates_per_job):
            chunk = read[start : start + max_predicates_per_job]
            for i, theirs in zip(
                chunk, _yield_spark_answers(frame, [predicate_texts[i] for i in chunk]), strict=True
            ):
                found += _find_disagreements(predicate_texts[i], ours[:, i], theirs)
        return OracleReport(len(read), dict(predicates.rejected), found)
    finally:
        frame.unpersist()


def match_with_spark(
    frame: DataFrame,
    predicates: Mapping[Id, str],
    row_column: str,
    *,
    max_predicates_per_job: int = 100,
) -> set[tuple[object, Id]]:
    """Return which rows of a frame Spark's `where` keeps for each predicate.

    Args:
        frame: the events.
        predicates: Spark SQL predicates by id.
        row_column: column whose values name the rows.
        max_predicates_per_job: predicates that are evaluated in one Spark job.

    Returns:
        Pairs of a row's name and the id of a predicate that is true for it.

    A row on which a predicate raises is not kept.

    Raises:
        PySparkException: Spark refuses a predicate.
        InvalidArgumentError: `max_predicates_per_job` is less than 1.

    Cost: a Spark job per `max_predicates_per_job` predicates, about a second each.
    """
    if max_predicates_per_job < 1:
        raise InvalidArgumentError(
            f"max_predicates_per_job must be at least 1, got {max_predicates_per_job}"
        )
    found: set[tuple[object, Id]] = set()
    ids, texts = list(predicates), list(predicates.values())
    for start in range(0, len(ids), max_predicates_per_job):
        answer = _evaluate_predicates(
            frame, texts[start : start + max_predicates_per_job], row_column
        )
        names = answer.column(0).to_pylist()
        for column, id_ in enumerate(ids[start : start + max_predicates_per_job], start=1):
            kept = np.flatnonzero(answer.column(column))
            found |= {(names[at], id_) for at in kept.tolist()}
    return found


def to_ddl(type_: Type) -> str:
    """A type as Spark's schemas spell it."""
    return str(replace(type_, length=0)) if type_.length else str(type_)


def _read_time_zones(spark: SparkSession) -> TimeZones:
    """The time zones of Spark's Java, as `covey.spark` reads them."""
    java = spark._jvm.java  # type: ignore[union-attr]
    place = java.io.File(java.lang.System.getProperty("java.home"), "lib/tzdb.dat")
    return TimeZones(bytes(java.nio.file.Files.readAllBytes(place.toPath())))


def _add_derived(frame: DataFrame, space: Space, table: pa.Table) -> Events:
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


def _match_with_covey(predicates: Predicates, events: Events) -> Bools:
    answer = np.zeros((len(events), predicates.count), np.bool_)
    pairs = BruteForceIndex(predicates.regions).match(events)
    answer[pairs.query_rows, predicates.predicate_rows[pairs.stored_rows]] = True
    return answer


def _yield_spark_answers(frame: DataFrame, texts: Sequence[str]) -> Iterator[Bools | str]:
    """Yield what Spark's `where` keeps for each text, or its complaint."""
    from pyspark.errors import PySparkException

    try:
        answer = _evaluate_predicates(frame, texts)
        yield from (np.asarray(answer.column(i)) for i in range(len(texts)))
    except PySparkException as error:
        if len(texts) == 1:
            yield str(error)[:300]
        else:
            for text in texts:
                yield from _yield_spark_answers(frame, [text])


def _evaluate_predicates(frame: DataFrame, texts: Sequence[str], *columns: str) -> pa.Table:
    """Return the given columns, and one for each text: whether `where` keeps the row."""
    from pyspark.sql import functions as F

    # As `where` does, WHEN takes conditions only, and neither a text nor an untyped null. A row on
    # which a predicate raises is not kept, and is no reason to keep no other.
    kept = [
        F.when(F.expr(guard_expression(f"({text}\n)")), F.lit(True))
        .otherwise(F.lit(False))
        .alias(f"p{i}")
        for i, text in enumerate(texts)
    ]
    return frame.select(*map(quote_identifier, columns), *kept).toArrow()


def _find_disagreements(
    predicate: str, covey_answers: Bools, spark_answers: Bools | str
) -> list[Disagreement]:
    if isinstance(spark_answers, str):
        return [Disagreement(predicate, -1, spark_answers)]
    return [
        Disagreement(predicate, int(row), bool(spark_answers[row]))
        for row in np.flatnonzero(covey_answers != spark_answers)
    ]
