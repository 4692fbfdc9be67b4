"""Copies the control topic as it grows: `python -m soak.recorder --servers S --folder F`.

Compaction forgets old changes, and the checker needs them. The copy is complete or there is none:
a gap in the offsets ends the recorder. It is never killed, and ends on SIGTERM.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, TopicPartition

from soak.logs import lines
from soak.names import ALERTS, RECORDED
from soak.topics import Record, consumer, partitions, tail

__all__ = ["record", "recorded"]


def record(servers: str, folder: Path) -> None:
    """Copies until it is ended."""
    reader = consumer(servers)
    reached = dict.fromkeys(partitions(reader, ALERTS), 0)
    reader.assign([TopicPartition(ALERTS, number, OFFSET_BEGINNING) for number in reached])
    with (folder / RECORDED).open("w", encoding="utf-8") as copy:
        for batch in tail(reader):
            for found in batch:
                if found.offset != reached[found.partition]:
                    after = reached[found.partition]
                    raise RuntimeError(f"{found.offset} came where {after} was next: a gap")
                reached[found.partition] += 1
                copy.write(_line(found))
            copy.flush()


def recorded(folder: Path) -> dict[int, int]:
    """Of every partition with records, the offset of the next record to copy."""
    found: dict[int, int] = {}
    for said in lines(folder / RECORDED):
        found[said["partition"]] = said["offset"] + 1
    return found


def _line(found: Record) -> str:
    said = {
        "partition": found.partition,
        "offset": found.offset,
        "time_ms": found.time_ms,
        "key": str(found.key or b"", "utf-8"),
        "value": None if found.value is None else found.value.decode("utf-8", "surrogateescape"),
        "headers": found.headers,
    }
    return json.dumps(said) + "\n"


def main() -> None:
    """Runs the recorder."""
    parser = argparse.ArgumentParser(prog="python -m soak.recorder", description=__doc__)
    parser.add_argument("--servers", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    record(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
