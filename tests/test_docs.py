"""Every Python block of README.md and docs/ runs, in order, and prints what the page shows.

Blocks of one page share a namespace and a folder, as if a reader typed them. Output is compared if
a block `text printed` follows. Commands of `covey` are run at their position in the page and must
print the lines that the page shows, except times. Blocks with the fence `python no-run` and blocks
of other languages are skipped; `test_commands.py` checks that other commands exist. Pages that use
Spark are integration tests.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import re
import shlex
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from tests.blocks import PAGES, ROOT, Block, Command, blocks, commands

USES_A_SESSION = ("match", "preview", "doctor", "reduce", "zones")
TELLS_EXIT_CODE = '; echo "exit code $?"'


def uses_spark(page: Path) -> bool:
    """Return True if the page needs Spark: it names it, or calls covey's command line."""
    return any(
        (block.info == "python" and ("pyspark" in block.text or "covey.spark" in block.text))
        or (block.info == "console" and "$ covey " in block.text)
        for block in blocks(page)
    )


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [p for p in PAGES if not uses_spark(p)], ids=page_name)
def test_python_blocks_of_pages_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # files of examples must not stay in the clone
    run_blocks(page)


@pytest.mark.integration
@pytest.mark.parametrize("page", [p for p in PAGES if uses_spark(p)], ids=page_name)
def test_pages_on_spark_run(page, tmp_path, monkeypatch, spark):
    if page.name == "flights.md" and "COVEY_TEST_REMOTE" in os.environ:
        pytest.skip("the example makes a session of its own, with a context")
    monkeypatch.chdir(tmp_path)
    zone = spark.conf.get("spark.sql.session.timeZone")
    try:
        run_blocks(page)
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


def test_a_failing_block_is_named_by_file_and_line(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# Title\n\n```python\nx = 1\n```\n\n```python no-run\n1 / 0\n```\n\n"
        "```python\nassert x == 1\nassert x == 2, 'not two'\n```\n"
    )
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:13: AssertionError: not two"):
        run_blocks(page)


def test_an_open_fence_is_reported_by_file_and_line(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("text\n\n```python\nx = 1\n")
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:3: .*never closed"):
        run_blocks(page)


def test_printed_output_is_compared_with_the_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint('yes ')\n```\n\n```text printed\nyes\n```\n")
    run_blocks(page)
    page.write_text("```python\nprint('yes')\n```\n\n```text printed\nno\n```\n")
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:5: the page says"):
        run_blocks(page)


def test_a_failing_command_is_reported_by_file_and_line(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ covey no-such-command\n```\n")
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:2: covey no-such-command"):
        run_blocks(page)


def run_blocks(page: Path) -> None:
    """Execute the blocks of a page; report a failure at its line of the page."""
    linecache.checkcache(str(page))
    namespace: dict[str, object] = {"__name__": "__main__"}
    printed = ""
    for block in blocks(page):
        if block.info == "python":
            printed = run_python(page, block, namespace)
        elif block.info == "text printed":
            compare(page, block, printed)
        elif block.info == "console":
            for command in commands(block):
                run_command(page, command)


def run_python(page: Path, block: Block, namespace: dict[str, object]) -> str:
    """Execute a block and return its printed output."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            # Padded with empty lines, so that line numbers in tracebacks are those of the page.
            exec(compile("\n" * block.line + block.text, str(page), "exec"), namespace)
        except Exception as error:
            at = failing_line(error, page) or block.line
            shown = "".join(traceback.format_exception(error)[-12:])
            description = f"{type(error).__name__}: {error}"
            pytest.fail(f"{page}:{at}: {description}\n\n{shown}", pytrace=False)
    return printed.getvalue()


def compare(page: Path, block: Block, printed: str) -> None:
    """Fail unless the block equals the printed text, except for blanks at the ends of lines."""
    said, got = ([line.rstrip() for line in t.strip().splitlines()] for t in (block.text, printed))
    if said != got:
        text = f"the page says\n{block.text}\n\nprinted was\n{printed}"
        pytest.fail(f"{page}:{block.line}: {text}", pytrace=False)


def run_command(page: Path, command: Command) -> None:
    """Run a command of covey with this Python, and fail unless it prints what the page shows."""
    if command.text.split()[0] != "covey":
        return
    code, printed = (run_here if is_for_here(command.text) else run_elsewhere)(command.text)
    missing = set(without_times(command.shown)) - set(without_times(printed))
    if code or missing:
        why = f"exit code {code}, not printed: {sorted(missing)}"
        pytest.fail(f"{page}:{command.line}: {command.text}: {why}\n\n{printed}", pytrace=False)


def is_for_here(text: str) -> bool:
    """Return True if a command can use the Spark session of the tests, which saves a start."""
    text = text.removesuffix(TELLS_EXIT_CODE)
    words = text.split()
    return words[1] in USES_A_SESSION and not set(text) & set("|&;<>$*") and "--jars" not in words


def run_here(text: str) -> tuple[int, str]:
    """Run the command in this process and return its exit code and output."""
    from typer.testing import CliRunner

    from covey.cli import app

    done = CliRunner().invoke(app, shlex.split(text.removesuffix(TELLS_EXIT_CODE))[1:])
    printed = done.stdout + done.stderr
    if text.endswith(TELLS_EXIT_CODE):
        return 0, f"{printed}exit code {done.exit_code}\n"
    return done.exit_code, printed


def run_elsewhere(text: str) -> tuple[int, str]:
    """Run the command in a shell and return its exit code and output."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path}
    done = subprocess.run(text, shell=True, env=env, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def without_times(text: str) -> list[str]:
    """Return the lines of a text, without the numbers of paragraphs that begin with `seconds`."""
    lines = []
    for paragraph in text.split("\n\n"):
        for line in paragraph.splitlines():
            timed = paragraph.lstrip().startswith("seconds ")
            lines.append(re.sub(r"[ \d.]+", " ", line) if timed else line.rstrip())
    return lines


def failing_line(error: Exception, page: Path) -> int | None:
    """Return the innermost line of the page in the traceback or syntax error, or None."""
    if isinstance(error, SyntaxError) and error.filename == str(page):
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == str(page)), None)
