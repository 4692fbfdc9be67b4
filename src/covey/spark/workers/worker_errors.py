"""Errors of Spark's workers, raised again on the driver with their own type."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from covey.errors import CoveyError, extract_worker_error

__all__ = ["reraise_worker_errors"]


@contextmanager
def reraise_worker_errors() -> Iterator[None]:
    """Re-raise a CoveyError of a worker without Spark's traceback, and explain missing packages."""
    try:
        yield
    except PySparkException as error:
        if (raised := extract_worker_error(str(error))) is not None:
            raise raised from None
        if missing := re.search(r"ModuleNotFoundError: No module named '(\w+)", str(error)):
            raise CoveyError(
                f"Spark's workers cannot import the package {missing[1]}: set "
                f"PYSPARK_PYTHON={sys.executable} before Spark starts, or install covey in the "
                "Python of the workers"
            ) from None
        raise
