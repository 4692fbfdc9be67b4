"""Commands shown in the documentation exist, with their options and keys.

`test_docs.py` runs the commands of `covey`; others take too long or change the machine.
"""

from __future__ import annotations

import re
import shlex
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import harness
from tests.blocks import PAGES, ROOT, blocks, commands

SHOWN = [
    pytest.param(command.text, id=f"{page.relative_to(ROOT)}:{command.line}")
    for page in PAGES
    for block in blocks(page)
    if block.info == "console"
    for command in commands(block)
]
INLINE = sorted(
    {
        " ".join(command.split())
        for page in PAGES
        for command in re.findall(r"`(python (?:-m benchmarks|examples/)[^`]*)`", page.read_text())
    }
)


@pytest.mark.parametrize("command", SHOWN)
def test_a_command_in_a_block_exists(command: str) -> None:
    check(command)


@pytest.mark.parametrize("command", INLINE)
def test_a_command_in_a_sentence_exists(command: str) -> None:
    # placeholders such as NAME or KEY
    if "…" not in command and not re.search(r"\b[A-Z]+\b", command):
        check(command)


@pytest.mark.parametrize(
    "command",
    [
        "make no-such-target",
        "python -m benchmarks no-such-benchmark",
        "python -m benchmarks index --only no_such_key",
        "python examples/flights.py --no-such-option 3",
        "python examples/no_such_file.py",
        "pip install '.[no-such-extra]'",
        "rm -rf /",
    ],
)
def test_a_command_that_does_not_exist_is_noticed(command: str) -> None:
    with pytest.raises(pytest.fail.Exception):
        check(command)


def check(command: str) -> None:
    """Fail unless the program, target, option or key that the command names exists."""
    words = shlex.split(command, comments=True)
    while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
        del words[0]
    known = CHECKS.get(words[0].removeprefix(".venv/bin/"))
    if known is None:
        pytest.fail(f"no check is defined for the program {words[0]!r}")
    known(words[1:])


def make(words: list[str]) -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for word in words:
        if "=" not in word and word not in targets:
            pytest.fail(f"make has no target {word!r}")


def python(words: list[str]) -> None:
    match words:
        case ["-m", "benchmarks", *rest]:
            benchmark(rest)
        case ["-m", "pytest", *rest]:
            for word in rest:
                if not word.startswith("-") and not (ROOT / word).exists():
                    pytest.fail(f"path {word!r} does not exist")
        case ["examples/flights.py", *rest]:
            flights(rest)
        case _:
            pytest.fail(f"no check is defined for python {shlex.join(words)}")


def benchmark(words: list[str]) -> None:
    names = [word for word in words if not word.startswith("-")]
    if not names:
        return
    if names[0] not in harness.discover():
        pytest.fail(f"benchmark {names[0]!r} does not exist")
    if "--only" in words:
        missing = set(names[1:]) - harness.load(names[0]).KEYS.keys()
        if missing:
            pytest.fail(f"benchmark {names[0]!r} has no keys {missing}")


def flights(words: list[str]) -> None:
    from examples.flights import parser

    try:
        parser().parse_args(words)
    except SystemExit:
        pytest.fail(f"examples/flights.py does not accept {words}")


def pip(words: list[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for word in words:
        if "[" in word:
            name, _, extras = word.rstrip("]").partition("[")
            if name not in (".", project["name"]):
                pytest.fail(f"{name!r} is not the name of this project")
            for extra in set(extras.split(",")) - project["optional-dependencies"].keys():
                pytest.fail(f"extra {extra!r} does not exist")


def pyspark(words: list[str]) -> None:
    if not (Path(sys.executable).parent / "pyspark").exists():
        pytest.fail("pyspark is not installed")


def covey(words: list[str]) -> None:
    """Accept every command: `test_docs.py` runs them."""


def ci(words: list[str]) -> None:
    assert (ROOT / ".ci" / "run").exists()


CHECKS: dict[str, Callable[[list[str]], None]] = {
    "make": make,
    "python": python,
    "pip": pip,
    "pyspark": pyspark,
    "covey": covey,
    ".ci/run": ci,
}
