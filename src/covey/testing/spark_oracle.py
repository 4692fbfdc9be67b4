"""Spark as the oracle: compare the rows that `where` keeps with the rows that covey matches."""

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
    """Predicate and event for which Spark and covey give different answers.

    Args:
        predicate: text of the predicate.
        event_row: row number of the event, or -1 if Spark refuses the predicate.
        spark_answer: whether Spark's `where` keeps the row, or Spark's error message.
    """

    predicate: str
    event_row: int
    spark_answer: bool | str


@dataclass(frozen=True, slots=True)
class OracleReport:
    """Result of a comparison with Spark.

    Args:
        parsed_count: number of texts that covey parses.
        rejected: error for each text that covey rejects, by position.
        disagreements: all differences, for the texts that covey parses.
    """

    parsed_count: int
    rejected: dict[int, Exception]
    disagreements: list[Disagreement]


def configure_session(spark: SparkSession, settings: SessionSettings) -> None:
    """Set the time zone and the ANSI mode of a Spark session to those of `settings`."""
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
    """Evaluate every predicate on every event with Spark and with covey, and compare the answers.

    Args:
        spark: a session; its time zone and ANSI mode are set to those of the space.
        space: the space of the events; the rules of time zones are read from the session's Java.
        table: the events, with a column for each column of the space.
        predicate_texts: predicates; covey may reject some of them.
        max_predicates_per_job: predicates that are evaluated in one Spark job.

    Cost: a Spark job of about a second for every `max_predicates_per_job` texts. If Spark refuses a
    job, its texts are evaluated again one by one.
    """
    configure_session(spark, space.settings)
    settings = space.settings.with_time_zones(_read_time_zones(spark))
    space = replace(space, settings=settings)
    predicates = Parser(space).parse(predicate_texts)
    schema = ", ".join(f"`{column.name}` {to_ddl(column.type)}" for column in space.columns)
    frame = spark.createDataFrame(table, schema).coalesce(1).cache()
    try:
        covey_answers = _match_with_covey(predicates, _add_derived(frame, predicates.space, table))
        parsed = [i for i in range(len(predicate_texts)) if i not in predicates.rejected]
        disagreements: list[Disagreement] = []
        for start in range(0, len(parsed), max_predicates_per_job):
            chunk = parsed[start : start + max_predicates_per_job]
            texts = [predicate_texts[i] for i in chunk]
            for i, spark_answers in zip(chunk, _yield_spark_answers(frame, texts), strict=True):
                disagreements += _find_disagreements(
                    predicate_texts[i], covey_answers[:, i], spark_answers
                )
        return OracleReport(len(parsed), dict(predicates.rejected), disagreements)
    finally:
        frame.unpersist()


def match_with_spark(
    frame: DataFrame,
    predicates: Mapping[Id, str],
    row_column: str,
    *,
    max_predicates_per_job: int = 100,
) -> set[tuple[object, Id]]:
    """Return the rows of a DataFrame that Spark's `where` keeps for each predicate.

    Args:
        frame: the events.
        predicates: Spark SQL predicates by id.
        row_column: column whose values identify the rows in the result.
        max_predicates_per_job: predicates that are evaluated in one Spark job.

    Returns:
        Pairs of a row's value in `row_column` and the id of a predicate that is true for the row.
        A row on which a predicate raises an error does not match this predicate.

    Raises:
        PySparkException: Spark refuses a predicate.
        InvalidArgumentError: `max_predicates_per_job` is less than 1.

    Cost: a Spark job of about a second for every `max_predicates_per_job` predicates.
    """
    if max_predicates_per_job < 1:
        raise InvalidArgumentError(
            f"max_predicates_per_job must be at least 1, got {max_predicates_per_job}"
        )
    matches: set[tuple[object, Id]] = set()
    ids, texts = list(predicates), list(predicates.values())
    for start in range(0, len(ids), max_predicates_per_job):
        answer = _evaluate_predicates(
            frame, texts[start : start + max_predicates_per_job], row_column
        )
        row_names = answer.column(0).to_pylist()
        for column, id_ in enumerate(ids[start : start + max_predicates_per_job], start=1):
            matching_rows = np.flatnonzero(answer.column(column))
            matches |= {(row_names[row], id_) for row in matching_rows.tolist()}
    return matches


def to_ddl(type_: Type) -> str:
    """Return a type in the notation of Spark's DDL schemas."""
    return str(replace(type_, length=0)) if type_.length else str(type_)


def _read_time_zones(spark: SparkSession) -> TimeZones:
    """Return the time zones of Spark's Java, like `covey.spark.java_time_zones`."""
    java = spark._jvm.java  # type: ignore[union-attr]
    file = java.io.File(java.lang.System.getProperty("java.home"), "lib/tzdb.dat")
    return TimeZones(bytes(java.nio.file.Files.readAllBytes(file.toPath())))


def _add_derived(frame: DataFrame, space: Space, table: pa.Table) -> Events:
    """Return the events with their derived attributes, which Spark computes."""
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
    """Yield for each text which rows Spark's `where` keeps, or Spark's error message."""
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
    """Return the named columns, and a Boolean column per text: whether `where` keeps the row.

    The Boolean columns of the texts come last, in the order of the texts.
    """
    from pyspark.sql import functions as F

    # Like `where`, WHEN accepts conditions only, neither a text nor an untyped null. The guard
    # makes a predicate null, which counts as false, on rows on which it raises an error.
    is_kept_columns = [
        F.when(F.expr(guard_expression(f"({text}\n)")), F.lit(True))
        .otherwise(F.lit(False))
        .alias(f"p{i}")
        for i, text in enumerate(texts)
    ]
    return frame.select(*map(quote_identifier, columns), *is_kept_columns).toArrow()


def _find_disagreements(
    predicate: str, covey_answers: Bools, spark_answers: Bools | str
) -> list[Disagreement]:
    if isinstance(spark_answers, str):
        return [Disagreement(predicate, -1, spark_answers)]
    return [
        Disagreement(predicate, int(row), bool(spark_answers[row]))
        for row in np.flatnonzero(covey_answers != spark_answers)
    ]
