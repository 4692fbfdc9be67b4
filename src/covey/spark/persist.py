"""Saving and loading a model, so that overwriting one never disturbs who is using it.

    path/metadata/part-00000    what Spark ML reads: class, parameters, and which version is meant
    path/store/                 the store, whose files are never changed
    path/store/rejected/…       what was rejected

A save puts the files of its version into the store, then the version, and last replaces the one
file of metadata. Running jobs hold their version's number and find its files until the retention
has passed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

from pyspark.ml.util import (
    DefaultParamsReader,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWriter,
)

from covey.errors import StoreError, ValueRefused
from covey.spark.fitted import Fitted
from covey.spark.params import MatcherParams
from covey.spark.places import spark_path, store_place
from covey.spark.task import in_a_task
from covey.store import Store, copy_version
from covey.store.directory import Directory
from covey.store.places import directory_at

__all__ = ["ModelReader", "ModelWriter", "fitted_at"]

M = TypeVar("M", bound=MLReadable[Any])

_METADATA = "metadata/part-00000"
_WEEK_HOURS = 7 * 24


class ModelWriter(MLWriter):
    """Writes a model; `option("retentionHours", 168)` says how long replaced ones are kept."""

    def __init__(self, params: MatcherParams, fitted: Fitted) -> None:
        super().__init__()
        self._params, self._fitted = params, fitted

    def save(self, path: str) -> None:
        """Saves the model; where one is already, only after `overwrite()`."""
        place = store_place(path)
        directory, target = directory_at(place), f"{place}/store"
        if directory.list("metadata") and not self.shouldOverwrite:
            raise ValueRefused(
                f"there is something at {path} already: write().overwrite() replaces it"
            )
        keep_seconds = 3600 * _hours(self.optionMap.get("retentionhours", _WEEK_HOURS))
        replaced = _named_version(directory)
        saved = self._moved(target)
        text = DefaultParamsWriter._get_metadata_to_save(
            self._params, self.sparkSession, {"covey": saved.to_json()}
        )
        directory.replace(_METADATA, text.encode() + b"\n")
        in_a_task(self.sparkSession, partial(_collect, target, replaced, keep_seconds))

    def _moved(self, target: str) -> Fitted:
        """The model's version in the store of the target, where it may be already."""
        fitted, spark = self._fitted, self.sparkSession
        copying = partial(_copy, fitted.place, target, fitted.version, uuid4().hex)
        copied = in_a_task(spark, copying)
        if fitted.place == target:
            return replace(fitted, version=copied["version"], label=copied["label"])
        rejected = f"rejected/{uuid4().hex}"
        outcomes = spark.read.parquet(spark_path(f"{fitted.place}/{fitted.rejected}"))
        outcomes.write.parquet(spark_path(f"{target}/{rejected}"))
        return replace(
            fitted, place=target, version=copied["version"], label=copied["label"],
            rejected=rejected,
        )  # fmt: skip

    saveImpl = save


class ModelReader(MLReader[M]):
    """Reads a model, which is made of what was fitted."""

    def __init__(self, make: Callable[[Fitted], M]) -> None:
        super().__init__()
        self._make = make

    def load(self, path: str) -> M:
        """The model at a path; a `StoreError` if there is none."""
        metadata = _metadata_at(path)
        model = self._make(fitted_at(path))
        model._resetUid(metadata["uid"])  # type: ignore[attr-defined]
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


def fitted_at(path: str) -> Fitted:
    """What the model at a path knows; a `StoreError` if there is none."""
    return Fitted.from_json(f"{store_place(path)}/store", _metadata_at(path)["covey"])


def _metadata_at(path: str) -> dict[str, Any]:
    try:
        metadata: dict[str, Any] = json.loads(directory_at(store_place(path)).read(_METADATA))
        metadata["covey"]["version"]
    except (FileNotFoundError, NotADirectoryError):
        raise StoreError(f"there is no model at {path}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path}/{_METADATA} is not that of a model: {error!r}") from None
    return metadata


def _hours(given: object) -> float:
    try:
        hours = float(str(given))
    except ValueError:
        hours = -1.0
    if not hours >= 0:
        raise ValueRefused(f"retentionHours is a number of hours, not {given!r}")
    return hours


def _named_version(directory: Directory) -> int | None:
    """The version that is named at a place now, if a model is there."""
    try:
        number: int = json.loads(directory.read(_METADATA))["covey"]["version"]
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        return None
    return number


def _copy(source: str, target: str, number: int, label: str) -> dict[str, Any]:
    """Makes a version the newest of the target, in a task, unless it is that already."""
    store = Store.open(source)
    version = store.snapshot(number).version  # all of it is there
    if source != target or number != store.versions[-1]:
        version = copy_version(source, target, number, label)
    return {"version": version.number, "label": version.label}


def _collect(place: str, replaced: int | None, keep_seconds: float) -> dict[str, Any]:
    """Forgets what was replaced long ago, in a task; what was replaced just now is leased."""
    with Store.open(place) as store:
        if replaced is not None and replaced in store.versions and keep_seconds:
            store.lease(replaced, keep_seconds)
        store.collect(keep_seconds)
    return {}
