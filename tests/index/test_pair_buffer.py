"""The buffer for pairs: it grows to a limit, every thread has its own, and no pair is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from covey.index.segment.query import pair_buffer

NODES, EACH = 10, 7


def search() -> tuple[Callable[..., int], list[int]]:
    """Return a search with equally many pairs in every node, and the list of its buffer sizes."""
    sizes = []

    def found(state: Any, first: Any, second: Any) -> int:
        sizes.append(len(first))
        count, node = 0, int(state[0])
        while node < NODES and count <= len(first) - EACH:
            first[count : count + EACH], second[count : count + EACH] = node, range(EACH)
            count, node = count + EACH, node + 1
        state[0] = node
        return count

    return found, sizes


@pytest.fixture(autouse=True)
def new_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_buffer, "_INITIAL_LENGTH", 8)
    monkeypatch.setattr(pair_buffer, "_MAX_LENGTH", 32)
    monkeypatch.setattr(pair_buffer, "_thread_buffer", pair_buffer._ThreadBuffer())


def test_all_pairs_are_found_with_a_small_buffer() -> None:
    kernel, sizes = search()
    nodes, numbers = pair_buffer.collect_pairs(kernel, NODES, ())
    assert nodes.tolist() == np.repeat(np.arange(NODES), EACH).tolist()
    assert numbers.tolist() == list(range(EACH)) * NODES
    assert sizes == [8, 16, 32, 32], "the buffer doubles up to the largest length"


def test_the_buffer_is_reused_by_the_next_call() -> None:
    for _ in range(2):
        kernel, sizes = search()
        pair_buffer.collect_pairs(kernel, NODES, ())
    assert sizes == [32, 32, 32]


def test_an_answer_that_fits_is_not_copied() -> None:
    kernel, _ = search()
    pair_buffer._thread_buffer.pair = pair_buffer._allocate_pair(100)
    nodes, _ = pair_buffer.collect_pairs(kernel, NODES, ())
    assert np.shares_memory(nodes, pair_buffer._thread_buffer.pair[0])
    assert len(nodes) == NODES * EACH


def test_threads_have_separate_buffers() -> None:
    answers: list[Any] = []
    barrier = threading.Barrier(4)

    def run() -> None:
        pair_buffer._thread_buffer.pair = pair_buffer._allocate_pair(100)
        kernel, _ = search()
        barrier.wait()
        answers.append(pair_buffer.collect_pairs(kernel, NODES, ())[0])
        barrier.wait()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not any(np.shares_memory(a, b) for a in answers for b in answers if a is not b)
