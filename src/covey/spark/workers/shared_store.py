"""Opening of stores in workers, with a message for a store that only the driver can see."""

from __future__ import annotations

import socket

from covey.errors import StoreError
from covey.store import Store
from covey.store.manifest import list_versions
from covey.store.storage import open_storage

__all__ = ["describe_worker", "open_shared_store"]


def open_shared_store(location: str) -> Store:
    """Open a store that the driver has made, in a task.

    Raises:
        StoreError: this machine does not see the store, or its newest manifest is damaged.
    """
    try:
        return Store.open(location)
    except StoreError:
        if list_versions(open_storage(location)):
            raise
    raise StoreError(
        f"{describe_worker()} does not see the store that the driver has made at {location}: it "
        "must be on storage that all machines of the cluster share. Set storePath (in a stream "
        "[state] path) to such a folder, or to a URI such as s3://bucket/covey"
    )


def describe_worker() -> str:
    """Return a name for the worker that calls this function, with its machine."""
    return f"the worker on {socket.gethostname()}"
