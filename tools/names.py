"""Counts of odd names in a tree of sources: `python -m tools.names`.

A name is odd if it is one word that ends in -ed, -ing, -ly or -wards, or an everyday word without a
specific meaning (`found`, `rest`), unless it is a term of the field listed in `ALLOWED`.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

# Everyday words without a specific meaning.
VAGUE = frozenset(
    [
        "anew",
        "asked",
        "found",
        "given",
        "kept",
        "most",
        "near",
        "of",
        "onwards",
        "place",
        "rest",
        "serving",
        "some",
        "told",
        "wanted",
    ]
)

# Terms of the field with such an ending, each with the reason.
ALLOWED = {
    "apply": "a batch of changes is applied to a store, as in every storage engine; no adverb",
    "plotting": "code that draws plots, as pandas.plotting",
    "routing": "a routing table is the field's noun for what a broker knows of its links",
    "testing": "a package of helpers for tests, as numpy.testing and pandas.testing",
}

_ENDING = re.compile(r"(ed|ing|ly|wards)$")
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z0-9]+")


@dataclass(frozen=True, slots=True)
class Definition:
    """A defined name with its location."""

    kind: str  # function, class or module
    name: str
    path: Path
    line: int
    in_module: bool  # at the top level of its module

    @property
    def words(self) -> list[str]:
        """The words of the name, in lower case."""
        return [word.lower() for word in _WORDS.findall(self.name)]

    @property
    def is_odd(self) -> bool:
        """Whether the name is one word without a specific meaning."""
        if len(self.words) != 1 or self.name.startswith("__"):
            return False
        word = self.words[0]
        if word in ALLOWED:
            return False
        return word in VAGUE or bool(_ENDING.search(word))


def iter_definitions(folder: Path) -> Iterator[Definition]:
    """Yield the modules, classes and functions of all sources below a folder."""
    for path in sorted(folder.rglob("*.py")):
        if path.stem != "__init__":
            yield Definition("module", path.stem, path, 1, True)
        tree = ast.parse(path.read_text())
        top = set(map(id, tree.body))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                yield Definition("class", node.name, path, node.lineno, id(node) in top)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield Definition("function", node.name, path, node.lineno, id(node) in top)


def find_duplicate_classes(definitions: Iterable[Definition]) -> list[str]:
    """Return the names that several public top-level classes share."""
    classes = Counter(
        definition.name
        for definition in definitions
        if definition.kind == "class"
        and definition.in_module
        and not definition.name.startswith("_")
    )
    return sorted(name for name, count in classes.items() if count > 1)


def count_modules(folder: Path) -> dict[Path, int]:
    """Return the number of modules of each package, except packages of kernels."""
    modules = (path for path in folder.rglob("*.py") if path.stem != "__init__")
    return Counter(path.parent for path in modules if path.parent.name != "kernels")


def main() -> None:
    """Print the shares of odd names, and with `--list` the names."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("src/covey"))
    parser.add_argument("--list", action="store_true", help="print each odd name")
    arguments = parser.parse_args()
    definitions = list(iter_definitions(arguments.folder))
    for kind in ("function", "class", "module"):
        of_kind = [d for d in definitions if d.kind == kind and not d.name.startswith("__")]
        odd = [definition for definition in of_kind if definition.is_odd]
        print(f"odd_{kind}_names: {len(odd)} of {len(of_kind)}, {len(odd) / len(of_kind):.1%}")
        if arguments.list:
            for definition in odd:
                print(f"  {definition.path}:{definition.line} {definition.name}")
    functions = [d for d in definitions if d.kind == "function" and d.in_module]
    short = [function for function in functions if len(function.words) == 1]
    share = len(short) / len(functions)
    print(f"one_word_functions: {len(short)} of {len(functions)}, {share:.1%}")
    duplicates = find_duplicate_classes(definitions)
    print(f"duplicate_class_names: {len(duplicates)} {' '.join(duplicates)}")


if __name__ == "__main__":
    main()
