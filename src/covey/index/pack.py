"""A segment as named arrays of numbers, and back: what is stored of it.

Opening copies nothing big: the arrays may be memory maps that cannot be written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from covey.geometry.balls import Balls
from covey.geometry.regions import Batch, Constraints
from covey.geometry.scalars import Scalars
from covey.geometry.tags import Tags
from covey.index.boxes import Boxes
from covey.index.columns import Column
from covey.index.near import Near
from covey.index.parts import Parts
from covey.index.ranks import packed, unpacked
from covey.index.rest import Rest
from covey.index.tree import Tree
from covey.index.vocabulary import Vocabulary
from covey.space import Space
from covey.space.keys import domain
from covey.space.ragged import Ragged
from covey.space.types import STRING

__all__ = ["pack", "unpack"]

Arrays = dict[str, NDArray[Any]]
_BOXES = ("codes", "ends", "starts", "sparse", "odd", "before")
_FIELDS = {
    Scalars: ("lower", "upper", "nulls", "listed", "lists"),
    Tags: ("states", "groups", "tokens", "forbidden", "whole", "bounded", "only"),
    Balls: ("states", "balls", "metrics", "centres", "lower", "upper", "points"),
}


def pack(parts: Parts) -> Arrays:
    """All that a segment is made of, but for its space."""
    arrays: Arrays = {"order": parts.order, "exact": parts.exact}
    arrays |= {f"boxes.{name}": getattr(parts.boxes, name) for name in _BOXES}
    arrays |= parts.tree.arrays()
    for part, names in (
        ("columns", [column.name for column in parts.columns]),
        ("vocabularies", list(parts.vocabularies)),
        ("near", [near.name for near in parts.near]),
        ("rest", [rest.name for rest in parts.rest]),
    ):
        arrays[f"{part}.names"], arrays[f"{part}.name_starts"] = packed(names)
    for i, column in enumerate(parts.columns):
        arrays |= _under(f"columns.{i}", column.arrays())
    for i, vocabulary in enumerate(parts.vocabularies.values()):
        arrays |= _under(f"vocabularies.{i}", vocabulary.arrays())
    for i, near in enumerate(parts.near):
        arrays |= _under(f"near.{i}", near.arrays())
    for i, each in enumerate(parts.rest):
        arrays |= _under(f"rest.{i}", {"rows": each.constraints.rows})
        arrays |= _under(f"rest.{i}", _of_batch(each.constraints.batch))
    return arrays


def unpack(space: Space, arrays: Mapping[str, NDArray[Any]]) -> Parts:
    """What `pack` took apart."""
    columns = tuple(
        Column.from_arrays(name, domain(space[name].type), _within(f"columns.{i}", arrays))
        for i, name in enumerate(_names("columns", arrays))
    )
    vocabularies = {
        name: Vocabulary.from_arrays(_within(f"vocabularies.{i}", arrays))
        for i, name in enumerate(_names("vocabularies", arrays))
    }
    by_name = {column.name: column for column in columns}
    rest = []
    for i, name in enumerate(_names("rest", arrays)):
        by, within = by_name.get(name) or vocabularies.get(name), _within(f"rest.{i}", arrays)
        batch = _batch(by, within)
        rest.append(Rest(name, by, Constraints(within["rows"], batch)))
    near = tuple(
        Near.from_arrays(name, _within(f"near.{i}", arrays))
        for i, name in enumerate(_names("near", arrays))
    )
    boxes = Boxes(*(arrays[f"boxes.{name}"] for name in _BOXES))
    tree = Tree.from_arrays(arrays)
    order, exact = arrays["order"], arrays["exact"]
    return Parts(columns, vocabularies, order, boxes, exact, tree, near, tuple(rest))


def _of_batch(batch: Batch) -> Arrays:
    arrays: Arrays = {}
    for name in _FIELDS[type(batch)]:
        value = getattr(batch, name)
        if isinstance(value, Ragged):
            arrays |= {f"{name}.offsets": value.offsets, f"{name}.values": value.values}
        else:
            arrays[name] = value
    return arrays


def _batch(by: Column | Vocabulary | None, arrays: Mapping[str, Any]) -> Batch:
    kind = Scalars if isinstance(by, Column) else Tags if isinstance(by, Vocabulary) else Balls
    values = [
        arrays[name]
        if name in arrays
        else Ragged(arrays[f"{name}.offsets"], arrays[f"{name}.values"])
        for name in _FIELDS[kind]
    ]
    given: Any = [by.domain, *values] if isinstance(by, Column) else values
    batch: Batch = kind(*given)
    return batch


def _names(part: str, arrays: Mapping[str, NDArray[Any]]) -> list[str]:
    return unpacked(arrays[f"{part}.names"], arrays[f"{part}.name_starts"], domain(STRING))


def _under(prefix: str, arrays: Arrays) -> Arrays:
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def _within(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    start = len(prefix) + 1
    return {n[start:]: array for n, array in arrays.items() if n.startswith(f"{prefix}.")}
