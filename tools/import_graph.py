"""Import graph of the checkout, read from the sources without importing them.

A node is a Python file. A file depends on the modules that define the names it imports: through
`from covey.store import Store` it depends on `store/store.py`, not on everything that
`store/__init__.py` imports. Imports inside functions and below `if TYPE_CHECKING` count. Texts that
name a module or a file count too, because programs are started by such names. A test depends on the
`conftest.py` of its folder and of the folders above.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

__all__ = ["FOLDERS", "ImportGraph"]

FOLDERS = ("src", "tests", "benchmarks", "soak", "examples", "tools")
"""Folders with Python files, below the root of the checkout; `src` contains packages directly."""


@dataclass(frozen=True, slots=True)
class ImportGraph:
    """For each file, the files that import it; names are relative to the root."""

    importers: Mapping[str, frozenset[str]]

    @classmethod
    def read(
        cls, root: Path, folders: Iterable[str] = FOLDERS, removed: Iterable[str] = ()
    ) -> ImportGraph:
        """Parse every Python file below the folders.

        Args:
            root: the checkout.
            folders: folders whose files are parsed.
            removed: deleted files; the graph contains them too, with the files that import them.

        Raises:
            SyntaxError: a file cannot be parsed.
        """
        files = {
            _module_name(path.relative_to(root)): path
            for folder in folders
            for path in sorted((root / folder).rglob("*.py"))
        }
        files |= {_module_name(Path(name)): root / name for name in removed}
        by_name: dict[str, list[str]] = {}
        for module, path in files.items():
            by_name.setdefault(path.name, []).append(module)
        imports = {
            name: [*_imports(name, path, files, by_name), *_conftests(name, files)]
            for name, path in files.items()
        }
        importers: dict[str, set[str]] = {_relative(path, root): set() for path in files.values()}
        for name, imported in imports.items():
            for module, member in imported:
                for target in _targets(module, member, imports):
                    if target != name:
                        importers[_relative(files[target], root)].add(_relative(files[name], root))
        return cls({file: frozenset(names) for file, names in importers.items()})

    def distances(self, changed: str) -> dict[str, int]:
        """Return every file that depends on `changed`, with the number of imports in between.

        The file itself has distance 0; a file that is not in the graph has no dependents.
        """
        distances = {changed: 0} if changed in self.importers else {}
        queue = deque(distances)
        while queue:
            file = queue.popleft()
            for importer in self.importers[file]:
                if importer not in distances:
                    distances[importer] = distances[file] + 1
                    # A file that imports a name from a package depends on the defining module.
                    if not importer.endswith("__init__.py"):
                        queue.append(importer)
        return distances


def _module_name(relative: Path) -> str:
    parts = relative.with_suffix("").parts
    parts = parts[1:] if parts[0] == "src" else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def _imports(
    name: str, path: Path, files: Mapping[str, Path], by_name: Mapping[str, list[str]]
) -> Iterator[tuple[str, str | None]]:
    """Yield each imported module, with the name that is imported from it if there is one."""
    if not path.exists():
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                package = name if path.name == "__init__.py" else name.rpartition(".")[0]
                base = package.rsplit(".", node.level - 1)[0] if node.level > 1 else package
                module = f"{base}.{module}".rstrip(".")
            yield from ((module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if "." in node.value and node.value in files:
                yield node.value, None
            elif node.value.endswith(".py"):
                named = by_name.get(PurePosixPath(node.value).name, [])
                yield from ((module, None) for module in named if len(named) == 1)


def _conftests(name: str, files: Mapping[str, Path]) -> Iterator[tuple[str, None]]:
    """Yield the `conftest` modules that pytest loads for the tests of a module."""
    package = name
    while package := package.rpartition(".")[0]:
        if f"{package}.conftest" in files:
            yield f"{package}.conftest", None


def _targets(
    module: str, member: str | None, imports: Mapping[str, list[tuple[str, str | None]]]
) -> Iterator[str]:
    """Yield the modules that an import depends on: the package, and the module of the name."""
    if module not in imports:
        return
    yield module
    if member is None:
        return
    if f"{module}.{member}" in imports:
        yield f"{module}.{member}"
        return
    for inner, name in imports[module]:
        if name == member and inner != module:
            yield from _targets(inner, member, imports)
