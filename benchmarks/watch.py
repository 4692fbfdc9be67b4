"""Periodic measurements in a thread while a block of code runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["meanwhile", "peak_of"]


@contextmanager
def meanwhile(look: Callable[[], None], every_s: float) -> Iterator[None]:
    """Call `look` every `every_s` seconds in a separate thread until the block ends."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(every_s):
            look()

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def peak_of(read: Callable[[], float], every_s: float = 0.5) -> Iterator[list[float]]:
    """Yield a list of one number: the largest value that `read` has returned so far, at least 0.

    `read` is called every `every_s` seconds in a separate thread until the block ends.

    >>> import time
    >>> numbers = iter([1.0, 3.0])
    >>> with peak_of(lambda: next(numbers, 2.0), every_s=0.01) as peak:
    ...     time.sleep(0.5)
    >>> peak
    [3.0]
    """
    peak = [0.0]

    def look() -> None:
        peak[0] = max(peak[0], read())

    with meanwhile(look, every_s):
        yield peak
