"""Mutants: small deliberate faults in the sources, to measure which of them `make quick` detects.

`python -m tools.mutants` draws one fault for each of 40 modules, adds five hand-picked faults in
kernels, and runs `make quick` on each mutant in a clone of the last commit. A mutant is killed if a
test fails or the run takes too long; otherwise it survives. The seed is fixed, so that a run can be
repeated. `--list` prints the mutants, `--only 3 17` runs two of them, and `--apply 3 17` writes
them into this checkout, so that other tests can be run on them.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Mutant", "draw", "main", "mutants_of"]

ROOT = Path(__file__).parent.parent
SEED, COUNT, TIMEOUT_S = 26, 40, 180.0

COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
ARITHMETIC = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "//", ast.FloorDiv: "*", ast.Div: "*", ast.Mod: "*",
    ast.BitAnd: "|", ast.BitOr: "&", ast.LShift: ">>", ast.RShift: "<<",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file below the root, and its text with one fault."""

    file: str
    line: int
    original: str
    text: str

    @property
    def diff(self) -> list[str]:
        """Lines in which the mutant differs, each with - (original) or + (mutant) before it."""
        before, after = self.original.splitlines(), self.text.splitlines()
        lines = difflib.unified_diff(before, after, lineterm="", n=0)
        return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


BY_HAND = [
    (
        "src/covey/index/kernels/tree_search.py",
        "doubt_count += np.uint64((outside == 0) & (doubtful != 0))",
        "doubt_count += np.uint64((outside == 0) & (doubtful == 0))",
    ),
    (
        "src/covey/covering/kernels/hull_merging.py",
        "touch &= a <= d + 1 and c <= b + 1",
        "touch &= a <= d + 2 and c <= b + 1",
    ),
    (
        "benchmarks/on_overlay/kernels/placement_loops.py",
        "is_root[i], copies[i] = False, 1",
        "is_root[i], copies[i] = True, 1",
    ),
    (
        "src/covey/plan/kernels/box_unions.py",
        "offset += measure.strides[k] * (2 * boxes[row, d + k] + 1)",
        "offset += measure.strides[k] * (2 * boxes[row, d + k])",
    ),
    (
        "src/covey/routing/kernels/run_blocks.py",
        "        if directory[ENTRY_START, middle] <= position:\n            low = middle\n",
        "        if directory[ENTRY_START, middle] < position:\n            low = middle\n",
    ),
]
"""Hand-picked faults in kernels: the file, the original text, and its replacement."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the mutants and print the outcome of each; return 0 even if mutants survive."""
    parser = argparse.ArgumentParser("mutants", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=SEED, help="seed of the drawn mutants")
    parser.add_argument("--count", type=int, default=COUNT, help="number of drawn mutants")
    parser.add_argument("--only", type=int, nargs="+", help="numbers of the mutants to run")
    parser.add_argument("--list", action="store_true", help="print the mutants, run nothing")
    parser.add_argument("--apply", type=int, nargs="+", help="write mutants into this checkout")
    options = parser.parse_args(arguments)
    mutants = [*draw(ROOT, options.seed, options.count), *_by_hand(ROOT)]
    numbers = options.only or options.apply or range(len(mutants))
    if unknown := [n for n in numbers if not 0 <= n < len(mutants)]:
        parser.error(f"mutant numbers must be from 0 to {len(mutants) - 1}, got {unknown[0]}")
    if options.apply:
        for number in numbers:
            (ROOT / mutants[number].file).write_text(mutants[number].text, encoding="utf-8")
    if options.list or options.apply:
        for number in numbers:
            _describe(number, mutants[number])
        return 0
    changed = ["git", "status", "--porcelain", "src"]
    if subprocess.run(changed, cwd=ROOT, capture_output=True, check=True).stdout:
        parser.error("src/ differs from the last commit, from which mutants are made: commit first")
    with tempfile.TemporaryDirectory() as folder:
        _check_without_mutant(_clone(Path(folder) / "none"))
        survivors = [n for n in numbers if _survives(n, mutants[n], _clone(Path(folder) / str(n)))]
    print(f"{len(survivors)} of {len(list(numbers))} mutants survive: {survivors}")
    return 0


def draw(root: Path, seed: int, count: int) -> list[Mutant]:
    """Return one random mutant for each of `count` random modules; kernels are excluded."""
    rng = random.Random(seed)
    files = sorted(
        path.relative_to(root).as_posix()
        for path in (root / "src").rglob("*.py")
        if path.name != "__init__.py" and path.parent.name != "kernels"
    )
    rng.shuffle(files)
    drawn: list[Mutant] = []
    for file in files:
        mutants = list(mutants_of(file, (root / file).read_text(encoding="utf-8")))
        if mutants and len(drawn) < count:
            drawn.append(rng.choice(mutants))
    return drawn


