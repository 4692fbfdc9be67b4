"""Replay: decide a range of past events again, and count or write what would be sent."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from covey.errors import InvalidArgumentError

if TYPE_CHECKING:
    from covey.stream import StreamConfig

__all__ = ["replay_range"]


def replay_range(
    config: StreamConfig,
    session: AbstractContextManager[SparkSession],
    start_offsets: str,
    end_offsets: str | None,
    version: int | None,
    output_path: Path | None,
) -> None:
    """Print how many messages would be sent to each topic, and write them to a file.

    Args:
        config: configuration of the stream.
        session: context manager that starts the Spark session.
        start_offsets: value of `--from`, as JSON.
        end_offsets: value of `--to`, as JSON; None for the ends of the topics.
        version: version that decides; None for the versions that decided the events before.
        output_path: new file for the messages; None to write none.

    Raises:
        InvalidArgumentError: the file exists, or the offsets are wrong.
    """
    from covey.store.storage import open_storage
    from covey.stream.batches import DecisionLog
    from covey.stream.replay import ReplayRange, open_version, parse_offsets

    if output_path is not None and output_path.exists():
        raise InvalidArgumentError(f"{output_path} exists already: name another file with --output")
    first, end = (
        parse_offsets(start_offsets),
        None if end_offsets is None else parse_offsets(end_offsets),
    )
    past = ReplayRange.from_offsets(config, first, end)
    pieces: list[tuple[int, int | None, ReplayRange]] = []
    if version is None:
        decision_log = DecisionLog(open_storage(config.state.path))
        for decision, piece in past.split_by_decision(decision_log):
            pieces.append((decision.version, decision.time_ms, piece))
    else:
        pieces.append((version, None, past))
    with session as spark:
        counts: dict[str, int] = {}
        file = None if output_path is None else output_path.open("x", encoding="utf-8")
        for number, time_ms, piece in pieces:
            snapshot = open_version(config, number)
            rows = piece.build_notifications(spark, config, snapshot, time_ms=time_ms)
            if file is not None:
                rows = rows.cache()
                for row in rows.orderBy("topic", "key").toLocalIterator():
                    file.write(f"{row['topic']}\t{row['value'].decode()}\n")
            for row in rows.groupBy("topic").agg(F.count(F.lit(1)).alias("n")).collect():
                counts[row["topic"]] = counts.get(row["topic"], 0) + row["n"]
            rows.unpersist()
        if file is not None:
            file.close()
    versions = sorted({number for number, *_ in pieces})
    is_one = len(versions) == 1
    names = f"version {versions[0]}" if is_one else f"versions {versions[0]} to {versions[-1]}"
    typer.echo(f"decided by {names}; no notification was sent")
    for topic in (config.notifications.topic, config.dead_letters.topic):
        typer.echo(f"{counts.get(topic, 0):>12,} would go to {topic}")
