"""Names of a package that are imported when they are asked for.

Spark's workers, and a command that starts Java, import one module of a package: what the others
need, numba, sqlglot and pyspark's machine learning among it, takes seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazily"]


def lazily(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package whose names have their homes in modules of it.

    >>> lazily("covey", {"ValueRefused": "errors"})("ValueRefused").__module__
    'covey.errors'
    """

    def found(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return found
