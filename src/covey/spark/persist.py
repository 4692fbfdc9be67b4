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
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReader, MLWriter

from covey.errors import StoreError, ValueRefused
from covey.spark.fitted import Fitted
from covey.spark.places import spark_path, store_place
from covey.spark.task import in_a_task
from covey.store import Store, copy_version
from covey.store.places import directory_at

if TYPE_CHECKING:
    from covey.spark.model import MatcherModel

__all__ = ["ModelReader", "ModelWriter"]

_METADATA = "metadata/part-00000"
_WEEK_HOURS = 7 * 24


class ModelWriter(MLWriter):
    """Writes a model; `option("retentionHours", 168)` says how long replaced ones are kept."""

    def __init__(self, instance: MatcherModel) -> None:
        super().__init__()
        self.instance = instance

    def save(self, path: str) -> None:
        """Saves the model; where one is already, only after `overwrite()`."""
        model, place = self.instance, store_place(path)
        directory = directory_at(place)
        if directory.list("metadata") and not self.shouldOverwrite:
            raise ValueRefused(
                f"there is something at {path} already: write().overwrite() replaces it"
            )
        fitted, spark = model.fitted, self.sparkSession
        hours = float(self.optionMap.get("retentionhours", _WEEK_HOURS))
        target = f"{place}/store"
        number = fitted.version
        rejected = fitted.rejected
        if fitted.place != target:
            copying = partial(_copy, fitted.place, target, number, uuid4().hex, hours * 3600)
            number = in_a_task(spark, copying)["version"]
            rejected = f"rejected/{uuid4().hex}"
            model.rejected.sparkSession.read.parquet(
                spark_path(f"{fitted.place}/{fitted.rejected}")
            ).write.parquet(spark_path(f"{target}/{rejected}"))
        saved = {**fitted.to_json(), "version": number, "rejected": rejected}
        text = DefaultParamsWriter._get_metadata_to_save(model, spark, {"covey": saved})
        directory.put({_METADATA: [text.encode() + b"\n"]})

    saveImpl = save


class ModelReader(MLReader["MatcherModel"]):
    """Reads a model."""

    def __init__(self, cls: type[MatcherModel]) -> None:
        super().__init__()
        self._cls = cls

    def load(self, path: str) -> MatcherModel:
        """The model at a path; a `StoreError` if there is none."""
        place = store_place(path)
        try:
            metadata: dict[str, Any] = json.loads(directory_at(place).read(_METADATA))
            saved = metadata["covey"]
        except (FileNotFoundError, NotADirectoryError):
            raise StoreError(f"there is no model at {path}") from None
        except (ValueError, KeyError) as error:
            raise StoreError(f"{path}/{_METADATA} is not that of a model: {error!r}") from None
        model = self._cls(Fitted.from_json(f"{place}/store", saved))
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


def _copy(source: str, target: str, number: int, label: str, keep_seconds: float) -> dict[str, Any]:
    """Copies a version, in a task, and forgets what was replaced long ago."""
    version = copy_version(source, target, number, label)
    with Store.open(target) as store:
        store.collect(keep_seconds)
    return {"version": version.number}
