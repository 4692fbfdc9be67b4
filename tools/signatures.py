"""Signatures of public functions that break a rule, read from the sources.

Run it with `python -m tools.signatures`. A function or method is public if neither its name nor
those of its module and class start with an underscore. Kernels are left out, because they may write
into arrays that are passed to them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef

_IMMUTABLE = frozenset(["bool", "bytes", "float", "int", "str"])
_ARRAYS = frozenset(["NDArray", "np.dtype", "np.floating", "np.integer"])
_WRITERS = frozenset(["append", "appendleft", "extend", "insert", "setdefault", "sort", "update"])


@dataclass(frozen=True, slots=True)
class PublicFunction:
    """A function or method with its full name, `module.Class.name`."""

    name: str
    node: Function
    is_method: bool

    @property
    def parameters(self) -> list[ast.arg]:
        """All parameters except `self` and `cls`."""
        arguments = self.node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        return [*positional[self.is_method :], *arguments.kwonlyargs]

    @property
    def untyped(self) -> list[str]:
        """The parameters, and `return`, whose type is or contains `Any`.

        The element type of an array does not count: `NDArray[Any]` is allowed.
        """
        arguments = self.node.args
        variadic = [p for p in (arguments.vararg, arguments.kwarg) if p is not None]
        annotations = {p.arg: p.annotation for p in [*self.parameters, *variadic]}
        annotations["return"] = self.node.returns
        return [
            name
            for name, annotation in annotations.items()
            if annotation is not None and _says_any(annotation)
        ]

    @property
    def positional_options(self) -> list[str]:
        """The options that callers may pass by position.

        Options are boolean parameters after the first two, and three kinds of parameters with a
        default: all after the first two, booleans, and limits after the first parameter.
        """
        arguments = self.node.args
        positional = [*arguments.posonlyargs, *arguments.args][self.is_method :]
        required = len(positional) - len(arguments.defaults)
        return [
            p.arg
            for index, p in enumerate(positional)
            if (index >= required and (index >= 2 or _is_bool(p) or (index and _is_limit(p))))
            or (index >= 2 and _is_bool(p))
        ]

    @property
    def written_parameters(self) -> list[str]:
        """The parameters that the function writes into."""
        mutable = {
            p.arg
            for p in self.parameters
            if p.annotation is None or ast.unparse(p.annotation) not in _IMMUTABLE
        }
        written = {root for node in ast.walk(self.node) for root in _find_written(node)}
        rebound = {
            target.id
            for node in ast.walk(self.node)
            if isinstance(node, ast.Assign)
            for target in _iter_targets(node)
            if isinstance(target, ast.Name)
        }
        return sorted(mutable & written - rebound)


def iter_public_functions(folder: Path) -> Iterator[PublicFunction]:
    """Yield the public functions and methods of all sources below a package's folder."""
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        if "kernels" in parts or any(part.startswith("_") for part in parts[:-1]):
            continue
        if parts[-1] == "__init__":
            parts = parts[:-1]
        elif parts[-1].startswith("_"):
            continue
        yield from _iter_body(ast.parse(path.read_text()).body, ".".join(parts), False)


def _says_any(annotation: ast.AST) -> bool:
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) in _ARRAYS:
        return False
    if isinstance(annotation, ast.Name) and annotation.id == "Any":
        return True
    return any(_says_any(child) for child in ast.iter_child_nodes(annotation))


def _is_bool(parameter: ast.arg) -> bool:
    return parameter.annotation is not None and ast.unparse(parameter.annotation) == "bool"


def _is_limit(parameter: ast.arg) -> bool:
    return parameter.arg.startswith("max_") or parameter.arg == "limit"


def _iter_body(body: list[ast.stmt], prefix: str, in_class: bool) -> Iterator[PublicFunction]:
    overloaded = set[str]()
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _iter_body(node.body, f"{prefix}.{node.name}", True)
        elif isinstance(node, Function):
            is_public = not node.name.startswith("_") or node.name in ("__init__", "__call__")
            decorators = {ast.unparse(d).partition("(")[0] for d in node.decorator_list}
            if "overload" in decorators:
                overloaded.add(node.name)
            elif node.name in overloaded:
                continue  # callers see the overloads
            if is_public and "kernel" not in decorators:
                is_method = in_class and "staticmethod" not in decorators
                yield PublicFunction(f"{prefix}.{node.name}", node, is_method)


def _find_written(node: ast.AST) -> Iterator[str]:
    """Yield the variables that a statement or call modifies without rebinding them."""
    if isinstance(node, ast.Assign | ast.AugAssign | ast.Delete):
        for target in _iter_targets(node):
            if isinstance(target, ast.Subscript | ast.Attribute) or isinstance(node, ast.AugAssign):
                yield _find_root(target)
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _WRITERS
    ):
        yield _find_root(node.func.value)


def _iter_targets(node: ast.Assign | ast.AugAssign | ast.Delete) -> Iterator[ast.expr]:
    for target in [node.target] if isinstance(node, ast.AugAssign) else node.targets:
        yield from target.elts if isinstance(target, ast.Tuple | ast.List) else [target]


def _find_root(node: ast.expr) -> str:
    """Return the variable of an expression such as `name.attribute[0]`, or ""."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def main() -> None:
    """Print the public functions that break a rule of signatures."""
    for function in iter_public_functions(Path("src/covey")):
        if function.untyped:
            print(f"{function.name}: the type contains Any: {', '.join(function.untyped)}")
        if function.positional_options:
            options = ", ".join(function.positional_options)
            print(f"{function.name}: options may be passed by position: {options}")
        if function.written_parameters:
            print(f"{function.name}: writes into {', '.join(function.written_parameters)}")


if __name__ == "__main__":
    main()
