"""A random sample of texts for a review of the language: `python -m tools.prose_sample`.

Docstrings (also private ones), messages of exceptions, help texts of options, and paragraphs of
pages are drawn with a fixed seed, so that a review can be repeated. The output is a Markdown page:
each text with its location and, for docstrings and messages, the line of code that it belongs to.
"""

from __future__ import annotations

import argparse
import ast
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.prose import iter_page_texts

__all__ = ["Text", "draw", "main"]

ROOT = Path(__file__).parent.parent
SEED = 11
COUNTS = {"docstring": 200, "message": 100, "paragraph": 60}
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_MIN_WORDS = 4  # shorter texts are names and formats
_OPTIONS = frozenset(["Argument", "Option"])


@dataclass(frozen=True, slots=True)
class Text:
    """A text with its location, and the line of code that it belongs to."""

    kind: str
    place: str
    text: str
    code: str = ""


def draw(root: Path = ROOT, seed: int = SEED) -> list[Text]:
    """Return a random sample with the numbers of texts in `COUNTS`."""
    texts: list[Text] = []
    for path in sorted((root / "src").rglob("*.py")):
        texts += _iter_source_texts(path, path.relative_to(root).as_posix())
    for path in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        texts += _iter_paragraphs(path, path.relative_to(root).as_posix())
    rng = random.Random(seed)
    sample: list[Text] = []
    for kind, count in COUNTS.items():
        of_kind = [text for text in texts if text.kind == kind]
        sample += rng.sample(of_kind, min(count, len(of_kind)))
    return sample


def _iter_source_texts(path: Path, name: str) -> Iterator[Text]:
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _DOCUMENTED) and (docstring := ast.get_docstring(node)):
            line = 1 if isinstance(node, ast.Module) else node.lineno
            code = "" if isinstance(node, ast.Module) else lines[line - 1].strip()
            yield Text("docstring", f"{name}:{line}", docstring, code)
        for message in _iter_messages(node):
            if len(message.split()) >= _MIN_WORDS:
                line = node.lineno  # type: ignore[attr-defined]
                yield Text("message", f"{name}:{line}", message, lines[line - 1].strip())


def _iter_messages(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        yield from (_read_text(argument) for argument in node.exc.args[:1])
    elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _OPTIONS:
        yield from (_read_text(word.value) for word in node.keywords if word.arg == "help")


def _read_text(node: ast.expr) -> str:
    """Return a literal text of the code, with expressions in braces; "" if it is not literal."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return ast.unparse(node)[2:-1]
    return ""


def _iter_paragraphs(path: Path, name: str) -> Iterator[Text]:
    for line, text in iter_page_texts(path.read_text(encoding="utf-8")):
        if len(text.split()) > _MIN_WORDS and not text.lstrip().startswith(("|", "#", "!", ":::")):
            yield Text("paragraph", f"{name}:{line}", text)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the sample as a Markdown page."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--seed", type=int, default=SEED, help="seed of the sample")
    for number, text in enumerate(draw(seed=parser.parse_args(arguments).seed), start=1):
        print(f"## {number}. {text.kind}, {text.place}\n")
        if text.code:
            print(f"`{text.code}`\n")
        print(text.text.replace("\n", "\n> ").join(["> ", "\n"]))


if __name__ == "__main__":
    main()
