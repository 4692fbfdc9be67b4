"""Serialization of a segment as named arrays of numbers, and back.

Opening a segment copies no large array, and the arrays may be read-only memory maps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from covey.geometry.balls import Balls
from covey.geometry.regions import ConstraintBatch, Constraints
from covey.geometry.scalars import Scalars
from covey.geometry.tags import Tags
from covey.index.segment.balls.ball_index import BallIndex
from covey.index.segment.bitmap_tree import BitmapTree
from covey.index.segment.coded_boxes import CodedBoxes
from covey.index.segment.data import SegmentData
from covey.index.segment.encoded_column import EncodedColumn
from covey.index.segment.query.residuals import ResidualConstraints
from covey.index.segment.text_ranks import pack_values, unpack_values
from covey.index.segment.token_vocabulary import TokenVocabulary
from covey.space import Space
from covey.space.keys import key_domain
from covey.space.ragged_array import RaggedArray
from covey.space.types import STRING

__all__ = ["pack_segment", "unpack_segment"]

Arrays = dict[str, NDArray[Any]]
_BOXES = ("codes", "ends", "starts", "sparse", "odd", "before")
_FIELDS = {
    Scalars: ("lower", "upper", "nulls", "listed", "lists"),
    Tags: ("states", "groups", "tokens", "forbidden", "whole", "bounded", "only"),
    Balls: ("states", "balls", "metrics", "centres", "lower", "upper", "points"),
}


def pack_segment(data: SegmentData) -> Arrays:
    """Return a segment as named arrays; the space is not included."""
    arrays: Arrays = {"stored_rows": data.stored_rows, "exact_bits": data.exact_bits}
    arrays |= {f"boxes.{name}": getattr(data.boxes, name) for name in _BOXES}
    arrays |= data.tree.to_arrays()
    for section, names in (
        ("columns", [column.name for column in data.columns]),
        ("vocabularies", list(data.vocabularies)),
        ("balls", [ball_index.name for ball_index in data.ball_indexes]),
        ("residuals", [residual.name for residual in data.residuals]),
    ):
        arrays[f"{section}.names"], arrays[f"{section}.name_starts"] = pack_values(names)
    for i, column in enumerate(data.columns):
        arrays |= _add_prefix(f"columns.{i}", column.to_arrays())
    for i, vocabulary in enumerate(data.vocabularies.values()):
        arrays |= _add_prefix(f"vocabularies.{i}", vocabulary.to_arrays())
    for i, ball_index in enumerate(data.ball_indexes):
        arrays |= _add_prefix(f"balls.{i}", ball_index.to_arrays())
    for i, residual in enumerate(data.residuals):
        arrays |= _add_prefix(f"residuals.{i}", {"rows": residual.constraints.rows})
        arrays |= _add_prefix(f"residuals.{i}", _pack_batch(residual.constraints.batch))
    return arrays


def unpack_segment(space: Space, arrays: Mapping[str, NDArray[Any]]) -> SegmentData:
    """Return the segment that `pack_segment` turned into arrays."""
    columns = tuple(
        EncodedColumn.from_arrays(
            name, key_domain(space[name].type), _strip_prefix(f"columns.{i}", arrays)
        )
        for i, name in enumerate(_unpack_names("columns", arrays))
    )
    vocabularies = {
        name: TokenVocabulary.from_arrays(_strip_prefix(f"vocabularies.{i}", arrays))
        for i, name in enumerate(_unpack_names("vocabularies", arrays))
    }
    columns_by_name = {column.name: column for column in columns}
    residuals = []
    for i, name in enumerate(_unpack_names("residuals", arrays)):
        encoder = columns_by_name.get(name) or vocabularies.get(name)
        residual_arrays = _strip_prefix(f"residuals.{i}", arrays)
        batch = _unpack_batch(encoder, residual_arrays)
        residuals.append(
            ResidualConstraints(name, encoder, Constraints(residual_arrays["rows"], batch))
        )
    ball_indexes = tuple(
        BallIndex.from_arrays(name, _strip_prefix(f"balls.{i}", arrays))
        for i, name in enumerate(_unpack_names("balls", arrays))
    )
    boxes = CodedBoxes(*(arrays[f"boxes.{name}"] for name in _BOXES))
    tree = BitmapTree.from_arrays(arrays)
    stored_rows, exact_bits = arrays["stored_rows"], arrays["exact_bits"]
    return SegmentData(
        columns, vocabularies, stored_rows, boxes, exact_bits, tree, ball_indexes, tuple(residuals)
    )


def _pack_batch(batch: ConstraintBatch) -> Arrays:
    """Return the fields of a batch of constraints as named arrays."""
    arrays: Arrays = {}
    for name in _FIELDS[type(batch)]:
        value = getattr(batch, name)
        if isinstance(value, RaggedArray):
            arrays |= {f"{name}.offsets": value.offsets, f"{name}.values": value.values}
        else:
            arrays[name] = value
    return arrays


def _unpack_batch(
    encoder: EncodedColumn | TokenVocabulary | None, arrays: Mapping[str, Any]
) -> ConstraintBatch:
    """Return the batch of constraints from the arrays of `_pack_batch`."""
    kind = (
        Scalars
        if isinstance(encoder, EncodedColumn)
        else Tags
        if isinstance(encoder, TokenVocabulary)
        else Balls
    )
    values = [
        arrays[name]
        if name in arrays
        else RaggedArray(arrays[f"{name}.offsets"], arrays[f"{name}.values"])
        for name in _FIELDS[kind]
    ]
    field_values: Any = [encoder.domain, *values] if isinstance(encoder, EncodedColumn) else values
    batch: ConstraintBatch = kind(*field_values)
    return batch


def _unpack_names(section: str, arrays: Mapping[str, NDArray[Any]]) -> list[str]:
    """Return the attribute names of a section, in the order of its arrays."""
    return unpack_values(
        arrays[f"{section}.names"], arrays[f"{section}.name_starts"], key_domain(STRING)
    )


def _add_prefix(prefix: str, arrays: Arrays) -> Arrays:
    """Return arrays with a prefix and a dot before their names."""
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def _strip_prefix(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Return the arrays whose names start with a prefix and a dot, by the rest of their names."""
    start = len(prefix) + 1
    return {n[start:]: array for n, array in arrays.items() if n.startswith(f"{prefix}.")}
