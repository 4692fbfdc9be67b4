"""The runner of all benchmarks: finds a benchmark, runs it, and prints and stores its results.

A benchmark is a module `benchmarks/<name>.py` (`-` in the name is `_` in the file) with the members
of `Benchmark`. It prints no results itself: this module prints a table, and one JSON object on the
last line for programs. Progress goes to stderr.

On a shared machine, a single time is not reliable: compare two things with `interleaved` and
publish the ratio.
"""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, cast

import benchmarks

__all__ = [
    "RESULTS",
    "Benchmark",
    "Value",
    "discover",
    "interleaved",
    "load",
    "measure",
    "progress",
]

Value = float | int | str
RESULTS = Path(__file__).parent / "results"
_QUIET_SECONDS = 5.0  # between progress lines in a log, where lines cannot be overwritten
_progress: dict[str, tuple[float, int, float]] = {}  # label: (started, done then, last printed)


class Benchmark(Protocol):
    """The members that a benchmark module must have."""

    KEYS: dict[str, str]
    """The description of each result, in one line, by the key of the result."""

    def run(self, only: frozenset[str], full: bool) -> dict[str, Value]:
        """Return results for the keys in `only`, which is never empty.

        With `full`, results are measured at the published sizes.
        """
        ...


def interleaved(repeats: int, **runs: Callable[[], object]) -> dict[str, float]:
    """Return the median seconds of each of `runs`, which are called in turns, `repeats` times.

    Turns spread a slow moment of the machine over all runs. Every second round is in reverse order,
    so that no run is always first. Compile and warm up before calling this function.

    Raises:
        ValueError: `repeats` is below 1.

    >>> sorted(interleaved(3, small=lambda: sum(range(10)), large=lambda: sum(range(1000))))
    ['large', 'small']
    """
    if repeats < 1:
        raise ValueError(f"repeats must be at least 1, got {repeats}")
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(repeats):
        for name in list(runs)[:: -1 if turn % 2 else 1]:
            start = time.perf_counter()
            runs[name]()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def progress(done: int, total: int, label: str) -> None:
    """Print on stderr how much of the work `label` is done, and the estimated remaining time.

    The estimate starts at the first call with a label, so call this function once before the work.
    On a terminal, the line is overwritten. In a log, a line is added every few seconds and at the
    end.
    """
    now = time.perf_counter()
    started, done_then, printed = _progress.get(label, (now, done, float("-inf")))
    finished = done >= total
    on_terminal = sys.stderr.isatty()
    if on_terminal or finished or now - printed >= _QUIET_SECONDS:
        gained = done - done_then
        remaining = f"{(now - started) / gained * (total - done):.0f} s left" if gained else "…"
        text = f"{label}: {done}/{total}, " + (
            f"took {now - started:.1f} s" if finished else remaining
        )
        end = "" if on_terminal and not finished else "\n"
        print(f"\r\x1b[K{text}" if on_terminal else text, end=end, file=sys.stderr, flush=True)
        printed = now
    _progress[label] = (started, done_then, printed)
    if finished:
        del _progress[label]


def discover() -> dict[str, str]:
    """Return the first line of the docstring of each benchmark, by the name of the benchmark.

    Sources are read but not imported, so that a list does not load Spark. Modules without `KEYS`
    are helpers and are left out.
    """
    purposes = {}
    for module in pkgutil.iter_modules(benchmarks.__path__):
        spec = module.module_finder.find_spec(module.name, None)
        if spec is None or spec.origin is None or module.ispkg:
            continue
        tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
        if "KEYS" in _assigned(tree):
            purpose = (ast.get_docstring(tree) or "").partition("\n")[0]
            purposes[module.name.replace("_", "-")] = purpose
    return purposes


def load(name: str) -> Benchmark:
    """Import the benchmark `name` and return its module."""
    module = importlib.import_module(f"benchmarks.{name.replace('-', '_')}")
    return cast(Benchmark, module)


def measure(
    name: str, benchmark: Benchmark, only: frozenset[str], *, full: bool, results: Path
) -> None:
    """Run `benchmark`, print a table and a line of JSON, and write full results to a file.

    A full run of only some keys is printed but not written, because a file contains the results
    of one run of all keys.

    Args:
        name: name of the benchmark and of the file.
        benchmark: the module of the benchmark.
        only: the keys to measure.
        full: whether to run at the published sizes.
        results: folder of the file.

    Raises:
        RuntimeError: the benchmark left out a key, or returned one that is not in its `KEYS`.
    """
    commit, dirty = _commit()  # before the run, so that it is the commit that was measured
    measured = benchmark.run(only, full)
    wrong = (measured.keys() - benchmark.KEYS.keys()) | (only - measured.keys())
    if wrong:
        raise RuntimeError(
            f"benchmark {name} did not return, or did not declare in KEYS: "
            f"{', '.join(sorted(wrong))}"
        )
    selected = {key: measured[key] for key in benchmark.KEYS if key in only}
    if full and only == benchmark.KEYS.keys():
        date = datetime.now(UTC).date().isoformat()
        record = {"name": name, "commit": commit, "dirty": dirty, "date": date, "results": selected}
        results.mkdir(parents=True, exist_ok=True)
        (results / f"{name}.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    elif full:
        print("only some keys were measured: no results file was written", file=sys.stderr)
    _print_table(selected, benchmark.KEYS)
    print(json.dumps(selected))


def _assigned(tree: ast.Module) -> set[str]:
    targets: list[ast.expr] = []
    for node in tree.body:
        if isinstance(node, ast.Assign):
            targets += node.targets
        elif isinstance(node, ast.AnnAssign):
            targets.append(node.target)
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _commit() -> tuple[str | None, bool]:
    """Return the short hash of the commit, and whether files other than results differ from it.

    Without git, the result is (None, True).
    """
    try:
        commit = _git("rev-parse", "--short", "HEAD")
        return commit, bool(_git("status", "--porcelain", "--", ".", ":!benchmarks/results"))
    except (OSError, subprocess.CalledProcessError):
        return None, True


def _git(*arguments: str) -> str:
    root = Path(__file__).parent.parent
    done = subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _print_table(results: dict[str, Value], keys: dict[str, str]) -> None:
    cells = {key: _cell(value) for key, value in results.items()}
    key_width = max(map(len, cells))
    value_width = max(map(len, cells.values()))
    for key, cell in cells.items():
        print(f"{key:<{key_width}}  {cell:>{value_width}}  {keys[key]}")


def _cell(value: Value) -> str:
    if isinstance(value, bool | str):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
