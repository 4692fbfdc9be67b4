"""The documentation runs: every Python block of README.md and docs/ is executed, in order.

Blocks of one file share a namespace, as a reader would type them. A fence that says
`python no-run` is left alone, and so is every other language.
"""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what an example writes does not stay in the clone
    run_blocks(page)


def test_a_failing_block_is_named_by_file_and_line(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# Title\n\n```python\nx = 1\n```\n\n```python no-run\n1 / 0\n```\n\n"
        "```python\nassert x == 1\nassert x == 2, 'not two'\n```\n"
    )
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:13: AssertionError: not two"):
        run_blocks(page)


def test_an_open_fence_is_named(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("text\n\n```python\nx = 1\n")
    with pytest.raises(pytest.fail.Exception, match=r"page\.md:3: .*never closed"):
        run_blocks(page)


def run_blocks(page: Path) -> None:
    """Execute the page's blocks; a failure is reported at its line of the page."""
    linecache.checkcache(str(page))
    namespace: dict[str, object] = {"__name__": "__main__"}
    for line, source in python_blocks(page):
        try:
            # Padded with empty lines, so that tracebacks count in lines of the page.
            exec(compile("\n" * line + source, str(page), "exec"), namespace)
        except Exception as error:
            at = failing_line(error, page) or line
            shown = "".join(traceback.format_exception(error)[-12:])
            what = f"{type(error).__name__}: {error}"
            pytest.fail(f"{page}:{at}: {what}\n\n{shown}", pytrace=False)


def python_blocks(page: Path) -> Iterator[tuple[int, str]]:
    """The opening fence's line number and the source of each block to run."""
    fence, language, opened, body = "", "", 0, []
    for number, text in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        stripped = text.strip()
        if not fence and stripped.startswith("```"):
            fence = stripped[: len(stripped) - len(stripped.lstrip("`"))]
            language, opened, body = stripped.removeprefix(fence).strip(), number, []
        elif fence and stripped == fence:
            if language == "python":
                yield opened, "\n".join(body)
            fence = ""
        elif fence:
            body.append(text)
    if fence:
        pytest.fail(f"{page}:{opened}: this block is never closed", pytrace=False)


def failing_line(error: Exception, page: Path) -> int | None:
    """The innermost line of the page in the error's traceback, or of a syntax error."""
    if isinstance(error, SyntaxError) and error.filename == str(page):
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == str(page)), None)
