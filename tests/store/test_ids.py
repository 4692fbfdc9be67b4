"""Ids are found by their keys, and told apart where keys are equal."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.errors import InvalidArgumentError
from covey.store.ids import IdKind, Ids

NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 5)
TEXTS = st.text(max_size=3)


def ordered(ids: Ids) -> Ids:
    return ids.take(ids.argsort_by_key())


@pytest.mark.parametrize("kind", list(IdKind))
@given(data=st.data())
def test_every_id_is_found_where_it_stands(kind: IdKind, data: st.DataObject) -> None:
    one = NUMBERS if kind is IdKind.NUMBER else TEXTS
    stored = ordered(Ids.from_values(data.draw(st.lists(one, unique=True)), kind))
    asked = data.draw(st.lists(one))
    there = stored.to_arrow().to_pylist()
    rows = [there.index(id_) if id_ in there else -1 for id_ in asked]
    assert stored.find_rows(Ids.from_values(asked, kind)).tolist() == rows


@pytest.mark.parametrize("kind", list(IdKind))
@given(data=st.data())
def test_ids_come_back_from_their_arrays(kind: IdKind, data: st.DataObject) -> None:
    one = NUMBERS if kind is IdKind.NUMBER else TEXTS
    ids = Ids.from_values(data.draw(st.lists(one)), kind)
    again = Ids.from_arrays(ids.to_arrays())
    assert again.to_arrow().equals(ids.to_arrow())
    assert again.keys.tolist() == ids.keys.tolist()


def test_texts_with_one_key_are_told_apart() -> None:
    texts = pa.array(["a", "b", "c", "d"], pa.large_string())
    stored = Ids(np.array([1, 7, 7, 7]), texts)
    asked = Ids(np.array([7, 7, 7, 1, 7]), pa.array(["d", "x", "b", "a", "c"], pa.large_string()))
    assert stored.find_rows(asked).tolist() == [3, -1, 1, 0, 2]


def test_the_key_of_a_text_never_changes() -> None:
    """Stored keys must be found by later versions of covey."""
    assert Ids.from_values(["alert-7", ""], IdKind.TEXT).keys.tolist() == [
        -4754118701363766242,
        -5426141060434712860,
    ]


@pytest.mark.parametrize(
    "ids", [pa.array([3, 1], pa.int8()), [3, 1], np.array([3, 1]), pa.chunked_array([[3], [1]])]
)
def test_numbers_may_come_as_any_integers(ids: object) -> None:
    assert Ids.from_values(ids, IdKind.NUMBER).to_arrow().equals(pa.array([3, 1]))


@pytest.mark.parametrize(
    "ids", [pa.array(["a", "b"]), ["a", "b"], pa.array(["a", "b"]).dictionary_encode(),
            pa.array(["x", "a", "b"], pa.large_string())[1:]]
)  # fmt: skip
def test_texts_may_come_as_any_text(ids: object) -> None:
    found = Ids.from_values(ids, IdKind.TEXT)
    assert Ids.from_arrays(found.to_arrays()).to_arrow().to_pylist() == ["a", "b"]


@pytest.mark.parametrize(
    ("ids", "kind"),
    [
        (["7"], IdKind.NUMBER), ([1.5], IdKind.NUMBER), ([2**63], IdKind.NUMBER),
        ([None], IdKind.NUMBER), ([7], IdKind.TEXT), (["a", None], IdKind.TEXT),
        ([7, "a"], IdKind.TEXT), (7, IdKind.TEXT),
    ],
)  # fmt: skip
def test_other_ids_are_refused(ids: object, kind: IdKind) -> None:
    with pytest.raises(InvalidArgumentError, match=r"the ids of this store must be|ids are null"):
        Ids.from_values(ids, kind)


def test_a_repeated_id_is_named() -> None:
    assert Ids.from_values([5, 6, 5], IdKind.NUMBER).first_duplicate() == 5
    assert Ids.from_values(["a", "b", "b"], IdKind.TEXT).first_duplicate() == "b"
    assert Ids.from_values(["a", "b"], IdKind.TEXT).first_duplicate() is None
