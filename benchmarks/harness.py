"""The frame that every benchmark runs in: find it, run it, print it, keep it.

A benchmark is a module `benchmarks/<name>.py` (`-` in the name is `_` in the file) with `KEYS`
and `run`, as `Benchmark` says. It prints nothing itself: people get one table, programs get one
JSON object on the last line, and progress goes to stderr.

Timing alone says little on a shared machine: compare two things with `interleaved` and publish
the ratio.
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
    """What a benchmark module offers."""

    KEYS: dict[str, str]
    """Each result's key, with one line for people."""

    def run(self, only: frozenset[str], full: bool) -> dict[str, Value]:
        """Results for the keys in `only`, which is never empty; published sizes if `full`."""
        ...


def interleaved(repeats: int, **runs: Callable[[], object]) -> dict[str, float]:
    """Median seconds of each of `runs`, which take turns `repeats` times.

    Taking turns spreads a slow moment of the machine over all of them, and every other round
    goes backwards so that none is always first. Compile and warm up before calling.

    >>> sorted(interleaved(3, small=lambda: sum(range(10)), large=lambda: sum(range(1000))))
    ['large', 'small']
    """
    if repeats < 1:
        raise ValueError(f"repeats must be at least 1, not {repeats}")
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(repeats):
        for name in list(runs)[:: -1 if turn % 2 else 1]:
            start = time.perf_counter()
            runs[name]()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in seconds.items()}


def progress(done: int, total: int, label: str) -> None:
    """Say on stderr how far `label` is and how long it will still take.

    The estimate starts at the first call with a label, so call it once before the work. On a
    terminal the line is overwritten; in a log a line appears every few seconds and at the end.
    """
    now = time.perf_counter()
    started, done_then, printed = _progress.get(label, (now, done, float("-inf")))
    finished = done >= total
    on_terminal = sys.stderr.isatty()
    if on_terminal or finished or now - printed >= _QUIET_SECONDS:
        gained = done - done_then
        left = f"{(now - started) / gained * (total - done):.0f} s left" if gained else "…"
        text = f"{label}: {done}/{total}, " + (f"took {now - started:.1f} s" if finished else left)
        end = "" if on_terminal and not finished else "\n"
        print(f"\r\x1b[K{text}" if on_terminal else text, end=end, file=sys.stderr, flush=True)
        printed = now
    _progress[label] = (started, done_then, printed)
    if finished:
        del _progress[label]


def discover() -> dict[str, str]:
    """Each benchmark's name with the first line of its docstring.

    Sources are read, not imported: a list must not load Spark. Modules without `KEYS` are helpers.
    """
    found = {}
    for module in pkgutil.iter_modules(benchmarks.__path__):
        spec = module.module_finder.find_spec(module.name, None)
        if spec is None or spec.origin is None or module.ispkg:
            continue
        tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
        if "KEYS" in _assigned(tree):
            purpose = (ast.get_docstring(tree) or "").partition("\n")[0]
            found[module.name.replace("_", "-")] = purpose
    return found


def load(name: str) -> Benchmark:
    """The benchmark called `name`, imported."""
    module = importlib.import_module(f"benchmarks.{name.replace('-', '_')}")
    return cast(Benchmark, module)


def measure(
    name: str, benchmark: Benchmark, only: frozenset[str], *, full: bool, results: Path
) -> None:
    """Run `benchmark`, print its table and its line of JSON, and keep full results in a file.

    A full run of only some keys is printed and not kept: one file is one run of one commit.
    """
    commit, dirty = _commit()  # before the run: what was measured, not what came after
    measured = benchmark.run(only, full)
    wrong = (measured.keys() - benchmark.KEYS.keys()) | (only - measured.keys())
    if wrong:
        raise RuntimeError(f"{name} left out or never declared: {', '.join(sorted(wrong))}")
    kept = {key: measured[key] for key in benchmark.KEYS if key in only}
    if full and only == benchmark.KEYS.keys():
        date = datetime.now(UTC).date().isoformat()
        record = {"name": name, "commit": commit, "dirty": dirty, "date": date, "results": kept}
        results.mkdir(parents=True, exist_ok=True)
        (results / f"{name}.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    elif full:
        print("some keys only: no results file written", file=sys.stderr)
    _print_table(kept, benchmark.KEYS)
    print(json.dumps(kept))


def _assigned(tree: ast.Module) -> set[str]:
    targets: list[ast.expr] = []
    for node in tree.body:
        if isinstance(node, ast.Assign):
            targets += node.targets
        elif isinstance(node, ast.AnnAssign):
            targets.append(node.target)
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _commit() -> tuple[str | None, bool]:
    """Short hash and whether anything but results differs from it; (None, True) without git."""
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
