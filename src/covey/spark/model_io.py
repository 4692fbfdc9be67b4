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
from collections.abc import Callable, Mapping
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

from covey._argument_checks import check_arguments
from covey.errors import InvalidArgumentError, StoreError
from covey.spark.model_state import ModelState
from covey.spark.params import MatcherParams
from covey.spark.single_task import run_in_task
from covey.spark.store_location import to_spark_uri, to_store_location
from covey.store import Store, copy_version
from covey.store.storage import StorageBackend, open_storage

__all__ = ["ModelReader", "ModelWriter", "read_model_state"]

ModelT = TypeVar("ModelT", bound=MLReadable[Any])

_METADATA_FILE = "metadata/part-00000"
_WEEK_HOURS = 7 * 24


class ModelWriter(MLWriter):
    """Writes a model; `option("retentionHours", 168)` says how long replaced ones are kept."""

    def __init__(self, params: MatcherParams, state: ModelState) -> None:
        super().__init__()
        self._params, self._state = params, state

    @check_arguments
    def save(self, path: str) -> None:
        """Saves the model; where one is already, only after `overwrite()`."""
        place = to_store_location(path)
        directory, target = open_storage(place), f"{place}/store"
        if directory.list("metadata") and not self.shouldOverwrite:
            raise InvalidArgumentError(
                f"there is something at {path} already: write().overwrite() replaces it"
            )
        keep_seconds = 3600 * _parse_hours(self.optionMap.get("retentionhours", _WEEK_HOURS))
        replaced = _read_saved_version(directory)
        saved = self._copy_model_state(target)
        text = DefaultParamsWriter._get_metadata_to_save(
            self._params, self.sparkSession, {"covey": saved.to_json()}
        )
        directory.replace(_METADATA_FILE, text.encode() + b"\n")
        run_in_task(self.sparkSession, partial(_vacuum_store, target, replaced, keep_seconds))

    def _copy_model_state(self, target: str) -> ModelState:
        """The model's version in the store of the target, where it may be already."""
        fitted, spark = self._state, self.sparkSession
        copying = partial(_copy_to_store, fitted.location, target, fitted.version, uuid4().hex)
        copied: Mapping[str, Any] = run_in_task(spark, copying)
        if fitted.location == target:
            return replace(fitted, version=copied["version"], label=copied["label"])
        rejected = f"rejected/{uuid4().hex}"
        outcomes = spark.read.parquet(to_spark_uri(f"{fitted.location}/{fitted.rejected_path}"))
        outcomes.write.parquet(to_spark_uri(f"{target}/{rejected}"))
        return replace(
            fitted, location=target, version=copied["version"], label=copied["label"],
            rejected_path=rejected,
        )  # fmt: skip

    saveImpl = save


class ModelReader(MLReader[ModelT]):
    """Reads a model, which is made of what was fitted."""

    def __init__(self, build_model: Callable[[ModelState], ModelT]) -> None:
        super().__init__()
        self._build_model = build_model

    @check_arguments
    def load(self, path: str) -> ModelT:
        """The model at a path; a `StoreError` if there is none."""
        metadata = _read_metadata(path)
        model = self._build_model(read_model_state(path))
        model._resetUid(metadata["uid"])  # type: ignore[attr-defined]
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


def read_model_state(path: str) -> ModelState:
    """What the model at a path knows; a `StoreError` if there is none."""
    return ModelState.from_json(f"{to_store_location(path)}/store", _read_metadata(path)["covey"])


def _read_metadata(path: str) -> dict[str, Any]:
    try:
        metadata: dict[str, Any] = json.loads(
            open_storage(to_store_location(path)).read(_METADATA_FILE)
        )
        metadata["covey"]["version"]
    except (FileNotFoundError, NotADirectoryError):
        raise StoreError(f"there is no model at {path}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path}/{_METADATA_FILE} is not that of a model: {error!r}") from None
    return metadata


def _parse_hours(value: object) -> float:
    try:
        hours = float(str(value))
    except ValueError:
        hours = -1.0
    if not hours >= 0:
        raise InvalidArgumentError(f"retentionHours is a number of hours, not {value!r}")
    return hours


def _read_saved_version(directory: StorageBackend) -> int | None:
    """The version that is named at a place now, if a model is there."""
    try:
        number: int = json.loads(directory.read(_METADATA_FILE))["covey"]["version"]
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        return None
    return number


def _copy_to_store(source: str, target: str, version_number: int, label: str) -> dict[str, Any]:
    """Makes a version the newest of the target, in a task, unless it is that already."""
    store = Store.open(source)
    version = store.snapshot(version_number).manifest  # all of it is there
    if source != target or version_number != store.versions[-1]:
        version = copy_version(source, target, version_number, label)
    return {"version": version.version, "label": version.label}


def _vacuum_store(
    location: str, replaced_version: int | None, retain_seconds: float
) -> dict[str, Any]:
    """Forgets what was replaced long ago, in a task; what was replaced just now is leased."""
    with Store.open(location) as store:
        if replaced_version is not None and replaced_version in store.versions and retain_seconds:
            store.lease(replaced_version, retain_seconds)
        store.vacuum(retain_seconds)
    return {}
