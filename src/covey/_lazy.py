"""Names of a package that are imported when they are asked for.

Spark's workers, and a command that starts Java, import one module of a package: what the others
need, numba, sqlglot and pyspark's machine learning among it, takes seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazy_exports"]


def lazy_exports(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package whose names have their homes in modules of it.

    >>> lazy_exports("covey", {"InvalidArgumentError": "errors"})("InvalidArgumentError").__module__
    'covey.errors'
    """

    def import_export(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{modules[name]}"), name)

    return import_export
