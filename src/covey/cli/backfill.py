"""A stretch of the past decided again, for people to look at: nobody is notified."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from covey.errors import ValueRefused

if TYPE_CHECKING:
    from covey.stream import Config

__all__ = ["backfill"]


def backfill(
    config: Config,
    session: AbstractContextManager[SparkSession],
    from_: str,
    to: str | None,
    version: int | None,
    output: Path | None,
) -> None:
    """Counts what would be sent, by topic, and writes it to a file if one is named."""
    from covey.store.places import directory_at
    from covey.stream.past import Past, parse_offsets, version_at
    from covey.stream.records import Records

    if output is not None and output.exists():
        raise ValueRefused(f"{output} is there already: name another file")
    first, end = parse_offsets(from_), None if to is None else parse_offsets(to)
    with session as spark:
        past = Past.between(config, first, end)
        if version is None:
            pieces = past.decided(Records(directory_at(config.state.path)))
        else:
            pieces = [(version, past)]
        counts: dict[str, int] = {}
        file = None if output is None else output.open("x", encoding="utf-8")
        for number, piece in pieces:
            rows = piece.notifications(spark, config, version_at(config, number))
            if file is not None:
                rows = rows.cache()
                for row in rows.orderBy("topic", "key").toLocalIterator():
                    file.write(f"{row['topic']}\t{row['value'].decode()}\n")
            for row in rows.groupBy("topic").agg(F.count(F.lit(1)).alias("n")).collect():
                counts[row["topic"]] = counts.get(row["topic"], 0) + row["n"]
            rows.unpersist()
        if file is not None:
            file.close()
    versions = sorted({number for number, _ in pieces})
    names = f"{versions[0]} to {versions[-1]}" if len(versions) > 1 else f"{versions[0]}"
    typer.echo(f"decided by version {names}; nobody was notified")
    for topic in (config.notifications.topic, config.dead_letters.topic):
        typer.echo(f"{counts.get(topic, 0):>12,} would go to {topic}")
