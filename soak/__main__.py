"""The soak: `python -m soak --events 1000000 --changes 20000 --kills 100 --seed 7 --folder F`.

Progress is on stderr, a line every ten seconds; the result is one JSON object on stdout. Exit code
1: something was lost, invented, sent differently or counted twice, or the run was none: too few
kills, or no compaction. Exit code 2: the run could not be made.
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
    """Runs what `argv` asks for, and returns the exit code."""
    given = vars(_parser().parse_args(argv))
    given["driver"] = shlex.split(given["driver"])
    given["folder"] = given["folder"].resolve()
    given["jars"] = str(Path(given["jars"]).absolute())
    asked = Asked(**given)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # so that processes are ended, too
    try:
        result = run(asked)
    except (RuntimeError, OSError) as error:
        print(f"the run failed: {error}", file=sys.stderr)
        return 2
    found = faults(result, asked)
    print(json.dumps(result | {"faults": found}, indent=2))
    return 1 if found else 0


def _parser() -> argparse.ArgumentParser:
    covey = shlex.join([str(Path(sys.executable).with_name("covey")), "stream"])
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, help="to be sent, at least")
    parser.add_argument("--changes", type=int, default=20_000, help="to be sent, at least")
    parser.add_argument("--kills", type=int, default=100, help="to be made, at least")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, required=True, help="empty, or not there")
    parser.add_argument("--rate", type=float, default=500.0, help="events a second")
    parser.add_argument("--pause-s", type=float, default=4.0, help="between kills, on average")
    parser.add_argument(
        "--lag-s", type=float, default=240.0, help="age at which control records are compacted"
    )
    parser.add_argument("--driver", default=covey, help="command that is given the config")
    parser.add_argument("--jars", default=".jars/*.jar", help="for Spark")
    parser.add_argument("--kafka", type=Path, default=Path(".kafka"), help="folder of its jars")
    return parser


if __name__ == "__main__":
    sys.exit(main())
