"""Merges in background processes, while changes and matching continue."""

from __future__ import annotations

import logging
import threading
from types import TracebackType

from covey._argument_checks import check_arguments, check_range
from covey.store.merge.process import MergeProcess
from covey.store.store import Store

__all__ = ["BackgroundMerger"]

_log = logging.getLogger(__name__)

_POLL_SECONDS = 0.1
_RETRY_SECONDS = 5.0


class BackgroundMerger:
    """Background processes that do the merges of a store until `close`.

    A merge that fails is logged and tried again after 5 seconds; `last_error` is its error until a
    merge succeeds, and then None. Meanwhile the store is correct, but queries become slower. With
    two processes, small merges do not wait for a large one.

    Close the merger before the store:

        with Store.open(location) as store, BackgroundMerger(store):
            store.apply(changes)

    Args:
        store: the store, which must stay open until the merger is closed.
        processes: number of processes; each does one merge at a time.
    """

    @check_arguments
    def __init__(self, store: Store, processes: int = 2) -> None:
        check_range("processes", processes, 1)
        self.last_error: Exception | None = None
        self._writer = store._writer
        self._stop_event = threading.Event()
        self._processes: set[MergeProcess] = set()
        self._threads = [
            threading.Thread(target=self._run_merges, name=f"covey-merger-{i}", daemon=True)
            for i in range(processes)
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop merging; merges that are not finished are abandoned."""
        self._stop_event.set()
        for process in list(self._processes):
            process.kill()
        for thread in self._threads:
            thread.join()

    def __enter__(self) -> BackgroundMerger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()

    def _run_merges(self) -> None:
        """Do merges in a child process until `close`; after an error, use a new process."""
        while not self._stop_event.is_set():
            process = MergeProcess()
            self._processes.add(process)
            try:
                while not self._stop_event.is_set():
                    if not self._run_one_merge(process):
                        self._stop_event.wait(_POLL_SECONDS)
            except Exception as error:
                if not self._stop_event.is_set():
                    _log.exception(
                        "a merge failed; it will be tried again in %g seconds", _RETRY_SECONDS
                    )
                    self.last_error = error
                    self._stop_event.wait(_RETRY_SECONDS)
            finally:
                self._processes.discard(process)
                process.close()

    def _run_one_merge(self, process: MergeProcess) -> bool:
        """Do one merge if any is due, and return whether a merge was done."""
        operation = self._writer.claim_merge()
        if operation is None:
            return False
        try:
            merged_segments = process.run(operation, self._writer.content_store)
            self._writer.finish_merge(operation, merged_segments)
            self.last_error = None
        finally:
            self._writer.release_merge(operation)
        return True
