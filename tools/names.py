"""Counts of names that a reader must learn, over a tree of sources: `python -m tools.names`.

A name is odd if it is one word that ends in -ed, -ing, -ly or -wards, or that everyday language
uses for anything (`found`, `rest`), unless `ALLOWED` says why it is the field's own word.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

# Everyday words that name nothing in particular.
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

# Words of the field that have such an ending, with the reason why each is one.
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
    """A name where it is defined."""

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
        """Whether the name is one word that says too little."""
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
    """Return the names that more than one public class of a module has."""
    classes = Counter(
        one.name
        for one in definitions
        if one.kind == "class" and one.in_module and not one.name.startswith("_")
    )
    return sorted(name for name, count in classes.items() if count > 1)


def count_modules(folder: Path) -> dict[Path, int]:
    """Return for each package, those of kernels left out, how many modules lie in it."""
    modules = (path for path in folder.rglob("*.py") if path.stem != "__init__")
    return Counter(path.parent for path in modules if path.parent.name != "kernels")


def main() -> None:
    """Print the shares, and with `--list` the names."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("src/covey"))
    parser.add_argument("--list", action="store_true", help="print each odd name")
    arguments = parser.parse_args()
    every = list(iter_definitions(arguments.folder))
    for kind in ("function", "class", "module"):
        named = [one for one in every if one.kind == kind and not one.name.startswith("__")]
        odd = [one for one in named if one.is_odd]
        print(f"odd_{kind}_names: {len(odd)} of {len(named)}, {len(odd) / len(named):.1%}")
        if arguments.list:
            for one in odd:
                print(f"  {one.path}:{one.line} {one.name}")
    top = [one for one in every if one.kind == "function" and one.in_module]
    short = [one for one in top if len(one.words) == 1]
    print(f"one_word_functions: {len(short)} of {len(top)}, {len(short) / len(top):.1%}")
    twice = find_duplicate_classes(every)
    print(f"duplicate_class_names: {len(twice)} {' '.join(twice)}")


if __name__ == "__main__":
    main()
