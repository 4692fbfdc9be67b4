"""Leases: files that keep a version from vacuum until a given time.

A lease is for a process that will open a version by its number later, such as a running job or a
replay. A lease is an empty file whose name contains the version and the end of the lease, so the
file has no content that could be damaged.
"""

from __future__ import annotations

import re
import secrets
import time
from types import TracebackType

from covey.errors import InvalidArgumentError, StoreError
from covey.store.manifest.manifest import read_manifest
from covey.store.storage.backend import StorageBackend

__all__ = ["LEASES_FOLDER", "Lease", "list_leases"]

LEASES_FOLDER = "leases"

_MAX_SECONDS = 10_000_000_000  # about 300 years; its end fits the digits in the name of a lease
_NAME = re.compile(r"(\d{12})-(\d{15})-[0-9a-f]{16}")


class Lease:
    """Lease of one version: vacuum does not delete the version before the lease ends.

    `renew` sets a new end. In a `with` statement, the lease is released on exit.

    Take a lease while the version is within the retention of `Store.vacuum`; then the version is
    protected at every moment. The clocks of the machines that run vacuum or take leases must
    roughly agree.
    """

    def __init__(self, backend: StorageBackend, version: int, seconds: float) -> None:
        self.version = version
        self._backend = backend
        self._name: str | None = None
        self.renew(seconds)
        try:
            read_manifest(backend, version)
        except StoreError:
            self.release()
            raise

    def renew(self, seconds: float) -> None:
        """Set the end of the lease to the given number of seconds from now.

        Raises:
            InvalidArgumentError: `seconds` is not positive, or exceeds 300 years.
        """
        if not 0 < seconds <= _MAX_SECONDS:
            raise InvalidArgumentError(
                f"the seconds of a lease must be more than 0 and at most {_MAX_SECONDS}, got "
                f"{seconds}"
            )
        previous_name, end_ms = self._name, round((time.time() + seconds) * 1000)
        name = f"{LEASES_FOLDER}/{self.version:012d}-{end_ms:015d}-{secrets.token_hex(8)}"
        self._backend.put_if_absent(name, b"")
        self._name = name
        if previous_name is not None:
            self._backend.delete(previous_name)

    def release(self) -> None:
        """End the lease now; further calls do nothing."""
        if self._name is not None:
            self._backend.delete(self._name)
            self._name = None

    def __enter__(self) -> Lease:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:  # fmt: skip
        self.release()


def list_leases(backend: StorageBackend) -> list[tuple[str, int, float]]:
    """Return for each lease its file name, its version, and its end in seconds since 1970."""
    return [
        (f"{LEASES_FOLDER}/{file.name}", int(match[1]), int(match[2]) / 1000)
        for file in backend.list(LEASES_FOLDER)
        if (match := _NAME.fullmatch(file.name))
    ]
