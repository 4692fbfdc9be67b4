"""A process that copies the control topic: `python -m soak.recorder --servers S --folder F`.

Log compaction removes old changes, which the checker needs. The copy is complete: a gap in the
offsets ends the recorder with an error. The recorder is never killed, and ends on SIGTERM.
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
    """Copy records until the process is ended; raise RuntimeError at a gap in the offsets."""
    reader = consumer(servers)
    next_offsets = dict.fromkeys(partitions(reader, ALERTS), 0)
    reader.assign([TopicPartition(ALERTS, number, OFFSET_BEGINNING) for number in next_offsets])
    with (folder / RECORDED).open("w", encoding="utf-8") as copy:
        for batch in tail(reader):
            for change in batch:
                expected = next_offsets[change.partition]
                if change.offset != expected:
                    raise RuntimeError(
                        f"gap in partition {change.partition} of {ALERTS}: expected offset "
                        f"{expected}, got {change.offset}"
                    )
                next_offsets[change.partition] += 1
                copy.write(_line(change))
            copy.flush()


def recorded(folder: Path) -> dict[int, int]:
    """Return the offset of the next record to copy for each partition with records."""
    next_offsets: dict[int, int] = {}
    for fields in lines(folder / RECORDED):
        next_offsets[fields["partition"]] = fields["offset"] + 1
    return next_offsets


def _line(change: Record) -> str:
    value = change.value
    fields = {
        "partition": change.partition,
        "offset": change.offset,
        "time_ms": change.time_ms,
        "key": str(change.key or b"", "utf-8"),
        "value": None if value is None else value.decode("utf-8", "surrogateescape"),
        "headers": change.headers,
    }
    return json.dumps(fields) + "\n"


def main() -> None:
    """Run the recorder with the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m soak.recorder", description=__doc__)
    parser.add_argument("--servers", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    record(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
