"""Where a model's segments live: one place, as covey and as Spark spell it.

Spark reads a path without a scheme on its default file system, covey on this machine's; a place
always says which.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path
from urllib.parse import urlparse
from uuid import uuid4

from pyspark.sql import SparkSession

from covey.errors import InvalidArgumentError

__all__ = ["create_store_location", "to_spark_uri", "to_store_location"]


def to_store_location(path: str) -> str:
    """A path as covey's store takes it: local, or a URI that pyarrow knows."""
    try:
        parsed = urlparse(path)
    except ValueError as error:
        raise InvalidArgumentError(f"{path!r} is no path: {error}") from None
    if parsed.scheme in ("", "file"):
        return str(Path(parsed.path if parsed.scheme else path).absolute())
    if "://" not in path:
        raise InvalidArgumentError(f"{path!r} has a scheme but no //: write {parsed.scheme}://…")
    return path.replace("s3a://", "s3://", 1).rstrip("/")


def to_spark_uri(location: str) -> str:
    """The same place for Spark's readers and writers."""
    if "://" not in location:
        return Path(location).absolute().as_uri()
    return location.replace("s3://", "s3a://", 1)


def create_store_location(spark: SparkSession, store_path: str | None) -> str:
    """A place for a new store: below the given path, or a temporary folder if Spark is local.

    A temporary one is deleted when this process ends.
    """
    name = f"covey-{uuid4().hex[:12]}"
    if store_path is not None:
        return f"{to_store_location(store_path).rstrip('/')}/{name}"
    master = spark.conf.get("spark.master", "local") or "local"
    if not master.startswith("local"):
        raise InvalidArgumentError(
            f"Spark's master is {master}: say with storePath where segments are to live, on a "
            "file system that all workers reach"
        )
    folder = tempfile.mkdtemp(prefix="covey-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return f"{folder}/{name}"
