"""Packages with lazy exports import only the modules of the requested names."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import covey

SOURCES = Path(covey.__file__).parent
LAZY = sorted(
    ".".join(path.parent.relative_to(SOURCES.parent).parts)
    for path in SOURCES.rglob("__init__.py")
    if "lazy_exports(" in path.read_text()
)


@pytest.mark.parametrize("package", LAZY)
def test_every_exported_name_can_be_imported(package: str) -> None:
    module = importlib.import_module(package)
    for name in module.__all__:
        export = getattr(module, name)
        if inspect.isfunction(export) or inspect.isclass(export):  # not a constant or an alias
            assert export.__name__ == name
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        module.nothing  # noqa: B018


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("covey", ["numpy", "pyarrow", "sqlglot", "numba"]),
        ("covey.cli", ["numba", "sqlglot", "pyarrow", "covey.language"]),
        ("covey.stream.config", ["pyspark", "numpy"]),
        ("covey.stream.events.notify_task", ["pyspark.ml", "pandas", "scipy.sparse"]),
        ("covey.testing", ["hypothesis", "pyspark", "numpy"]),
    ],
)
def test_heavy_libraries_are_not_imported(module: str, absent: list[str]) -> None:
    code = f"import sys, {module}; print(*(name for name in {absent} if name in sys.modules))"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert said.stdout.split() == []
