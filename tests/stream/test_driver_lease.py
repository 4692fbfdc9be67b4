"""Two drivers of one stream: the second is refused, and one that was frozen writes nothing more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from obstore.store import MemoryStore

from covey.errors import StoreError, StreamError
from covey.store import Store
from covey.store.storage import location
from covey.store.storage.object_store import ObjectBackend
from covey.stream import driver_lease
from covey.stream.driver_lease import DriverLease, FencedBackend, StateFolder
from tests.store.simple import SPACE, changes, match_values

URI = "s3://bucket/state"


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> ObjectBackend:
    """Make leases short, and all folders at `URI` those of one object store."""
    monkeypatch.setattr(driver_lease, "_LEASE_S", 0.6)
    monkeypatch.setattr(driver_lease, "_RENEWAL_S", 0.05)
    monkeypatch.setattr(driver_lease, "_UNCONFIRMED_S", 0.1)
    monkeypatch.setattr(driver_lease, "_POLL_S", 0.02)
    backend = ObjectBackend(MemoryStore(), URI)
    monkeypatch.setattr(location, "open_object_store", lambda uri: backend)
    return backend


@pytest.fixture
def acquire(backend: ObjectBackend) -> Iterator[Callable[[], DriverLease]]:
    """Return a function that takes the lease; leases are released at the end."""
    leases = list[DriverLease]()

    def acquire() -> DriverLease:
        leases.append(DriverLease(backend))
        return leases[-1]

    yield acquire
    for lease in leases:
        lease.release()


def freeze(lease: DriverLease) -> None:
    """Make the thread that renews a lease do nothing, as SIGSTOP would."""
    lease._released.set()


def test_a_second_driver_is_refused_until_the_first_has_ended(
    acquire: Callable[[], DriverLease],
) -> None:
    first = acquire()
    with pytest.raises(StreamError, match=r"process \d+ on .* runs the stream in s3://bucket/sta"):
        acquire()
    first.confirm()
    first.release()
    began_s = time.monotonic()
    assert acquire().epoch == first.epoch + 1
    assert time.monotonic() - began_s < 0.5  # less than the lease


def test_a_driver_that_was_killed_is_followed_after_its_lease(
    acquire: Callable[[], DriverLease],
) -> None:
    freeze(acquire())
    began_s = time.monotonic()
    assert acquire().epoch == 2
    assert time.monotonic() - began_s > 0.5


def test_a_frozen_driver_writes_nothing_after_its_successor(
    backend: ObjectBackend, acquire: Callable[[], DriverLease]
) -> None:
    Store.create(URI, SPACE).close()
    stale = acquire()
    fenced = FencedBackend(backend, stale)
    store = Store(fenced, None, None)
    store.apply(changes({1: "x > 1"}))
    staged = store.stage(changes({5: "x > 5"}))
    assert staged is not None
    freeze(stale)
    time.sleep(0.1)
    acquire()
    Store.open(URI).apply(changes({2: "x > 2"}))
    before = {each["path"]: each["e_tag"] for page in backend.store.list() for each in page}
    writes: list[Callable[[], object]] = [
        lambda: store.apply(changes({3: "x > 3"})),
        lambda: store.commit_staged([staged]),
        lambda: store.overwrite([staged]),
        lambda: store.discard_staged([staged]),
        lambda: store.vacuum(0, 0),
        lambda: store.lease(1, 60),
        lambda: fenced.replace("control.json", b"{}"),
        lambda: fenced.put_if_absent("batches/1", b"{}"),
        lambda: fenced.put_local_file(Path(__file__), "files/1"),
        lambda: fenced.delete("versions/000000000000.json"),
    ]
    for write in writes:
        with pytest.raises((StreamError, StoreError), match="has taken over the stream"):
            write()
    assert stale.is_lost
    stale.release()
    now = {each["path"]: each["e_tag"] for page in backend.store.list() for each in page}
    changed = {name for name in now | before if now.get(name) != before.get(name)}
    assert {name.partition("/")[0] for name in changed} <= {"drivers"}
    assert not [name for name in changed if name.startswith("drivers/000000000001")]
    assert match_values(Store.open(URI).snapshot(), 9) == [(0, 1), (0, 2)]


def test_a_driver_that_was_frozen_for_less_than_its_lease_goes_on(
    backend: ObjectBackend, acquire: Callable[[], DriverLease]
) -> None:
    lease = acquire()
    lease._confirmed_s -= 10
    FencedBackend(backend, lease).replace("control.json", b"{}")
    assert backend.read("control.json") == b"{}"
    assert not lease.is_lost


def test_of_drivers_that_start_at_once_one_runs(backend: ObjectBackend) -> None:
    freeze(DriverLease(backend))  # all of them wait for the end of its lease
    leases, refused = list[DriverLease](), list[StreamError]()

    def start() -> None:
        try:
            leases.append(DriverLease(backend))
        except StreamError as error:
            refused.append(error)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(leases) == 1
    assert len(refused) == 3
    leases[0].confirm()
    leases[0].release()


def test_files_of_earlier_drivers_are_deleted(
    backend: ObjectBackend, acquire: Callable[[], DriverLease]
) -> None:
    for _ in range(5):
        acquire().release()
    assert acquire().epoch == 6
    assert {entry.name[:12] for entry in backend.list("drivers")} == {f"{5:012d}", f"{6:012d}"}


def test_a_local_state_folder_has_a_lock_and_no_lease(tmp_path: Path) -> None:
    state = StateFolder.acquire(str(tmp_path / "state"))
    with pytest.raises(StoreError, match="another writer has"):
        StateFolder.acquire(str(tmp_path / "state"))
    state.open("store").replace("x", b"1")
    state.confirm()
    assert not state.is_lost
    state.release()
    StateFolder.acquire(str(tmp_path / "state")).release()


def test_a_remote_state_folder_is_fenced(backend: ObjectBackend) -> None:
    state = StateFolder.acquire(URI)
    state.open().replace("x", b"1")
    freeze(state.lock)  # type: ignore[arg-type]
    time.sleep(0.1)
    successor = StateFolder.acquire(URI)
    with pytest.raises(StreamError, match="has taken over"):
        state.open("store").replace("x", b"2")
    assert state.is_lost
    successor.open().replace("x", b"3")
    assert backend.read("x") == b"3"
    successor.release()
