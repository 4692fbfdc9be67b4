"""Leases: while one lives, the version that it names and all its files are kept.

For those who know a version by its number and will open it later: a running job, a replay. A lease
is an empty file whose name says version and end, so that nothing in it can be damaged.
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

_MAX_SECONDS = 10_000_000_000  # 300 years, whose end the name of a lease has digits for
_NAME = re.compile(r"(\d{12})-(\d{15})-[0-9a-f]{16}")


class Lease:
    """A claim on one version until a moment that can be put off; `with` releases it at the end.

    Take it while the version is younger than what `Store.vacuum` keeps; then there is no moment at
    which the version can go. Clocks of machines that collect and lease must roughly agree.
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
        """The lease ends so many seconds from now."""
        if not 0 < seconds <= _MAX_SECONDS:
            raise InvalidArgumentError(
                f"a lease of {seconds} seconds has no effect: give more than 0, and at most "
                f"{_MAX_SECONDS}"
            )
        before, end_ms = self._name, round((time.time() + seconds) * 1000)
        name = f"{LEASES_FOLDER}/{self.version:012d}-{end_ms:015d}-{secrets.token_hex(8)}"
        self._backend.put_if_absent(name, b"")
        self._name = name
        if before is not None:
            self._backend.delete(before)

    def release(self) -> None:
        """The lease ends now; a second time does nothing."""
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
    """Of every lease its name, its version, and when it ends in seconds since 1970."""
    return [
        (f"{LEASES_FOLDER}/{file.name}", int(match[1]), int(match[2]) / 1000)
        for file in backend.list(LEASES_FOLDER)
        if (match := _NAME.fullmatch(file.name))
    ]
