"""Merges in the background, by processes of their own, while changes and matching go on."""

from __future__ import annotations

import logging
import threading
from types import TracebackType

from covey.store.merge_process import MergeProcess
from covey.store.store import Store

__all__ = ["Merger"]

_log = logging.getLogger(__name__)

_POLL_SECONDS = 0.1
_RETRY_SECONDS = 5.0


class Merger:
    """Merges whatever `Tiers` finds worth it, from now until `close`.

    A merge that fails is logged, kept as `failure`, and tried again: the store is right without it,
    only slower. With two processes the small merges do not wait for a large one.

    Close it before the store:

        with Store.open(place) as store, Merger(store):
            store.apply(changes)
    """

    def __init__(self, store: Store, processes: int = 2) -> None:
        self.failure: Exception | None = None
        self._writer = store.writer
        self._ending = threading.Event()
        self._running: set[MergeProcess] = set()
        self._threads = [
            threading.Thread(target=self._run, name=f"covey-merger-{i}", daemon=True)
            for i in range(processes)
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stops merging; what is under way is given up."""
        self._ending.set()
        for process in list(self._running):
            process.end()
        for thread in self._threads:
            thread.join()

    def __enter__(self) -> Merger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()

    def _run(self) -> None:
        while not self._ending.is_set():
            process = MergeProcess()
            self._running.add(process)
            try:
                while not self._ending.is_set():
                    if not self._step(process):
                        self._ending.wait(_POLL_SECONDS)
            except Exception as error:
                if not self._ending.is_set():
                    _log.exception("a merge failed; it will be tried again")
                    self.failure = error
                    self._ending.wait(_RETRY_SECONDS)
            finally:
                self._running.discard(process)
                process.close()

    def _step(self, process: MergeProcess) -> bool:
        """One merge, if there is one to be done."""
        merge = self._writer.claim_merge()
        if merge is None:
            return False
        try:
            built = process.run(merge, self._writer.files)
            self._writer.finish_merge(merge, built)
            self.failure = None
        finally:
            self._writer.release_merge(merge)
        return True
