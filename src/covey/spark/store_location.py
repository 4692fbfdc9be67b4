"""Locations of model stores, in the forms that covey and Spark accept.

Spark looks for a path without a scheme in its default file system, and covey in the local one. The
functions of this module return locations that name the same folder for both.
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
    """Return a path as a store location: an absolute local path, or a URI that pyarrow supports.

    Raises:
        InvalidArgumentError: the path is not a valid URI.
    """
    try:
        parsed = urlparse(path)
    except ValueError as error:
        raise InvalidArgumentError(f"{path!r} is not a path or URI: {error}") from None
    if parsed.scheme in ("", "file"):
        return str(Path(parsed.path if parsed.scheme else path).absolute())
    if "://" not in path:
        raise InvalidArgumentError(f"{path!r} has a scheme without //: write {parsed.scheme}://…")
    return path.replace("s3a://", "s3://", 1).rstrip("/")


def to_spark_uri(location: str) -> str:
    """Return a store location as a URI for Spark's readers and writers."""
    if "://" not in location:
        return Path(location).absolute().as_uri()
    return location.replace("s3://", "s3a://", 1)


def create_store_location(spark: SparkSession, store_path: str | None) -> str:
    """Return a location for a new store: below `store_path`, or in a temporary folder.

    A temporary folder is deleted when this process ends.

    Raises:
        InvalidArgumentError: `store_path` is not a valid URI, or it is None and Spark does not run
            locally.
    """
    name = f"covey-{uuid4().hex[:12]}"
    if store_path is not None:
        return f"{to_store_location(store_path).rstrip('/')}/{name}"
    master = spark.conf.get("spark.master", "local") or "local"
    if not master.startswith("local"):
        raise InvalidArgumentError(
            f"storePath is not set, but Spark does not run locally (its master is {master}): set "
            "storePath to a folder that all workers can access; segments are stored there"
        )
    folder = tempfile.mkdtemp(prefix="covey-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return f"{folder}/{name}"
