"""Saving and loading of models; jobs that use a saved model continue when it is overwritten.

    path/metadata/part-00000    metadata of Spark ML: class, parameters, and the version's number
    path/store/                 the store, whose files never change
    path/store/rejected/…       rejected subscriptions

A save writes the files of its version into the store, then commits the version, and finally
replaces the single metadata file. A running job uses its version by number, and the files of the
version are not deleted before the retention has passed.
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
from covey.spark.store_location import to_spark_uri, to_store_location
from covey.spark.workers import ATTEMPT_S, open_shared_store, run_in_task
from covey.store import copy_version
from covey.store.storage import StorageBackend, open_storage

__all__ = ["ModelReader", "ModelWriter", "read_model_state"]

ModelT = TypeVar("ModelT", bound=MLReadable[Any])

_METADATA_FILE = "metadata/part-00000"
_WEEK_HOURS = 7 * 24


class ModelWriter(MLWriter):
    """Writer of models.

    `option("retentionHours", 168)` sets for how many hours replaced versions are kept.
    """

    def __init__(self, params: MatcherParams, state: ModelState) -> None:
        super().__init__()
        self._params, self._state = params, state

    @check_arguments
    def save(self, path: str) -> None:
        """Save the model at a path; a model that exists there is replaced only after `overwrite()`.

        Args:
            path: path or URI of a folder.

        Raises:
            InvalidArgumentError: the folder contains a saved model and `overwrite()` was not
                called, or `retentionHours` is not a number of at least 0.
            StoreError: the model's version cannot be read or copied.
        """
        location = to_store_location(path)
        directory, target = open_storage(location), f"{location}/store"
        if directory.list("metadata") and not self.shouldOverwrite:
            raise InvalidArgumentError(
                f"{path} contains a saved model already: to replace it, call "
                "write().overwrite().save(path)"
            )
        retain_seconds = 3600 * _parse_hours(self.optionMap.get("retentionhours", _WEEK_HOURS))
        replaced_version = _read_saved_version(directory)
        saved = self._copy_model_state(target)
        text = DefaultParamsWriter._get_metadata_to_save(
            self._params, self.sparkSession, {"covey": saved.to_json()}
        )
        directory.replace(_METADATA_FILE, text.encode() + b"\n")
        vacuum = partial(_vacuum_store, target, replaced_version, retain_seconds)
        run_in_task(self.sparkSession, vacuum)

    def _copy_model_state(self, target: str) -> ModelState:
        """Copy the model's version and rejected subscriptions to the target store.

        Nothing is copied if the version is the newest one of the target store.

        Returns:
            The state of the model in the target store.
        """
        state, spark = self._state, self.sparkSession
        copy = partial(_copy_to_store, state.location, target, state.version, uuid4().hex)
        copied: Mapping[str, Any] = run_in_task(spark, copy)
        if state.location == target:
            return replace(state, version=copied["version"], label=copied["label"])
        rejected_path = f"rejected/{uuid4().hex}"
        results = spark.read.parquet(to_spark_uri(f"{state.location}/{state.rejected_path}"))
        results.write.parquet(to_spark_uri(f"{target}/{rejected_path}"))
        return replace(
            state, location=target, version=copied["version"], label=copied["label"],
            rejected_path=rejected_path,
        )  # fmt: skip

    saveImpl = save


class ModelReader(MLReader[ModelT]):
    """Reader of saved models; the function `build_model` builds a model from its state."""

    def __init__(self, build_model: Callable[[ModelState], ModelT]) -> None:
        super().__init__()
        self._build_model = build_model

    @check_arguments
    def load(self, path: str) -> ModelT:
        """Return the model that is saved at a path.

        Raises:
            StoreError: there is no model at the path, or its metadata cannot be read or has another
                format.
        """
        metadata = _read_metadata(path)
        model = self._build_model(read_model_state(path))
        model._resetUid(metadata["uid"])  # type: ignore[attr-defined]
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


def read_model_state(path: str) -> ModelState:
    """Return the state of the model that is saved at a path.

    Raises:
        StoreError: there is no model at the path, or its metadata cannot be read or has another
            format.
    """
    return ModelState.from_json(f"{to_store_location(path)}/store", _read_metadata(path)["covey"])


def _read_metadata(path: str) -> dict[str, Any]:
    try:
        metadata: dict[str, Any] = json.loads(
            open_storage(to_store_location(path)).read(_METADATA_FILE)
        )
        metadata["covey"]["version"]
    except (FileNotFoundError, NotADirectoryError):
        raise StoreError(
            f"there is no model at {path}: check the path, or save a model there"
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{path}/{_METADATA_FILE} is not the metadata of a covey model ({error!r}): fit and "
            "save the model again"
        ) from None
    return metadata


def _parse_hours(value: object) -> float:
    try:
        hours = float(str(value))
    except ValueError:
        hours = -1.0
    if not hours >= 0:
        raise InvalidArgumentError(f"retentionHours must be a number of at least 0, got {value!r}")
    return hours


def _read_saved_version(directory: StorageBackend) -> int | None:
    """Return the version of the model that is saved in a directory.

    The result is None if there is no model, or if its metadata cannot be read.
    """
    try:
        version: int = json.loads(directory.read(_METADATA_FILE))["covey"]["version"]
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        return None
    return version


def _copy_to_store(source: str, target: str, version_number: int, label: str) -> dict[str, Any]:
    """Copy a version to the target store, unless it is the newest version there already.

    The function runs in a task, and returns the number and the label of the version.
    """
    store = open_shared_store(source)
    manifest = store.snapshot(version_number).manifest  # raises if a file of the version is missing
    if source != target or version_number != store.versions[-1]:
        manifest = copy_version(source, target, version_number, label)
    return {"version": manifest.version, "label": manifest.label}


def _vacuum_store(
    location: str, replaced_version: int | None, retain_seconds: float
) -> dict[str, Any]:
    """Take a lease of the version that was just replaced, and vacuum the store.

    The lease lasts for the retention. Vacuum deletes the versions whose retention has passed. The
    function runs in a task.
    """
    with open_shared_store(location) as store:
        store.lock(ATTEMPT_S)
        if replaced_version is not None and replaced_version in store.versions and retain_seconds:
            store.lease(replaced_version, retain_seconds)
        store.vacuum(retain_seconds)
    return {}
