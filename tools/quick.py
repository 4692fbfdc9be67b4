"""Runs the tests that a change affects, nearest first, for about a minute: `make quick`.

The change is the difference from a commit (HEAD unless BASE is set), with untracked files. A test
file is affected if it imports a changed file, directly or through other files. Tests that are named
after the changed file run first, then those of its layer, then all others; within these groups,
tests with fewer imports in between run first. When the time is over, no further test is started,
and the summary contains the number of tests that were left out. `make check` and `make integration`
run all tests.

For a file that no test imports, such as a page or a program, the tests of its folder, of the
documentation and of the project's files are run.
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
"""Exit code of pytest if it had no test to run."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests and return pytest's exit code.

    The code is 0 if the change affects no test, and `NO_TESTS` if no affected test was run.
    """
    parser = argparse.ArgumentParser("quick", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--base", default="HEAD", help="commit to compare with (default: HEAD)")
    parser.add_argument(
        "--seconds", type=float, default=50.0, help="seconds after which no test is started"
    )
    parser.add_argument("--list", action="store_true", help="print the test files, run nothing")
    parser.add_argument("rest", nargs="*", help="options for pytest, after --")
    options = parser.parse_args(arguments)
    start = time.time()
    changed = changed_files(ROOT, options.base)
    removed = [name for name in changed if name.endswith(".py") and not (ROOT / name).exists()]
    try:
        graph = ImportGraph.read(ROOT, removed=removed)
    except SyntaxError as error:
        raise SystemExit(f"{error.filename}, line {error.lineno}: {error.msg}") from None
    files = [file for file in affected_files(graph, changed) if (ROOT / file).exists()]
    if options.list or not files:
        print(*files or [f"the changes since {options.base} affect no test"], sep="\n")
        return 0
    print(f"{len(changed)} changed files affect {len(files)} files with tests", flush=True)
    environment = {
        **os.environ,
        "COVEY_QUICK_ORDER": os.pathsep.join(files),
        "COVEY_QUICK_UNTIL": str(start + options.seconds),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tools.quick_plugin", *options.rest]
    command += files
    # Tests on Spark run beside the other tests: each of the two runs needs about one core.
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
    """Run commands at the same time and return their exit codes.

    The output of the first command is printed while it runs, that of the second when it ends.
    """
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
    """Return the reason why tests on Spark cannot run on this machine; "" if they can."""
    if not shutil.which("java"):
        return "java is not installed"
    missing = [name for name in ("jars", "kafka") if not (ROOT / f".{name}").exists()]
    return f"run make {' '.join(missing)}" if missing else ""


def changed_files(root: Path, base: str) -> list[str]:
    """Return the files that differ from a commit, and untracked files."""
    tracked = _git(root, "diff", "--name-only", "--no-renames", "-z", base, "--")
    return sorted({*tracked, *_git(root, "ls-files", "--others", "--exclude-standard", "-z")})


def affected_files(graph: ImportGraph, changed: Iterable[str]) -> list[str]:
    """Return the files whose tests or doctests a change affects, nearest first."""
    ranks: dict[str, tuple[int, int]] = {}
    for path in changed:
        distances = {path: 0} | graph.distances(path)
        distances |= {file: 1 for file in graph.importers if _is_named_after(file, path)}
        path_ranks = {file: _rank(file, path, distance) for file, distance in distances.items()}
        if not any(file.startswith("tests/") and _has_tests(file) for file in path_ranks):
            # No import shows which tests depend on the file: it is not Python, or a program.
            same_folder = (file for file in graph.importers if _folder(file) == _folder(path))
            default_tests = [*PROJECT_TESTS, *same_folder]
            path_ranks |= {file: (1, 0) for file in default_tests if file.startswith("tests/")}
        for file, rank in path_ranks.items():
            if _has_tests(file):
                ranks[file] = min(rank, ranks.get(file, rank))
    return sorted(ranks, key=lambda file: (ranks[file], file))


def _rank(file: str, changed: str, distance: int) -> tuple[int, int]:
    """Return a rank, lower for nearer tests: by name and layer, then by the number of imports."""
    if file == changed or _is_named_after(file, changed):
        return 0, distance
    return 1 if _layer(file) == _layer(changed) else 2, distance


def _is_named_after(file: str, changed: str) -> bool:
    """Return whether a file is named as the test file of a changed module."""
    name = PurePosixPath(changed).name.removeprefix("_")
    return PurePosixPath(file).name == f"test_{name}" and _layer(file) == _layer(changed)


def _folder(path: str) -> str:
    return str(PurePosixPath(path).parent)


def _layer(path: str) -> str:
    """Return the layer of a file of the package or of the tests, or "".

    >>> _layer("src/covey/store/lock.py"), _layer("tests/store/test_lock.py"), _layer("Makefile")
    ('store', 'store', '')
    """
    parts = PurePosixPath(path).parts
    parts = parts[1:] if parts[0] == "src" else parts
    return parts[1] if len(parts) > 2 else ""


def _is_on_spark(file: str) -> bool:
    """Return whether a file has tests that need Spark."""
    return "mark.integration" in (ROOT / file).read_text(encoding="utf-8")


def _has_tests(file: str) -> bool:
    """Return whether pytest collects tests or doctests from a file."""
    path = PurePosixPath(file)
    if path.suffix != ".py":
        return False
    if path.parts[0] == "tests":
        return path.name.startswith("test_")
    return path.parts[0] in ("src", "benchmarks", "soak", "tools")


def _git(root: Path, *words: str) -> list[str]:
    """Return the files that a git command prints, separated by NUL."""
    try:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise SystemExit("git, which lists the changed files, is not installed") from None
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"git {words[0]}: {error.stderr.strip()}") from None
    return done.stdout.split("\0")[:-1]


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    sys.exit(main())
