"""A fixture that runs kernels with an ample buffer, and with the smallest one that they need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import pytest

from covey.index.kernels.tree_search import match_leaves
from covey.index.segment.query import pair_buffer

LEAST_OF_LEAVES, LEAST = 9 * 1024, 1024  # a block of candidates; the children of a node


class CollectPairs(Protocol):
    """The signature of `pair_buffer.collect_pairs`."""

    def __call__(
        self,
        search: Any,
        node_count: int,
        arguments: Sequence[Any],
        *,
        more_arguments: Sequence[Any] = (),
    ) -> pair_buffer.Pair: ...


@pytest.fixture(params=["ample", "scant"])
def found(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> CollectPairs:
    """Return `pair_buffer.collect_pairs` with an ample or a scant buffer (many calls)."""
    if request.param == "ample":
        return pair_buffer.collect_pairs
    monkeypatch.setattr(pair_buffer, "_thread_buffer", pair_buffer._ThreadBuffer())
    monkeypatch.setattr(pair_buffer, "_MAX_LENGTH", 0)

    def with_little_room(
        search: Any,
        node_count: int,
        arguments: Sequence[Any],
        *,
        more_arguments: Sequence[Any] = (),
    ) -> pair_buffer.Pair:
        calls = []

        def counted(*arguments: Any) -> int:
            calls.append(1)
            return int(search(*arguments))

        pair_buffer._thread_buffer.pair = pair_buffer._allocate_pair(
            LEAST_OF_LEAVES if search is match_leaves else LEAST
        )
        answer = pair_buffer.collect_pairs(
            counted, node_count, arguments, more_arguments=more_arguments
        )
        assert len(calls) > 1 or not len(answer[0])
        return answer

    return with_little_room