def mutants_of(file: str, source: str) -> Iterator[Mutant]:
    """Yield every mutant of a source, in the order of its syntax tree."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    encoded = source.encode()

    def offsets(node: ast.AST) -> tuple[int, int]:
        first = starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        last = starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        return first, last

    def replaced(node: ast.AST, first: int, last: int, text: str) -> Mutant:
        changed = encoded[:first] + text.encode() + encoded[last:]
        return Mutant(file, node.lineno, source, changed.decode())  # type: ignore[attr-defined]

    for node in _code(ast.parse(source)):
        first, last = offsets(node) if hasattr(node, "lineno") else (0, 0)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            middle = offsets(node.left)[1], offsets(node.comparators[0])[0]
            new = COMPARISONS[type(node.ops[0])]
            if b"(" not in encoded[slice(*middle)] and b")" not in encoded[slice(*middle)]:
                yield replaced(node, *middle, f" {new} ")
        elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
            middle = offsets(node.left)[1], offsets(node.right)[0]
            if b"(" not in encoded[slice(*middle)] and b")" not in encoded[slice(*middle)]:
                yield replaced(node, *middle, f" {ARITHMETIC[type(node.op)]} ")
        elif isinstance(node, ast.BoolOp):
            middle = offsets(node.values[0])[1], offsets(node.values[1])[0]
            old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            between = encoded[slice(*middle)].decode()
            if len(node.values) == 2 and between.strip() == old:
                yield replaced(node, *middle, between.replace(old, new))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield replaced(node, first, offsets(node.operand)[0], "")
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield replaced(node, first, last, str(not node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            yield replaced(node, first, last, f"({node.value!r} + 1)")
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            test = offsets(node.test)
            yield replaced(node, *test, f"not ({encoded[slice(*test)].decode()})")
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield replaced(node, first, last, "pass")


def _code(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below a node that can change the behaviour of the program."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST) or isinstance(node, ast.JoinedStr):
                continue
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                continue
            yield node
            yield from _code(node)


def _by_hand(root: Path) -> Iterator[Mutant]:
    for file, old, new in BY_HAND:
        source = (root / file).read_text(encoding="utf-8")
        if source.count(old) != 1:
            raise SystemExit(
                f"{file} must contain the original text of a mutant once, got "
                f"{source.count(old)} times: {old!r}"
            )
        line = source[: source.index(old)].count("\n") + 1
        yield Mutant(file, line, source, source.replace(old, new))


def _check_without_mutant(clone: Path) -> None:
    """End the program if `make quick` fails without a fault: every mutant would seem killed."""
    with (clone / "src/covey/errors.py").open("a", encoding="utf-8") as file:
        file.write("\n# The same module, with a comment.\n")
    code, printed = _run_quick(clone)
    if code != 0:
        raise SystemExit(f"make quick fails on a harmless change:\n{printed[-2000:]}")


def _survives(number: int, mutant: Mutant, clone: Path) -> bool:
    """Run `make quick` on a mutant in a clone and print the result; return whether it survives."""
    (clone / mutant.file).write_text(mutant.text, encoding="utf-8")
    start = time.monotonic()
    code, printed = _run_quick(clone)
    is_unnoticed = code == 0 or "no test was run" in printed
    outcome = "SURVIVES" if is_unnoticed else "killed by time" if code is None else "killed"
    _describe(number, mutant)
    summary = [line for line in printed.splitlines() if line.startswith("FAILED")]
    last = printed.strip().rpartition("\n")[2]
    print(f"   {outcome} in {time.monotonic() - start:.0f} s: {(summary or [last])[0][:150]}")
    sys.stdout.flush()
    return outcome == "SURVIVES"


def _run_quick(clone: Path) -> tuple[int | None, str]:
    """Run `make quick` in a clone, and return its exit code (None if it hangs) and its output."""
    process = subprocess.Popen(
        ["make", "--no-print-directory", "quick", f"VENV={Path(sys.prefix)}", "ARGS=-- -x"],
        cwd=clone, env={**os.environ, "PYTHONPATH": str(clone / "src")}, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
    )  # fmt: skip
    try:
        printed = process.communicate(timeout=TIMEOUT_S)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return None, process.communicate()[0]
    return process.returncode, printed


def _clone(folder: Path) -> Path:
    """Return a clone of the last commit, with the jars of this checkout."""
    subprocess.run(["git", "clone", "--quiet", "--shared", str(ROOT), str(folder)], check=True)
    for name in (".jars", ".kafka"):
        if (ROOT / name).exists():
            (folder / name).symlink_to(ROOT / name)
    return folder


def _describe(number: int, mutant: Mutant) -> None:
    print(f"{number:2d} {mutant.file}:{mutant.line}")
    print(*(f"   {line}" for line in mutant.diff), sep="\n")


if __name__ == "__main__":
    sys.exit(main())
