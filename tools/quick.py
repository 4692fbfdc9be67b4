"""Runs the tests that a change affects, nearest first, for about a minute: `make quick`.

The change is what differs from a commit (HEAD unless BASE is given), with files that git does not
know yet. A test file is affected if it imports a changed file, directly or not. Nearest are the
tests that are named after the changed file, then those of its layer, then all others, each by the
number of imports in between. When the time is over no further test is started, and the summary
says how many were left out: `make check` and `make integration` run them all.

A change of something that is no Python runs the tests of the documentation and of the project's
files.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
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
    """Run the tests and return pytest's exit code; 0 if the change affects no test."""
    parser = argparse.ArgumentParser("quick", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--base", default="HEAD", help="commit to compare with (default: HEAD)")
    parser.add_argument("--seconds", type=float, default=50.0, help="start no test after this long")
    parser.add_argument("--list", action="store_true", help="print the test files, run nothing")
    parser.add_argument("rest", nargs="*", help="passed on to pytest, after --")
    asked = parser.parse_args(arguments)
    started = time.time()
    changed = changed_files(ROOT, asked.base)
    files = affected_files(ImportGraph.read(ROOT), changed)
    if asked.list or not files:
        print(*files or [f"no test is affected by what differs from {asked.base}"], sep="\n")
        return 0
    print(f"{len(changed)} changed files affect {len(files)} files with tests", flush=True)
    environment = {
        **os.environ,
        "COVEY_QUICK_ORDER": os.pathsep.join(files),
        "COVEY_QUICK_UNTIL": str(started + asked.seconds),
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tools.quick_plugin",
        *asked.rest,
        *files,
    ]
    # Tests on Spark wait for one process, and the other tests need another: one core each.
    runs = [[*command, "-m", "not integration and not nightly"]]
    if shutil.which("java") and any(map(_is_on_spark, files)):
        runs.append([*command, "-m", "integration"])
    with tempfile.TemporaryFile("w+") as later:
        processes = [
            subprocess.Popen(one, cwd=ROOT, env=environment, stdout=stdout, stderr=stdout)
            for one, stdout in zip(runs, (None, later), strict=False)
        ]
        codes = [process.wait() for process in processes]
        later.seek(0)
        print(later.read(), end="")
    return max(0 if code == NO_TESTS else code for code in codes)


def changed_files(root: Path, base: str) -> list[str]:
    """Return the files that differ from a commit, and those that git does not know yet."""
    known = _git(root, "diff", "--name-only", "--no-renames", base, "--")
    return sorted({*known, *_git(root, "ls-files", "--others", "--exclude-standard")})


def affected_files(graph: ImportGraph, changed: Iterable[str]) -> list[str]:
    """Return the files whose tests or doctests a change affects, nearest first."""
    ranks: dict[str, tuple[int, int]] = {}
    for path in changed:
        if path.endswith(".py"):
            found = graph.distances(path)
            nearer = {file: _rank(file, path, distance) for file, distance in found.items()}
        else:
            nearer = dict.fromkeys(PROJECT_TESTS, (1, 0))
        for file, rank in nearer.items():
            if _has_tests(file):
                ranks[file] = min(rank, ranks.get(file, rank))
    return sorted(ranks, key=lambda file: (ranks[file], file))


def _rank(file: str, changed: str, distance: int) -> tuple[int, int]:
    """Return how near a test file is to a changed file: its nearness by name, then by imports."""
    name = PurePosixPath(file).stem.removeprefix("test_")
    if file == changed or (_layer(file) == _layer(changed) and name == PurePosixPath(changed).stem):
        return 0, distance
    return 1 if _layer(file) == _layer(changed) else 2, distance


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
    if path.parts[0] == "tests":
        return path.name.startswith("test_")
    return path.parts[0] in ("src", "benchmarks", "soak", "tools")


def _git(root: Path, *words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


if __name__ == "__main__":
    sys.exit(main())
