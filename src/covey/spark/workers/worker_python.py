"""Choice of the Python that Spark's workers run, and a check that it can import covey.

Spark starts `python3` of the `PATH` for its workers unless `PYSPARK_PYTHON` names another Python.
If the environment of covey is not activated, that `python3` cannot import covey, and the first job
fails with a ModuleNotFoundError inside a long Java stack trace.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING
from weakref import WeakSet

from covey.errors import CoveyError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

__all__ = ["prepare_worker_python"]

_MODULES = ("covey", "numpy", "pyarrow", "pandas", "numba", "sqlglot")
_TIMEOUT_S = 60.0
_VERSION_CODE = "import sys; print('%d.%d' % sys.version_info[:2])"

_prepared_contexts: WeakSet[SparkContext] = WeakSet()


def prepare_worker_python(spark: SparkSession) -> None:
    """Make sure that Python workers can run covey, before the first job that needs them.

    If Spark is local and `PYSPARK_PYTHON` is not set, workers get the Python of this process. If
    Spark is local and its workers run another Python, its version and its packages are checked. If
    Spark runs on a cluster, only the packages of its workers are checked. The checks are made once
    for each Spark application. Over Spark Connect nothing is checked; there, the error of a failing
    job names `PYSPARK_PYTHON`.

    Cost: nothing if a local Spark runs the Python of this process; otherwise one job of one task.

    Raises:
        CoveyError: the Python of a local worker does not start or has another version, or workers
            lack a package.
    """
    context: SparkContext | None = getattr(spark, "_sc", None)  # Spark Connect has none
    if context is None or context in _prepared_contexts:
        return
    if str(context.master).startswith("local"):
        if "PYSPARK_PYTHON" not in os.environ:
            os.environ["PYSPARK_PYTHON"] = sys.executable
            context.pythonExec = sys.executable  # Spark read the variable when it started
        if context.pythonExec != sys.executable:
            _check_version(context.pythonExec)
    if context.pythonExec != sys.executable or not str(context.master).startswith("local"):
        _check_modules(context)
    _prepared_contexts.add(context)


def _check_version(python: str) -> None:
    """Refuse a Python that does not start, or whose version is not that of this process."""
    try:
        started = subprocess.run(
            [python, "-c", _VERSION_CODE], capture_output=True, text=True, timeout=_TIMEOUT_S
        )
        problem = started.stderr.strip().rpartition("\n")[2] if started.returncode else ""
        version = started.stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        problem, version = str(error), ""
    if problem:
        raise CoveyError(
            f"Spark's workers cannot start their Python, {python} ({problem}): {_SET_PYTHON}"
        )
    if version != "{}.{}".format(*sys.version_info[:2]):
        raise CoveyError(
            f"Spark's workers run Python {version} ({python}), but this process runs Python "
            f"{sys.version_info[0]}.{sys.version_info[1]}: {_SET_PYTHON}"
        )


def _check_modules(context: SparkContext) -> None:
    """Refuse workers that lack a package which matching needs."""
    modules = _MODULES

    def find_missing(_: Iterable[int]) -> Iterable[str]:
        # Workers without covey must be able to unpickle this function, so it imports what it needs.
        from importlib.util import find_spec

        yield from (module for module in modules if find_spec(module) is None)

    missing = context.parallelize([0], 1).mapPartitions(find_missing).collect()
    if missing:
        raise CoveyError(
            f"Spark's workers run {context.pythonExec}, which lacks the packages "
            f"{', '.join(missing)}: {_SET_PYTHON}, or install covey for that Python"
        )


_SET_PYTHON = f"set PYSPARK_PYTHON={sys.executable} before Spark starts"
