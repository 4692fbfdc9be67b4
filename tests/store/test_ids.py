"""Ids are found by their keys, and distinguished if keys are equal."""

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
def test_every_id_is_found_in_its_row(kind: IdKind, data: st.DataObject) -> None:
    id_strategy = NUMBERS if kind is IdKind.NUMBER else TEXTS
    stored = ordered(Ids.from_values(data.draw(st.lists(id_strategy, unique=True)), kind))
    queried_ids = data.draw(st.lists(id_strategy))
    stored_ids = stored.values.to_pylist()
    rows = [stored_ids.index(id_) if id_ in stored_ids else -1 for id_ in queried_ids]
    assert stored.find_rows(Ids.from_values(queried_ids, kind)).tolist() == rows


@pytest.mark.parametrize("kind", list(IdKind))
@given(data=st.data())
def test_ids_are_restored_from_their_arrays(kind: IdKind, data: st.DataObject) -> None:
    id_strategy = NUMBERS if kind is IdKind.NUMBER else TEXTS
    ids = Ids.from_values(data.draw(st.lists(id_strategy)), kind)
    again = Ids.from_arrays(ids.to_arrays())
    assert again.values.equals(ids.values)
    assert again.keys.tolist() == ids.keys.tolist()


def test_texts_with_equal_keys_are_distinguished() -> None:
    texts = pa.array(["a", "b", "c", "d"], pa.large_string())
    stored = Ids(np.array([1, 7, 7, 7]), texts)
    queried_ids = Ids(
        np.array([7, 7, 7, 1, 7]), pa.array(["d", "x", "b", "a", "c"], pa.large_string())
    )
    assert stored.find_rows(queried_ids).tolist() == [3, -1, 1, 0, 2]


def test_the_key_of_a_text_is_stable() -> None:
    """Later versions of covey must find stored keys."""
    assert Ids.from_values(["alert-7", ""], IdKind.TEXT).keys.tolist() == [
        -4754118701363766242,
        -5426141060434712860,
    ]


@pytest.mark.parametrize(
    "ids", [pa.array([3, 1], pa.int8()), [3, 1], np.array([3, 1]), pa.chunked_array([[3], [1]])]
)
def test_number_ids_are_accepted_from_any_integer_container(ids: object) -> None:
    assert Ids.from_values(ids, IdKind.NUMBER).values.equals(pa.array([3, 1]))


@pytest.mark.parametrize(
    "ids", [pa.array(["a", "b"]), ["a", "b"], pa.array(["a", "b"]).dictionary_encode(),
            pa.array(["x", "a", "b"], pa.large_string())[1:]]
)  # fmt: skip
def test_text_ids_are_accepted_from_any_text_container(ids: object) -> None:
    found = Ids.from_values(ids, IdKind.TEXT)
    assert Ids.from_arrays(found.to_arrays()).values.to_pylist() == ["a", "b"]


@pytest.mark.parametrize(
    ("ids", "kind"),
    [
        (["7"], IdKind.NUMBER), ([1.5], IdKind.NUMBER), ([2**63], IdKind.NUMBER),
        ([None], IdKind.NUMBER), ([7], IdKind.TEXT), (["a", None], IdKind.TEXT),
        ([7, "a"], IdKind.TEXT), (7, IdKind.TEXT),
    ],
)  # fmt: skip
def test_ids_of_another_type_are_refused(ids: object, kind: IdKind) -> None:
    with pytest.raises(InvalidArgumentError, match=r"the ids of this store must be|ids are null"):
        Ids.from_values(ids, kind)


def test_a_repeated_id_is_named() -> None:
    assert Ids.from_values([5, 6, 5], IdKind.NUMBER).first_duplicate() == 5
    assert Ids.from_values(["a", "b", "b"], IdKind.TEXT).first_duplicate() == "b"
    assert Ids.from_values(["a", "b"], IdKind.TEXT).first_duplicate() is None
