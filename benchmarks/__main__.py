"""The command line of the benchmarks: `python -m benchmarks NAME [--only KEY …] [--full]`.

An unknown name or key is reported in one line on stderr with the valid choices; the exit code is 2.
`benchmarks.harness` prints and writes the results.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import harness


def main(argv: Sequence[str] | None = None, results: Path = harness.RESULTS) -> int:
    """Run the benchmark that `argv` names and return the exit code.

    Args:
        argv: command-line arguments; None for those of this process.
        results: folder for the results of full runs.
    """
    options = _parser().parse_args(argv)
    purposes = harness.discover()
    if options.name is None:
        _list(purposes)
        return 0
    name = options.name.replace("_", "-")
    if name not in purposes:
        return _mistake("benchmark", [options.name], purposes)
    benchmark = harness.load(name)
    unknown_keys = [key for key in options.only if key not in benchmark.KEYS]
    if unknown_keys:
        return _mistake(f"key of {name}", unknown_keys, benchmark.KEYS)
    only = frozenset(options.only) or frozenset(benchmark.KEYS)
    harness.measure(name, benchmark, only, full=options.full, results=results)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", nargs="?", help="benchmark to run; without it, list all benchmarks")
    parser.add_argument(
        "--only",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY",
        help="measure only these keys",
    )
    parser.add_argument(
        "--full",
        action="store_true",
        help="run at the published sizes and write the results to benchmarks/results/",
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
    print(f"unknown {what}: {', '.join(given)} (valid: {choices})", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
