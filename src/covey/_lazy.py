"""Lazy package exports: a module is imported when one of its names is first used.

A Spark worker, or a command before it starts Java, needs only a few modules of a package. Importing
the dependencies of all modules (numba, sqlglot, pyspark's machine learning) would take seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazy_exports"]


def lazy_exports(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module-level `__getattr__` that imports the names of a package on first use.

    Args:
        package: full name of the package.
        modules: for each exported name, the module that defines it, relative to the package.

    >>> lazy_exports("covey", {"InvalidArgumentError": "errors"})("InvalidArgumentError").__module__
    'covey.errors'
    """

    def import_export(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{modules[name]}"), name)

    return import_export
