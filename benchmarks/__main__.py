"""The command line of the benchmarks: `python -m benchmarks NAME [--only KEY …] [--full]`.

A user's mistake is one line on stderr with the valid choices, and exit code 2. What is printed
and what is written is `benchmarks.harness`'s business.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import harness


def main(argv: Sequence[str] | None = None, results: Path = harness.RESULTS) -> int:
    """Run what `argv` asks for and return the exit code; full results go to folder `results`."""
    asked = _parser().parse_args(argv)
    known = harness.discover()
    if asked.name is None:
        _list(known)
        return 0
    name = asked.name.replace("_", "-")
    if name not in known:
        return _mistake("benchmark", [asked.name], known)
    benchmark = harness.load(name)
    unknown = [key for key in asked.only if key not in benchmark.KEYS]
    if unknown:
        return _mistake(f"key of {name}", unknown, benchmark.KEYS)
    only = frozenset(asked.only) or frozenset(benchmark.KEYS)
    harness.measure(name, benchmark, only, full=asked.full, results=results)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", nargs="?", help="what to measure; without it, list what there is")
    parser.add_argument(
        "--only", nargs="+", action="extend", default=[], metavar="KEY", help="only these results"
    )
    parser.add_argument(
        "--full", action="store_true", help="the published size; writes benchmarks/results/"
    )
    return parser


def _list(known: dict[str, str]) -> None:
    if not known:
        print("no benchmarks")
    width = max(map(len, known), default=0)
    for name, purpose in known.items():
        print(f"{name:<{width}}  {purpose}".rstrip())


def _mistake(what: str, given: list[str], valid: dict[str, str]) -> int:
    choices = ", ".join(valid) or "none"
    print(f"unknown {what}: {', '.join(given)} (there is: {choices})", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
