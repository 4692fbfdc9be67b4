"""Imports between packages of covey that violate their interfaces.

`python -m tools.package_borders` prints them. A package's interface is its `__all__`, its modules,
and the `__all__` of its sub-packages. Other packages may not import modules of sub-packages, names
that a module does not list in `__all__`, or names that start with an underscore.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent / "src" / "covey"


def iter_break_ins(root: Path) -> Iterator[tuple[str, str]]:
    """Yield modules below a package's folder, each with an import that it may not use."""
    name = root.name
    modules = {
        ".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(
            ".__init__"
        ): path
        for path in sorted(root.rglob("*.py"))
    }
    exports = {module: _read_exports(path) for module, path in modules.items()}
    for module, path in modules.items():
        for imported, member in _iter_imports(path):
            parts = imported.split(".")
            if parts[0] != name or len(parts) < 2 or parts[1] in module.split(".")[1:2]:
                continue
            if not _is_interface(imported, member, modules, exports):
                yield module, f"{imported}.{member}" if member else imported


def _is_interface(
    imported: str, member: str | None, modules: dict[str, Path], exports: dict[str, set[str]]
) -> bool:
    parts = imported.split(".")[1:]
    if imported not in modules or any(part.startswith("_") for part in parts[1:]):
        return False
    # `covey.package`, `covey.package.module`, or `covey.package.sub_package`
    if len(parts) > 2:
        return False
    if f"{imported}.{member}" in modules:
        return len(parts) == 1 and not str(member).startswith("_")
    return member is None or member in exports[imported]


def _module_name(root: Path, path: Path) -> str:
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def _read_exports(path: Path) -> set[str]:
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


def _iter_imports(path: Path) -> Iterator[tuple[str, str | None]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.module, alias.name) for alias in node.names)


def main() -> None:
    """Print the modules that import names outside of an interface."""
    for module, imported in iter_break_ins(ROOT):
        print(f"{module} imports {imported}")


if __name__ == "__main__":
    main()
