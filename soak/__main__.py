"""The soak test: `python -m soak --events 1000000 --changes 20000 --kills 100 --seed 7 --folder F`.

Progress is printed on stderr, one line every ten seconds. The result is one JSON object on stdout.
The exit code is 1 if a notification was lost, invented, changed or counted twice, or if the run
proves nothing because it had too few kills or no log compaction. It is 2 if the run failed.
"""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from soak.run import faults, run
from soak.scene import Asked

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the soak test with the options in `argv` and return the exit code."""
    options = vars(_parser().parse_args(argv))
    options["driver"] = shlex.split(options["driver"])
    options["folder"] = options["folder"].resolve()
    options["jars"] = str(Path(options["jars"]).absolute())
    asked = Asked(**options)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # also ends the child processes
    try:
        result = run(asked)
    except (RuntimeError, OSError) as error:
        print(f"the run failed: {error}", file=sys.stderr)
        return 2
    fault_texts = faults(result, asked)
    print(json.dumps(result | {"faults": fault_texts}, indent=2))
    return 1 if fault_texts else 0


def _parser() -> argparse.ArgumentParser:
    covey = shlex.join([str(Path(sys.executable).with_name("covey")), "stream"])
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument(
        "--events", type=int, default=1_000_000, help="smallest number of events to send"
    )
    parser.add_argument(
        "--changes",
        type=int,
        default=20_000,
        help="smallest number of changes to send",
    )
    parser.add_argument("--kills", type=int, default=100, help="smallest number of kills")
    parser.add_argument("--seed", type=int, default=0, help="seed of all random choices")
    parser.add_argument(
        "--folder", type=Path, required=True, help="folder of the run; empty or new"
    )
    parser.add_argument("--rate", type=float, default=500.0, help="events per second")
    parser.add_argument("--pause-s", type=float, default=4.0, help="mean seconds between two kills")
    parser.add_argument(
        "--lag-s", type=float, default=240.0, help="age in seconds at which Kafka compacts changes"
    )
    parser.add_argument(
        "--driver", default=covey, help="command of the pipeline; the config file is appended"
    )
    parser.add_argument("--jars", default=".jars/*.jar", help="jars for Spark")
    parser.add_argument("--kafka", type=Path, default=Path(".kafka"), help="folder of Kafka's jars")
    return parser


if __name__ == "__main__":
    sys.exit(main())
