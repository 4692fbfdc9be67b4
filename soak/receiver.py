"""A receiver that acts once on each notification: `python -m soak.receiver --servers S --folder F`.

Its effects, the known ids and the read offsets are in one database, and change in one transaction.
So after a kill at any moment and a restart, it continues after its last effect. It recognises
repeated notifications by their ids.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from confluent_kafka import TopicPartition

from soak.names import LEDGER, NOTIFICATIONS
from soak.topics import Record, consumer, partitions, tail

__all__ = ["Ledger", "receive"]


class Ledger:
    """The database of the receiver: effects, known ids, and the next offset of each partition."""

    def __init__(self, file: Path) -> None:
        self._database = sqlite3.connect(file, isolation_level=None, timeout=60.0)
        self._database.executescript(
            """
            PRAGMA journal_mode = WAL;
            PRAGMA synchronous = NORMAL;
            CREATE TABLE IF NOT EXISTS known (id TEXT PRIMARY KEY) WITHOUT ROWID;
            CREATE TABLE IF NOT EXISTS effects (id TEXT NOT NULL);
            CREATE TABLE IF NOT EXISTS reached (number INTEGER PRIMARY KEY, next INTEGER NOT NULL);
            """
        )

    def reached(self) -> dict[int, int]:
        """Return the offset of the next record for each partition that was read."""
        return dict(self._database.execute("SELECT number, next FROM reached"))

    def take(self, batch: Sequence[Record]) -> None:
        """Act on the notifications with new ids, for the whole batch in one transaction."""
        with self._database as database:
            database.execute("BEGIN IMMEDIATE")
            for record in batch:
                id_ = _id(record)
                cursor = database.execute("INSERT OR IGNORE INTO known VALUES (?)", (id_,))
                if cursor.rowcount:
                    database.execute("INSERT INTO effects VALUES (?)", (id_,))
            ends = {record.partition: record.offset + 1 for record in batch}
            database.executemany("REPLACE INTO reached VALUES (?, ?)", ends.items())


def receive(servers: str, folder: Path) -> None:
    """Act on notifications until the process is ended."""
    ledger, reader = Ledger(folder / LEDGER), consumer(servers)
    reached = ledger.reached()
    reader.assign(
        [
            TopicPartition(NOTIFICATIONS, number, reached.get(number, 0))
            for number in partitions(reader, NOTIFICATIONS)
        ]
    )
    for batch in tail(reader):
        ledger.take(batch)


def _id(record: Record) -> str:
    """Return the id of a notification, or a text of its key and value if it has none."""
    try:
        return str(json.loads(record.value or b"")["id"])
    except (ValueError, KeyError, TypeError):
        return repr((record.key, record.value))


def main() -> None:
    """Run the receiver with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m soak.receiver", description=__doc__)
    parser.add_argument("--servers", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    receive(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
