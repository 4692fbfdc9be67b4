"""Room for answers: ample, or the least that a kernel can do with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import pytest

from covey.index import scratch
from covey.index.kernels.search import contained

LEAST_OF_LEAVES, LEAST = 9 * 1024, 1024  # a block of proposals, the children of a node


class Found(Protocol):
    """`scratch.found`."""

    def __call__(
        self, search: Any, nodes: int, given: Sequence[Any], more: Sequence[Any] = ()
    ) -> scratch.Pair: ...


@pytest.fixture(params=["ample", "scant"])
def found(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Found:
    """`scratch.found`, which has to go on again and again where room is scant."""
    if request.param == "ample":
        return scratch.found
    monkeypatch.setattr(scratch, "_room", scratch._Room())
    monkeypatch.setattr(scratch, "_MOST", 0)

    def with_little_room(
        search: Any, nodes: int, given: Sequence[Any], more: Sequence[Any] = ()
    ) -> scratch.Pair:
        calls = []

        def counted(*arguments: Any) -> int:
            calls.append(1)
            return int(search(*arguments))

        scratch._room.pair = scratch._pair(LEAST_OF_LEAVES if search is contained else LEAST)
        answer = scratch.found(counted, nodes, given, more)
        assert len(calls) > 1 or not len(answer[0])
        return answer

    return with_little_room
