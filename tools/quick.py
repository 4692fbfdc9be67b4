"""Runs the tests that a change affects, nearest first, for about a minute: `make quick`.

The change is what differs from a commit (HEAD unless BASE is given), with files that git does not
know yet. A test file is affected if it imports a changed file, directly or not. Nearest are the
tests that are named after the changed file, then those of its layer, then all others, each by the
number of imports in between. When the time is over no further test is started, and the summary
says how many were left out: `make check` and `make integration` run them all.

A file that no test imports, such as a page or a program, runs the tests of its folder, of the
documentation and of the project's files.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from tools.import_graph import ImportGraph

__all__ = ["affected_files", "changed_files", "main"]

ROOT = Path(__file__).parent.parent
PROJECT_TESTS = tuple(
    f"tests/test_{name}.py" for name in ("commands", "docs", "guarantees", "site")
)
NO_TESTS = 5
"""pytest's exit code where it had no test to run."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests and return pytest's exit code.

    It is 0 if the change affects no test, and that of pytest without tests if none was run.
    """
    parser = argparse.ArgumentParser("quick", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--base", default="HEAD", help="commit to compare with (default: HEAD)")
    parser.add_argument("--seconds", type=float, default=50.0, help="start no test after this long")
    parser.add_argument("--list", action="store_true", help="print the test files, run nothing")
    parser.add_argument("rest", nargs="*", help="passed on to pytest, after --")
    asked = parser.parse_args(arguments)
    started = time.time()
    changed = changed_files(ROOT, asked.base)
    removed = [name for name in changed if name.endswith(".py") and not (ROOT / name).exists()]
    try:
        graph = ImportGraph.read(ROOT, removed=removed)
    except SyntaxError as error:
        raise SystemExit(f"{error.filename}, line {error.lineno}: {error.msg}") from None
    files = [file for file in affected_files(graph, changed) if (ROOT / file).exists()]
    if asked.list or not files:
        print(*files or [f"no test is affected by what differs from {asked.base}"], sep="\n")
        return 0
    print(f"{len(changed)} changed files affect {len(files)} files with tests", flush=True)
    environment = {
        **os.environ,
        "COVEY_QUICK_ORDER": os.pathsep.join(files),
        "COVEY_QUICK_UNTIL": str(started + asked.seconds),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tools.quick_plugin", *asked.rest]
    command += files
    # Tests on Spark wait for one process, and the other tests need another: one core each.
    runs = [[*command, "-m", "not integration and not nightly"]]
    if any(map(_is_on_spark, files)):
        if missing := _missing_for_spark():
            print(f"tests on Spark are left out: {missing}", flush=True)
        else:
            runs.append([*command, "-m", "integration"])
    codes = _run_side_by_side(runs, environment)
    died = [code for code in codes if code < 0]
    if died:
        print(f"pytest was ended by {signal.Signals(-died[0]).name}")
    failed = [abs(code) for code in codes if code not in (0, NO_TESTS)]
    if not failed and 0 not in codes:
        print("no test was run")
        return NO_TESTS
    return max(failed, default=0)


def _run_side_by_side(runs: Sequence[Sequence[str]], environment: Mapping[str, str]) -> list[int]:
    """Run commands at the same time and return their exit codes; the first prints as it goes."""
    processes: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryFile("w+") as printed:
        try:
            for command, stdout in zip(runs, (None, printed), strict=False):
                processes.append(
                    subprocess.Popen(
                        command, cwd=ROOT, env=environment, stdout=stdout, stderr=stdout
                    )
                )
            codes = [process.wait() for process in processes]
        finally:
            for process in processes:
                process.terminate()
        printed.seek(0)
        print(printed.read(), end="")
    return codes


def _missing_for_spark() -> str:
    """Return what tests on Spark lack here, nothing if they can run."""
    if not shutil.which("java"):
        return "there is no java"
    missing = [name for name in ("jars", "kafka") if not (ROOT / f".{name}").exists()]
    return f"run make {' '.join(missing)}" if missing else ""


def changed_files(root: Path, base: str) -> list[str]:
    """Return the files that differ from a commit, and those that git does not know yet."""
    known = _git(root, "diff", "--name-only", "--no-renames", "-z", base, "--")
    return sorted({*known, *_git(root, "ls-files", "--others", "--exclude-standard", "-z")})


def affected_files(graph: ImportGraph, changed: Iterable[str]) -> list[str]:
    """Return the files whose tests or doctests a change affects, nearest first."""
    ranks: dict[str, tuple[int, int]] = {}
    for path in changed:
        found = {path: 0} | graph.distances(path)
        found |= {file: 1 for file in graph.importers if _is_named_after(file, path)}
        nearer = {file: _rank(file, path, distance) for file, distance in found.items()}
        if not any(file.startswith("tests/") and _has_tests(file) for file in nearer):
            # Whoever reads or runs it does not say so: no Python, or a program of its own.
            near = [*PROJECT_TESTS, *(f for f in graph.importers if _folder(f) == _folder(path))]
            nearer |= {file: (1, 0) for file in near if file.startswith("tests/")}
        for file, rank in nearer.items():
            if _has_tests(file):
                ranks[file] = min(rank, ranks.get(file, rank))
    return sorted(ranks, key=lambda file: (ranks[file], file))


def _rank(file: str, changed: str, distance: int) -> tuple[int, int]:
    """Return how near a test file is to a changed file: its nearness by name, then by imports."""
    if file == changed or _is_named_after(file, changed):
        return 0, distance
    return 1 if _layer(file) == _layer(changed) else 2, distance


def _is_named_after(file: str, changed: str) -> bool:
    """Return whether a file holds the tests of a module by its name."""
    name = PurePosixPath(changed).name.removeprefix("_")
    return PurePosixPath(file).name == f"test_{name}" and _layer(file) == _layer(changed)


def _folder(path: str) -> str:
    return str(PurePosixPath(path).parent)


def _layer(path: str) -> str:
    """Return the layer that a file of the package or of the tests belongs to.

    >>> _layer("src/covey/store/lock.py"), _layer("tests/store/test_lock.py"), _layer("Makefile")
    ('store', 'store', '')
    """
    parts = PurePosixPath(path).parts
    parts = parts[1:] if parts[0] == "src" else parts
    return parts[1] if len(parts) > 2 else ""


def _is_on_spark(file: str) -> bool:
    """Return whether some tests of a file need Spark."""
    return "mark.integration" in (ROOT / file).read_text(encoding="utf-8")


def _has_tests(file: str) -> bool:
    """Return whether pytest finds tests or doctests in a file."""
    path = PurePosixPath(file)
    if path.suffix != ".py":
        return False
    if path.parts[0] == "tests":
        return path.name.startswith("test_")
    return path.parts[0] in ("src", "benchmarks", "soak", "tools")


def _git(root: Path, *words: str) -> list[str]:
    """Return the files that git names; they are ended by NUL, as names may have any letters."""
    try:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise SystemExit("git is not installed: it tells what has changed") from None
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"git {words[0]}: {error.stderr.strip()}") from None
    return done.stdout.split("\0")[:-1]


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main())
